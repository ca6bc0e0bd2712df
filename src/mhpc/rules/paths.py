"""OnePath, TopPaths."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.hierarchy import propagate_up
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import canonical, cell_numbers, run_starts, values_at
from mhpc.parameters import registered
from mhpc.rules.base import Rule, close_under_ancestors

_TABLE_CELLS = 1 << 22
"""Pairs of labels up to which all are written down; beyond, they are looked up."""


@registered("one-path.fitted")
@dataclass(frozen=True)
class FittedPaths:
    """So many best paths of each instance.

    The label of highest `specific`, the earlier one in a tie, ends the first path; of the labels
    neither above nor below it the best ends the second, and so on. Then each end moves along its
    own path, up or down among labels that were not on an earlier one, to where
    ``specific * 2 ** (depth_bias * depth)`` is highest. So the bias says how deep to answer, never
    which way to go: a larger one never gives a shallower end.
    """

    paths: int
    threshold: float | None
    depth_bias: float
    rule: str

    @property
    def parameters(self) -> dict[str, Any]:
        """How many, the least score and the bias."""
        # A key called threshold would read as the threshold of the whole decision.
        return {"paths": self.paths, "min_score": self.threshold, "depth_bias": self.depth_bias}

    def decide(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the ends, and what they imply."""
        one = self.paths == 1 and self.depth_bias == 0
        if one and self.threshold is None and isinstance(specific, np.ndarray):
            row, label = _highest(specific)
        else:
            found = _Candidates.of(score, specific, taxonomy, self.threshold)
            row, label = found.best(found.value) if one else self._ends(found, taxonomy)
        ones = np.ones(len(row), dtype=np.int16)
        return close_under_ancestors(
            sparse.csr_array((ones, (row, label)), shape=specific.shape), taxonomy
        )

    def _ends(self, found: "_Candidates", taxonomy: Taxonomy) -> tuple[IntArray, IntArray]:
        kin, left, ends = _Kin(taxonomy), found, []
        for _ in range(self.paths):
            row, label = left.best(left.value)
            if not len(row):
                break
            near = left.related(kin, row, label)
            path, left = left.only(near), left.only(~near)
            ends.append(
                path.best(np.log2(path.value) + self.depth_bias * taxonomy.depth[path.label])
            )
        pairs = [np.concatenate(part) for part in zip(*ends, strict=True)] if ends else []
        return (pairs[0], pairs[1]) if pairs else (found.row[:0], found.label[:0])


def _highest(specific: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the rows with anything above 0, and their best label, the earlier in a tie."""
    best = specific.argmax(axis=1)
    known = np.flatnonzero(specific[np.arange(len(best)), best] > 0)
    return known, best[known]


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Labels that may end a path, in order of row and label: an entry a cell."""

    row: IntArray
    label: IntArray
    value: FloatArray

    @classmethod
    def of(
        cls, score: Block, specific: Block, taxonomy: Taxonomy, level: float | None
    ) -> "_Candidates":
        if not isinstance(specific, np.ndarray):
            entries = canonical(specific)
            row = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
            label, value = entries.indices.astype(np.int64), entries.data
        else:
            row, label = np.nonzero(specific > 0)
            value = specific[row, label]
        kept = value > 0
        if level is not None:
            kept &= values_at(propagate_up(score, taxonomy), row, label) >= level
        return cls(row, label, value).only(kept)

    def only(self, kept: BoolArray) -> "_Candidates":
        return _Candidates(self.row[kept], self.label[kept], self.value[kept])

    def best(self, weight: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the rows that have any, and the label of highest weight, the earlier in a tie."""
        if not len(self.row):
            return self.row, self.label
        starts = np.flatnonzero(run_starts(self.row))
        highest = np.maximum.reduceat(weight, starts)
        sizes = np.diff(np.append(starts, len(self.row)))
        at = np.flatnonzero(weight == np.repeat(highest, sizes))
        first = at[run_starts(self.row[at])]
        return self.row[first], self.label[first]

    def related(self, kin: "_Kin", row: IntArray, label: IntArray) -> BoolArray:
        """Mark what is the label of its row, above or below it."""
        mine = np.full(int(self.row[-1]) + 1 if len(self.row) else 0, -1)
        mine[row[row < len(mine)]] = label[row < len(mine)]
        other = mine[self.row]
        found = np.zeros(len(other), dtype=bool)
        some = np.flatnonzero(other >= 0)
        found[some] = kin(self.label[some], other[some])
        return found


class _Kin:
    """Tells which of two labels are the same, or one above the other."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        closure, K = taxonomy.closure, len(taxonomy)
        self._labels = K
        self._cells = cell_numbers(closure)
        self._table: BoolArray | None = None
        if K * K <= _TABLE_CELLS:
            self._table = np.zeros((K, K), dtype=bool)
            self._table.flat[self._cells] = True
            self._table |= self._table.T

    def __call__(self, one: IntArray, other: IntArray) -> BoolArray:
        if self._table is not None:
            return np.asarray(self._table[one, other])
        return self._below(one, other) | self._below(other, one)

    def _below(self, lower: IntArray, upper: IntArray) -> BoolArray:
        cell = lower * np.int64(self._labels) + upper
        place = np.minimum(np.searchsorted(self._cells, cell), len(self._cells) - 1)
        return np.asarray(self._cells[place] == cell)


class OnePath(Rule):
    """Take the label whose `specific` is highest, the earlier one in a tie, and its ancestors.

    For instances that have one true label. An instance of which nothing is known has none, nor
    has one of which no label reaches the least score. Exact, on a DAG too: a label comes with all
    its ancestors, by every parent. Costs a look at every score.

    A depth bias b moves the end along its path to where ``specific * 2^(b * depth)`` is highest;
    a larger one never gives a shallower label.
    """

    name: ClassVar[str] = "one-path"

    threshold: Annotated[float, Field(gt=0)] | None = None
    """The least score of a label that may end the path; none: any above 0."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedPaths:
        """Nothing depends on other instances."""
        return FittedPaths(1, self.threshold, self.depth_bias, self.name)


class TopPaths(Rule):
    """Take the `paths` labels of highest `specific`, none above another, and their ancestors.

    For a fixed number of answers an instance, as suggestions to choose from. Best first, the
    earlier label in a tie; fewer where fewer labels are above 0 or reach the least score, none
    where none does. On a DAG a label comes with all its ancestors, by every parent. Costs a look
    at every score a path.

    A depth bias b moves each end along its own path to where ``specific * 2^(b * depth)`` is
    highest; a larger one never gives a shallower end.
    """

    name: ClassVar[str] = "top-paths"

    paths: Annotated[int, Field(ge=1)] = 3
    """How many."""

    threshold: Annotated[float, Field(gt=0)] | None = None
    """The least score of a label that may end a path; none: any above 0."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedPaths:
        """Nothing depends on other instances."""
        return FittedPaths(self.paths, self.threshold, self.depth_bias, self.name)
