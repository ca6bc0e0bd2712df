"""A scale on which scores are probabilities, for methods whose scores are on any other.

The only thing known about the truth without having any is how many labels sources give. Scores,
propagated up the taxonomy, are therefore raised to the power at which their mean sum per instance
is the mean number of labels in an answer, ancestors included. A power leaves 0 and 1 unchanged
(what nobody says stays out, what is certain stays certain) and changes no ranking; if there are
too many labels of intermediate score, it lowers these. A factor would lower certain labels too.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mhpc.data.decision import RULE_SAMPLE
from mhpc.data.hierarchy import propagate_up
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, FloatArray, IntArray
from mhpc.parameters import registered
from mhpc.system.parallel import parallel_map

ROUNDING = 1e-7
"""Scores whose relative difference is smaller differ by rounding only. Many are the same simple
fraction but for that, and must not end up on different sides of a threshold."""

_DROPPED_BITS = 40
"""Trailing bits of a score that are ignored when scores are counted: 12 of 52 remain."""

_MIN_POWER, _MAX_POWER = 1 / 32, 32.0
"""Powers beyond these leave hardly anything but 0 and 1."""


@registered("expected-f.scale")
@dataclass(frozen=True)
class ProbabilityScale:
    """``p = (score / largest) ** power``, at most 1."""

    largest: float
    power: float

    def probabilities(self, score: Block, taxonomy: Taxonomy) -> Block:
        """Return the probabilities of labels, none lower than that of any of its children."""
        p = propagate_up(score, taxonomy)
        if isinstance(p, np.ndarray):
            return self.transform(p)
        p.data = self.transform(p.data)
        return p

    def transform(self, score: FloatArray) -> FloatArray:
        """Return the probability of every score."""
        return np.asarray(np.clip(score / self.largest, 0.0, 1.0) ** self.power)

    def inverse(self, probability: float) -> float:
        """Return the lowest score that has a probability, up to rounding."""
        return float(self.largest * probability ** (1 / self.power)) * (1 - ROUNDING)


IDENTITY = ProbabilityScale(1.0, 1.0)
"""The scale of scores that are probabilities already."""


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """How often each score above 0 occurs, after propagation up the taxonomy.

    Attributes
    ----------
    score : float array, (B,)
        Descending, to three digits; never above the scores it stands for, up to rounding.
    count : int array, (B,)
        How often it occurs.
    instances : int
        The number of instances with any score above 0.
    """

    score: FloatArray
    count: IntArray
    instances: int


def count_scores(consolidation: Consolidation, *, sample: int = RULE_SAMPLE) -> ScoreHistogram:
    """Count the scores of about `sample` instances, block by block.

    Scores are counted, not summed, so that the result does not depend on the division into blocks.
    """
    key, count = np.zeros((2, 0), dtype=np.int64)
    instances = 0

    def count_block(rows: slice) -> tuple[IntArray, IntArray, int]:
        scores = propagate_up(consolidation.score[rows], consolidation.taxonomy)
        values, n_scored = _positive_scores(scores)
        return *_count_leading_bits(values), n_scored

    blocks = instance_blocks(consolidation, sample=sample)
    for block_key, block_count, n_scored in parallel_map(count_block, blocks):
        instances += n_scored
        key, inverse = np.unique(np.concatenate([key, block_key]), return_inverse=True)
        count = np.bincount(inverse, np.concatenate([count, block_count]), len(key))
        count = count.astype(np.int64)
    score = (key << _DROPPED_BITS).view(np.float64)
    return ScoreHistogram(score[::-1], count[::-1], instances)


def _positive_scores(scores: Block) -> tuple[FloatArray, int]:
    """Return the scores above 0, and the number of instances that have any."""
    if isinstance(scores, np.ndarray):
        return scores[scores > 0], int(np.count_nonzero((scores > 0).any(axis=1)))
    return scores.data[scores.data > 0], int(np.count_nonzero(np.diff(scores.indptr)))


def _count_leading_bits(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the leading bits of positive values, ascending, and how often they occur."""
    if not len(values):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # The bits of positive floats are in the order of the floats, and the leading ones take few
    # values, so that they can be counted without sorting.
    raised = np.asarray(values * (1 + ROUNDING), dtype=np.float64)
    bits = raised.view(np.int64) >> _DROPPED_BITS
    lowest = bits.min()
    count = np.bincount(bits - lowest)
    occurring = np.flatnonzero(count)
    return occurring + lowest, count[occurring]


def fit_scale(histogram: ScoreHistogram, *, labels_per_instance: float) -> ProbabilityScale:
    """Return the scale on which an instance is expected to have so many labels."""
    score = histogram.score
    largest = max(1.0, float(score[0])) if len(score) else 1.0
    total = labels_per_instance * histogram.instances

    def excess(power: float) -> float:
        return float(ProbabilityScale(largest, power).transform(score) @ histogram.count) - total

    if not len(score) or score[-1] >= 1 or score[0] == score[-1]:
        # No two scores differ, or none is below 1: no power would tell labels apart.
        return ProbabilityScale(largest, 1.0)
    if excess(_MIN_POWER) <= 0:
        return ProbabilityScale(largest, _MIN_POWER)
    if excess(_MAX_POWER) >= 0:
        return ProbabilityScale(largest, _MAX_POWER)
    return ProbabilityScale(largest, float(brentq(excess, _MIN_POWER, _MAX_POWER, xtol=1e-9)))
