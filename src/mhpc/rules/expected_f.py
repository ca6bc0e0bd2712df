"""ExpectedF and the probability scale.

The one thing that is known of truth without having any is how many labels sources give, so the
scores, raised along the hierarchy, are taken to the power at which their mean sum is the mean
size of an answer with its ancestors. A power leaves 0 and 1 where they are (what nobody says is
out, what is sure is sure) and changes no ranking; of the scores between it makes less where there
are too many of them, as of the share of sources that go along with a doubtful label. A factor
would take what is sure down with what is not.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from mhpc.data.decision import RULE_SAMPLE, FittedRule
from mhpc.data.hierarchy import propagate_up
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.parameters import registered
from mhpc.rules.base import FittedThreshold, Rule, close_under_ancestors, cost_of_missing

_LEFT_OUT = 40
"""Lower bits of a score that are left out when scores are counted: 12 of 52 stay."""

ROUNDING = 1e-7
"""Scores that differ by less, relatively, differ by how they were computed alone. Many are the
same round number but for that, and must not fall on both sides of a level."""

_LEAST, _MOST = 1 / 32, 32.0
"""Powers beyond these leave nothing but 0 and 1."""


@registered("expected-f.scale")
@dataclass(frozen=True)
class ProbabilityScale:
    """``p = (score / largest) ** power``, at most 1."""

    largest: float
    power: float

    def is_probability(self, score: Block, taxonomy: Taxonomy) -> Block:
        """Return the probabilities, no label below any of its children."""
        p = propagate_up(score, taxonomy)
        if isinstance(p, np.ndarray):
            return self.of(p)
        p.data = self.of(p.data)
        return p

    def of(self, score: FloatArray) -> FloatArray:
        """Return the probabilities that scores mean."""
        return np.asarray(np.clip(score / self.largest, 0.0, 1.0) ** self.power)

    def score_at(self, probability: float) -> float:
        """Return the lowest score that means a probability, but for rounding."""
        return float(self.largest * probability ** (1 / self.power)) * (1 - ROUNDING)


@dataclass(frozen=True, eq=False)
class Counted:
    """How often each score occurs in a sample, raised along the hierarchy; 0 does not count.

    Attributes
    ----------
    score : float array, (B,)
        Falling, to three digits; what it stands for is not below it, but for rounding.
    times : int array, (B,)
        How often.
    instances : int
        Those of which anything is known.
    """

    score: FloatArray
    times: IntArray
    instances: int


def count(consolidation: Consolidation) -> Counted:
    """Count the scores of about as many instances as rules look at, a block at a time.

    Numbers are counted, not summed, so that it does not matter how instances are divided.
    """
    key, times = np.zeros((2, 0), dtype=np.int64)
    instances = 0
    for span in instance_blocks(consolidation, sample=RULE_SAMPLE):
        values, answered = _above_zero(
            propagate_up(consolidation.score[span], consolidation.taxonomy)
        )
        instances += answered
        new, often = _counted(values)
        key, back = np.unique(np.concatenate([key, new]), return_inverse=True)
        times = np.bincount(back, np.concatenate([times, often]), len(key)).astype(np.int64)
    score = (key << _LEFT_OUT).view(np.float64)
    return Counted(score[::-1], times[::-1], instances)


def _counted(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the leading bits of the values, rising, and how often they occur."""
    if not len(values):
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing
    # The bits of positive floats are in the order of the floats, and few at the front of them, so
    # that nothing has to be sorted.
    bits = np.asarray(values * (1 + ROUNDING), dtype=np.float64).view(np.int64) >> _LEFT_OUT
    lowest = bits.min()
    times = np.bincount(bits - lowest)
    there = np.flatnonzero(times)
    return there + lowest, times[there]


def _above_zero(scores: Block) -> tuple[FloatArray, int]:
    """Return the scores above 0, and how many instances have any."""
    if isinstance(scores, np.ndarray):
        return scores[scores > 0], int(np.count_nonzero((scores > 0).any(axis=1)))
    return scores.data[scores.data > 0], int(np.count_nonzero(np.diff(scores.indptr)))


def scale_for(counted: Counted, *, wanted: float) -> ProbabilityScale:
    """Return the scale on which so many labels are expected of an instance."""
    largest = max(1.0, float(counted.score[0])) if len(counted.score) else 1.0

    def excess(power: float) -> float:
        return float(ProbabilityScale(largest, power).of(counted.score) @ counted.times) - total

    total = wanted * counted.instances
    if not len(counted.score) or counted.score[-1] >= 1 or counted.score[0] == counted.score[-1]:
        # Nothing to tell apart: a power would tell nothing either.
        return ProbabilityScale(largest, 1.0)
    if excess(_LEAST) <= 0:
        return ProbabilityScale(largest, _LEAST)
    if excess(_MOST) >= 0:
        return ProbabilityScale(largest, _MOST)
    return ProbabilityScale(largest, float(brentq(excess, _LEAST, _MOST, xtol=1e-9)))


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
    labels are expected as sources give (`mhpc.rules.expected_f`); F with c weighs a missed label c
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

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedRule:
        """Find the scale and, over all instances, the level."""
        counted = count(consolidation)
        scale = scale_for(counted, wanted=labels_per_answer)
        if self.over == "each":
            return FittedExpectedF(scale, self.depth_bias)
        level, expected = _NOTHING
        if labels_per_answer:
            level, expected = _best_level(counted, scale, cost_of_missing(self.depth_bias))
        found = {"depth_bias": self.depth_bias, "power": scale.power, "expected_f": expected}
        return FittedThreshold(level, "expected-f", self.name, found)


def _best_level(counted: Counted, scale: ProbabilityScale, cost: float) -> tuple[float, float]:
    """Return the lowest score of the best sets, the smallest ones in a tie, and their F."""
    if not len(counted.score):
        return _NOTHING
    p = scale.of(counted.score)
    right, given = np.cumsum(p * counted.times), np.cumsum(counted.times)
    f = (1 + cost) * right / (given + cost * right[-1])
    best = int(np.argmax(f >= f.max() * (1 - _ROUNDING)))
    return float(counted.score[best]) * (1 - ROUNDING), float(f[best])


@registered("expected-f.fitted")
@dataclass(frozen=True)
class FittedExpectedF:
    """The best set of each instance by itself."""

    scale: ProbabilityScale
    depth_bias: float
    rule: str = ExpectedF.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Over what, the bias and the scale."""
        return {"over": "each", "depth_bias": self.depth_bias, "power": self.scale.power}

    def decide(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the labels above each instance's level, which hold their ancestors."""
        p = sparse.csr_array(self.scale.is_probability(score, taxonomy))
        p.eliminate_zeros()
        cost = cost_of_missing(self.depth_bias)
        usual, _ = _best(p, 1.0)
        _, kept = _best(p, cost)
        row = np.repeat(np.arange(p.shape[0]), np.diff(p.indptr))[kept]
        some = _nothing(p, taxonomy)[row] <= cost * usual[row]
        cell = (row[some], p.indices[kept[some]])
        ones = np.ones(len(cell[0]), dtype=np.int16)
        return close_under_ancestors(sparse.csr_array((ones, cell), shape=p.shape), taxonomy)


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
