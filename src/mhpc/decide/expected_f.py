"""Expected F: the closed sets whose hierarchical F is expected to be highest."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from mhpc.core.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.core.consolidation import Consolidation
from mhpc.core.decision import Settled
from mhpc.core.taxonomy import Taxonomy
from mhpc.decide.bias import cost_of_missing
from mhpc.decide.closing import closed
from mhpc.decide.level import Level
from mhpc.decide.rule import Rule
from mhpc.decide.scale import ROUNDING, Counted, Scale, count, scale_for

_ROUNDING = 1e-9
"""Values of F that differ by less, relatively, differ by how they were computed alone."""


_TINY = 1e-300

_NOTHING = (1.0, 0.0)
"""Level and F where no answer holds a label: what is ranked is the least unlikely of nothing."""


class ExpectedF(Rule):
    """Take the closed sets S of highest expected hierarchical F.

    With p the chance of a label and c the cost of missing one, that is ::

        F(S) ~ (1 + c) * sum of p in S / (|S| + c * sum of all p),    c = 2^depth_bias,

    over all instances together, which is how hierarchical F is defined (Kiritchenko, Matwin,
    Nock, Famili 2006), or for each instance by itself. p is the score on a scale on which as many
    labels are expected as sources give (`mhpc.decide.scale`); F with c weighs a missed label c
    times a wrong one.

    p never rises from parent to child, so the best sets of any size are the top of the ranking,
    on trees and DAGs alike: labels whose p is above F / (1 + c). That they have the highest F as
    written is exact. What is approximate is the expectation of a ratio by the ratio of
    expectations; over many instances the two are the same.

    Over all instances there is one level, and who has no label above it has none: it costs one
    look at a sample and one comparison a score. For each instance the level is found by its own
    F, about two comparisons a score; none is said where the chance that nothing applies, roots
    taken as independent, is above c times the F with c = 1 of the best set.

    A larger depth bias never loses a label. Where all sources said "none of these" of everything,
    all sets are empty, whatever the scores.
    """

    name: ClassVar[str] = "expected-f"

    over: Literal["all", "each"] = "all"
    """Whose F: of all instances together, or of each by itself."""

    def settle(self, consolidation: Consolidation, *, labels_per_answer: float) -> Settled:
        """Find the scale and, over all instances, the level."""
        counted = count(consolidation)
        scale = scale_for(counted, wanted=labels_per_answer)
        if self.over == "each":
            return Each(scale, self.depth_bias)
        level, expected = _NOTHING
        if labels_per_answer:
            level, expected = _best_level(counted, scale, cost_of_missing(self.depth_bias))
        found = {"depth_bias": self.depth_bias, "power": scale.power, "expected_f": expected}
        return Level(level, "expected-f", self.name, found)


def _best_level(counted: Counted, scale: Scale, cost: float) -> tuple[float, float]:
    """Return the lowest score of the best sets, the smallest ones in a tie, and their F."""
    if not len(counted.score):
        return _NOTHING
    p = scale.of(counted.score)
    right, given = np.cumsum(p * counted.times), np.cumsum(counted.times)
    f = (1 + cost) * right / (given + cost * right[-1])
    best = int(np.argmax(f >= f.max() * (1 - _ROUNDING)))
    return float(counted.score[best]) * (1 - ROUNDING), float(f[best])


@dataclass(frozen=True)
class Each:
    """The best set of each instance by itself."""

    scale: Scale
    depth_bias: float
    rule: str = ExpectedF.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Over what, the bias and the scale."""
        return {"over": "each", "depth_bias": self.depth_bias, "power": self.scale.power}

    def sets(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the labels above each instance's level, which hold their ancestors."""
        p = sparse.csr_array(self.scale.probable(score, taxonomy))
        p.eliminate_zeros()
        cost = cost_of_missing(self.depth_bias)
        usual, _ = _best(p, 1.0)
        _, kept = _best(p, cost)
        row = np.repeat(np.arange(p.shape[0]), np.diff(p.indptr))[kept]
        some = _nothing(p, taxonomy)[row] <= cost * usual[row]
        cell = (row[some], p.indices[kept[some]])
        ones = np.ones(len(cell[0]), dtype=np.int16)
        return closed(sparse.csr_array((ones, cell), shape=p.shape), taxonomy)


def _best(p: Sparse, cost: float) -> tuple[FloatArray, IntArray]:
    """Return the highest F of every row, and which entries have it.

    Dinkelbach's iteration: the F of the labels above F / (1 + cost) is higher, unless it is the
    highest. It only rises, so that what falls below is out for good.
    """
    rows = p.shape[0]
    row, kept = np.repeat(np.arange(rows), np.diff(p.indptr)), np.arange(p.nnz)
    weighed = cost * np.bincount(row, p.data, rows)
    while True:
        right, given = np.bincount(row, p.data[kept], rows), np.bincount(row, minlength=rows)
        # A row without scores has nothing to divide.
        f = (1 + cost) * right / np.maximum(given + weighed, _TINY)
        above = p.data[kept] > (f * (1 + _ROUNDING) / (1 + cost))[row]
        if above.all():
            return f, kept
        row, kept = row[above], kept[above]


def _nothing(p: Sparse, taxonomy: Taxonomy) -> FloatArray:
    """Return the chance that no root applies."""
    roots = p[:, taxonomy.roots].tocsr()
    with np.errstate(divide="ignore"):
        roots.data = np.log1p(-roots.data)
    return np.asarray(np.exp(np.asarray(roots.sum(axis=1)).ravel()))
