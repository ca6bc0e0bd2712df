"""OnePath and TopPaths: the most likely labels of each instance, none an ancestor of another."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.hierarchy import propagate_up
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import canonical, row_indices, run_starts, values_at
from mhpc.parameters import registered
from mhpc.rules.base import Rule, close_under_ancestors

_MAX_TABLE_CELLS = 1 << 22
"""Pairs of labels up to which their relation is kept in a table."""


class OnePath(Rule):
    """Choose the label with the highest `specific`, the earlier one in a tie, and its ancestors.

    For instances with one true label. An instance without scores gets no label, nor does one
    without a label that reaches the threshold. A label comes with all its ancestors, on a DAG by
    every parent.

    A depth bias b moves the end along its path to where ``specific * 2^(b * depth)`` is highest;
    a larger one never gives a shallower label.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> rule = mhpc.OnePath(depth_bias=1)
    >>> mhpc.consolidate(votes, taxonomy, method="majority", rule=rule).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "one-path"

    threshold: Annotated[float, Field(gt=0)] | None = None
    """The lowest score of a label that may end the path; none: any score above 0."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> "FittedPaths":
        """Return the rule as it is: nothing depends on other instances."""
        return FittedPaths(1, self.threshold, self.depth_bias, self.name)


class TopPaths(Rule):
    """Choose the `paths` labels with the highest `specific`, and their ancestors.

    For a fixed number of suggestions per instance, none of which is an ancestor of another. In a
    tie the earlier label comes first; there are fewer where fewer labels have a score that reaches
    the threshold. A label comes with all its ancestors, on a DAG by every parent.

    A depth bias b moves each end along its own path to where ``specific * 2^(b * depth)`` is
    highest; a larger one never gives a shallower end.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> rule = mhpc.TopPaths(paths=2)
    >>> mhpc.consolidate(votes, taxonomy, method="majority", rule=rule).labels["1"]
    ['flower']
    """

    name: ClassVar[str] = "top-paths"

    paths: Annotated[int, Field(ge=1)] = 3
    """The number of paths, at most."""

    threshold: Annotated[float, Field(gt=0)] | None = None
    """The lowest score of a label that may end a path; none: any score above 0."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> "FittedPaths":
        """Return the rule as it is: nothing depends on other instances."""
        return FittedPaths(self.paths, self.threshold, self.depth_bias, self.name)


@registered("one-path.fitted")
@dataclass(frozen=True)
class FittedPaths:
    """The best paths of each instance.

    The label with the highest `specific`, the earlier one in a tie, ends the first path; the best
    of the labels that are neither its ancestors nor its descendants ends the second, and so on.
    Then each end moves along its own path, up or down among labels that are not on an earlier one,
    to where ``specific * 2^(depth_bias * depth)`` is highest. The bias decides how deep to answer,
    never which way to go.

    Attributes
    ----------
    paths : int
        The number of paths, at most.
    threshold : float or None
        The lowest score of a label that may end a path.
    depth_bias : float
        As in `Rule`.
    rule : str
        The name of the rule.
    """

    paths: int
    threshold: float | None
    depth_bias: float
    rule: str

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of paths, the lowest score and the bias."""
        # A key called threshold would be taken for a threshold of the whole decision.
        return {"paths": self.paths, "min_score": self.threshold, "depth_bias": self.depth_bias}

    def decide(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the ends of the paths, with their ancestors."""
        only_best = self.paths == 1 and self.depth_bias == 0
        if only_best and self.threshold is None and isinstance(specific, np.ndarray):
            row, label = _best_label(specific)
        else:
            cells = _possible_ends(score, specific, taxonomy, self.threshold)
            row, label = cells.best(cells.value) if only_best else self._find_ends(cells, taxonomy)
        ones = np.ones(len(row), dtype=np.int16)
        ends = sparse.csr_array((ones, (row, label)), shape=specific.shape)
        return close_under_ancestors(ends, taxonomy)

    def _find_ends(self, cells: "_Cells", taxonomy: Taxonomy) -> tuple[IntArray, IntArray]:
        """Return rows and labels of the ends of all paths."""
        relation = _AncestorRelation(taxonomy)
        rows, labels = [cells.row[:0]], [cells.label[:0]]
        for _ in range(self.paths):
            row, label = cells.best(cells.value)
            if not len(row):
                break
            is_on_path = cells.are_related(relation, row, label)
            path, cells = cells.select(is_on_path), cells.select(~is_on_path)
            row, label = path.best(
                np.log2(path.value) + self.depth_bias * taxonomy.depth[path.label]
            )
            rows.append(row)
            labels.append(label)
        return np.concatenate(rows), np.concatenate(labels)


def _best_label(specific: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the rows with a score above 0, and their best label, the earlier one in a tie."""
    best = specific.argmax(axis=1)
    row = np.flatnonzero(specific[np.arange(len(best)), best] > 0)
    return row, best[row]


@dataclass(frozen=True, eq=False)
class _Cells:
    """Some cells of a matrix, in order of row and label: three arrays, one entry per cell."""

    row: IntArray
    label: IntArray
    value: FloatArray

    def select(self, cells: BoolArray) -> "_Cells":
        return _Cells(self.row[cells], self.label[cells], self.value[cells])

    def best(self, value: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the rows that have cells, and the label of highest value in each.

        In a tie this is the earlier label.
        """
        if not len(self.row):
            return self.row, self.label
        starts = np.flatnonzero(run_starts(self.row))
        sizes = np.diff(np.append(starts, len(self.row)))
        highest = np.repeat(np.maximum.reduceat(value, starts), sizes)
        is_highest = np.flatnonzero(value == highest)
        first = is_highest[run_starts(self.row[is_highest])]
        return self.row[first], self.label[first]

    def are_related(
        self, relation: "_AncestorRelation", row: IntArray, label: IntArray
    ) -> BoolArray:
        """Mark cells whose label is the one given for their row, or an ancestor or descendant."""
        n_rows = int(self.row[-1]) + 1 if len(self.row) else 0
        label_of_row = np.full(n_rows, -1)
        label_of_row[row[row < n_rows]] = label[row < n_rows]
        reference = label_of_row[self.row]
        related = np.zeros(len(self.row), dtype=bool)
        compared = np.flatnonzero(reference >= 0)
        related[compared] = relation.holds(self.label[compared], reference[compared])
        return related


def _possible_ends(
    score: Block, specific: Block, taxonomy: Taxonomy, threshold: float | None
) -> _Cells:
    """Return the labels with `specific` above 0 whose score reaches the threshold."""
    if isinstance(specific, np.ndarray):
        row, label = np.nonzero(specific > 0)
        value = specific[row, label]
    else:
        stored = canonical(specific)
        row, label, value = row_indices(stored), stored.indices.astype(np.int64), stored.data
    is_possible = value > 0
    if threshold is not None:
        is_possible &= values_at(propagate_up(score, taxonomy), row, label) >= threshold
    return _Cells(row, label, value).select(is_possible)


class _AncestorRelation:
    """Which pairs of labels are equal, or one an ancestor of the other."""

    def __init__(self, taxonomy: Taxonomy, *, max_table_cells: int = _MAX_TABLE_CELLS) -> None:
        self._taxonomy = taxonomy
        self._table: BoolArray | None = None
        if len(taxonomy) ** 2 <= max_table_cells:
            self._table = np.zeros((len(taxonomy), len(taxonomy)), dtype=bool)
            self._table[row_indices(taxonomy.closure), taxonomy.closure.indices] = True
            self._table |= self._table.T

    def holds(self, first: IntArray, second: IntArray) -> BoolArray:
        """Tell for each pair of labels whether they are related."""
        if self._table is not None:
            return np.asarray(self._table[first, second])
        return self._is_ancestor(first, second) | self._is_ancestor(second, first)

    def _is_ancestor(self, label: IntArray, ancestor: IntArray) -> BoolArray:
        closure = self._taxonomy.closure_of(label, among=ancestor)
        return values_at(closure, label, ancestor) > 0
