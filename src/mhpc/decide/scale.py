"""A scale for scores: probabilities that sum up to as many labels as answers hold.

The one thing that is known of truth without having any is how many labels sources give, so the
scores, raised along the hierarchy, are taken to the power at which their mean sum is the mean
size of an answer with its ancestors. A power leaves 0 and 1 where they are (what nobody says is
out, what is sure is sure) and changes no ranking; of the scores between it makes less where there
are too many of them, as of the share of sources that go along with a doubtful label. A factor
would take what is sure down with what is not.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mhpc.core.arrays import Block, FloatArray, IntArray
from mhpc.core.consolidation import Consolidation, walk
from mhpc.core.hierarchy import raised
from mhpc.core.taxonomy import Taxonomy
from mhpc.decide.rule import LOOKED_AT

_LEFT_OUT = 40
"""Lower bits of a score that are left out when scores are counted: 12 of 52 stay."""

ROUNDING = 1e-7
"""Scores that differ by less, relatively, differ by how they were computed alone. Many are the
same round number but for that, and must not fall on both sides of a level."""

_LEAST, _MOST = 1 / 32, 32.0
"""Powers beyond these leave nothing but 0 and 1."""


@dataclass(frozen=True)
class Scale:
    """``p = (score / largest) ** power``, at most 1."""

    largest: float
    power: float

    def probable(self, score: Block, taxonomy: Taxonomy) -> Block:
        """Return the probabilities, no label below any of its children."""
        p = raised(score, taxonomy)
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
    for span in walk(consolidation, most=LOOKED_AT):
        values, answered = _above_zero(raised(consolidation.score[span], consolidation.taxonomy))
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


def scale_for(counted: Counted, *, wanted: float) -> Scale:
    """Return the scale on which so many labels are expected of an instance."""
    largest = max(1.0, float(counted.score[0])) if len(counted.score) else 1.0

    def excess(power: float) -> float:
        return float(Scale(largest, power).of(counted.score) @ counted.times) - total

    total = wanted * counted.instances
    if not len(counted.score) or counted.score[-1] >= 1 or counted.score[0] == counted.score[-1]:
        # Nothing to tell apart: a power would tell nothing either.
        return Scale(largest, 1.0)
    if excess(_LEAST) <= 0:
        return Scale(largest, _LEAST)
    if excess(_MOST) >= 0:
        return Scale(largest, _MOST)
    return Scale(largest, float(brentq(excess, _LEAST, _MOST, xtol=1e-9)))
