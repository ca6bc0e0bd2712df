r"""How accurate the label sets are that nobody reviewed, estimated from a random sample.

Of M instances, k were drawn at random and reviewed: :math:`y_i = 1` if the label set of instance i
is exactly right, else 0. What is wanted is the share :math:`\theta` of right sets among the other
:math:`m = M - k`.

What was reviewed for another reason than chance, such as a large expected gain, is neither among
the k nor among the m: the M instances are those that were left to chance.

The value is prediction-powered (PPI++: Angelopoulos, Duchi, Zrnic, 2023, arXiv:2311.01453). The
scores give every instance a probability :math:`f_i` that its set is right (`predict_right`). It
need not be calibrated: only what it explains of the differences between instances is used,

.. math::

    \hat\theta = \bar y + \lambda (\bar f_{others} - \bar f_{reviewed}), \qquad
    \lambda = cov(y, f) / var(f) \text{ in } [0, 1].

The error of it is the difference between the mean of :math:`e = y - \lambda f` among the reviewed
instances and that among the others, with the variance :math:`S_e^2 (1/k + 1/m)`. Since that of
the plain mean is :math:`S_y^2 (1/k + 1/m)`, the k answers are worth

.. math::

    k_{eff} = k \, var(y) / var(e), \qquad var(e) = \sum_i (e_i - \bar e)^2 / (k - 2),
    \qquad var(y) = \sum_i (y_i - \bar y)^2 / (k - 1),

at least k and at most 4 k; k if all sets are right, all are wrong, or k is below 3.

The interval is Wilson's (J. Am. Stat. Assoc. 1927), which stays within 0 and 1 and does not
collapse if all sets are right. The share P among all M instances is estimated by
:math:`\hat P = (k \bar y + m \hat\theta) / M`, with the correction for a finite population: the
variance of a mean of k of M is :math:`P (1 - P) / k \cdot (M - k) / (M - 1)`, as if
:math:`n = k_{eff} (M - 1) / m` instances had been drawn from an endless one. The ends of its
interval become those of the others by :math:`\theta = (M P - k \bar y) / m`: what was reviewed is
known. So the interval of all instances shrinks as more are reviewed, while that of the others is
the narrowest when half of all are, since a few others may differ by chance.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mhpc.data.accuracy import HALF_WIDTH, LevelAccuracy, ShareEstimate
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import ParameterError
from mhpc.metrics.label_sets import LabelSets
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.proportions import wilson_interval
from mhpc.numerics.sparse import canonical, concatenate_ranges, row_indices, values_at
from mhpc.parameters import check_type, is_number, show_value

MAX_POWER = 4.0
"""How many answers one is worth at most: a few that are predicted perfectly prove little."""

_MIN_TUNED = 3
"""Answers from which on the predictions are used: a slope and a mean leave nothing of two."""

_CERTAIN = 1e-6
"""How close to 0 and 1 a conditional probability can be: sources may agree on what is wrong."""


def estimate_share(
    right: BoolArray, predicted: FloatArray, *, others: int, others_predicted: float
) -> ShareEstimate:
    """Estimate the share of right label sets among instances that nobody reviewed.

    Parameters
    ----------
    right : bool array, (k,)
        Whether the label set is right, for instances drawn at random.
    predicted : float array, (k,)
        The predicted probability that it is; a constant for the plain estimate.
    others : int
        How many other instances there are.
    others_predicted : float
        The mean prediction for them.

    Examples
    --------
    >>> right = np.arange(20) < 15
    >>> plain = estimate_share(right, np.zeros(20), others=980, others_predicted=0)
    >>> f"{plain.value:.2f} ({plain.low:.3f} to {plain.high:.3f})"
    '0.75 (0.529 to 0.890)'
    """
    k = len(right)
    if not k or not others:
        return ShareEstimate(np.nan, 0.0, 1.0, k, others)
    tuned = _tune(right.astype(float), predicted)
    value = right.mean() + tuned.slope * (others_predicted - predicted.mean())
    value = float(min(max(value, 0.0), 1.0))
    low, high = _interval(value, float(right.mean()), k, others, tuned.power)
    return ShareEstimate(value, max(low, 0.0), min(high, 1.0), k, others, tuned.power)


class _Tuned(NamedTuple):
    slope: float
    power: float


def _tune(y: FloatArray, f: FloatArray) -> _Tuned:
    """Return lambda, and the number of answers that one is worth with it."""
    k = len(y)
    if k < _MIN_TUNED or not np.ptp(y) or not np.ptp(f):
        return _Tuned(0.0, 1.0)
    y, f = y - y.mean(), f - f.mean()
    slope = float(np.clip((y @ f) / (f @ f), 0.0, 1.0))
    residual = y - slope * f
    plain, powered = float(y @ y) / (k - 1), float(residual @ residual) / (k - 2)
    power = plain / powered if powered * MAX_POWER > plain else MAX_POWER
    return _Tuned(slope, max(1.0, power))


def _interval(
    value: float, reviewed: float, k: int, others: int, power: float
) -> tuple[float, float]:
    """Return the interval of the others; `reviewed` is the share of right sets among the k."""
    M = k + others
    whole = np.array([power * k * (M - 1) / others])
    share = np.array([(k * reviewed + others * value) / M])
    ends = wilson_interval(share * whole, whole)
    low, high = ((M * float(end[0]) - k * reviewed) / others for end in ends)
    return low, high


def answers_needed(estimate: ShareEstimate, half_width: float = HALF_WIDTH) -> int:
    """Return how many more random answers would narrow an interval to a half width.

    They are expected to be right as often as those so far, and to be predicted as well. Where no
    sample would do, as the others are too few, the number is that of all others.

    Parameters
    ----------
    estimate : ShareEstimate
        As `mhpc.estimate_accuracy` returns it.
    half_width : float
        Half the wanted width of the interval, such as 0.02 for ±2 %.

    Examples
    --------
    >>> import mhpc
    >>> votes = {str(number): {"ann": "rose", "bob": "rose"} for number in range(1000)}
    >>> result = mhpc.consolidate(votes, ["rose", "oak"], method="majority")
    >>> accuracy = mhpc.estimate_accuracy(result, {str(number): "rose" for number in range(50)})
    >>> answers_needed(accuracy, 0.02), answers_needed(accuracy, 0.05)
    (43, 0)
    """
    check_type("estimate", estimate, ShareEstimate, "what mhpc.estimate_accuracy returns")
    if not is_number(half_width) or not half_width > 0:
        raise ParameterError(
            f"half_width = {show_value(half_width)} is not allowed; give a number above 0"
        )
    M, value = estimate.measured + estimate.others, estimate.value
    if value != value:
        value = 0.5

    def is_enough(k: int) -> bool:
        low, high = _interval(value, value, k, M - k, estimate.power)
        return high - low <= 2 * half_width

    few, many = max(estimate.measured, 1), M // 2
    if few < M and is_enough(few):
        return few - estimate.measured
    if many <= few or not is_enough(many):
        return estimate.others
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_enough(middle) else (middle, many)
    return many - estimate.measured


def estimate_levels(sets: LabelSets, *, others: int) -> tuple[LevelAccuracy, ...]:
    """Estimate, for each level, how often all labels of it are right.

    Among the k instances drawn at random, those count that have a true or a given label on the
    level. The others are expected to have one as often. The estimate is plain, as the scores do
    not tell which of the others have one.

    Parameters
    ----------
    sets : LabelSets
        The true and the given labels of the instances drawn at random.
    others : int
        How many other instances there are.
    """
    k = sets.given.shape[0]
    return tuple(
        _estimate_level(level, right, others=round(others * len(right) / k))
        for level, right in enumerate(_right_by_level(sets), start=1)
        if len(right)
    )


def _estimate_level(level: int, right: BoolArray, *, others: int) -> LevelAccuracy:
    plain = np.zeros(len(right))
    estimate = estimate_share(right, plain, others=max(others, 1), others_predicted=0.0)
    return LevelAccuracy(**vars(estimate), level=level)


def _right_by_level(sets: LabelSets) -> Iterator[BoolArray]:
    """Yield, for each level, whether the labels of it are right, of instances that have any."""
    for labels in sets.taxonomy.levels:
        correct, given, true = (
            np.diff(part[:, labels].tocsr().indptr)
            for part in (sets.correct, sets.given, sets.true)
        )
        counts = (given > 0) | (true > 0)
        yield ((correct == given) & (correct == true))[counts]


def are_right(sets: LabelSets) -> BoolArray:
    """Return whether each instance was given its true labels and no others, (T,)."""
    correct, given, true = sets.sizes
    return np.asarray((correct == given) & (correct == true))


def predict_right(score: Block, chosen: Sparse, taxonomy: Taxonomy) -> FloatArray:
    r"""Return the probability, by the scores, that each label set is exactly right, (N,).

    With p the scores, read as probabilities, and the labels of a parent taken as independent of
    each other given the parent,

    .. math::

        f = \prod_{k \in S} \frac{p_k}{p_{parent(k)}}
            \prod_{k \notin S, \, parent(k) \in S} \Bigl(1 - \frac{p_k}{p_{parent(k)}}\Bigr),

    where the parent of a root has the probability 1. Of several parents the least probable counts.

    Parameters
    ----------
    score : array or csr_array, (N, K)
        The scores.
    chosen : csr_array, (N, K)
        An entry at every label of the set of an instance, closed under ancestors.
    taxonomy : Taxonomy
        K labels.
    """
    cells = canonical(sparse.csr_array(score))
    row, label = row_indices(cells), cells.indices.astype(np.int64)
    given = values_at(chosen, row, label) > 0
    parent_score, has_parents = _look_up_parents(cells, chosen, row, label, taxonomy)
    share = cells.data / np.maximum(parent_score, _CERTAIN)
    share = np.clip(share, _CERTAIN, 1 - _CERTAIN)
    logarithm = np.where(given, np.log(share), np.where(has_parents, np.log1p(-share), 0.0))
    # A label may be in the set without a score, as the ancestor of another one.
    unscored = np.diff(chosen.indptr) - np.bincount(row[given], minlength=len(chosen.indptr) - 1)
    total = np.bincount(row, logarithm, minlength=cells.shape[0])
    return np.asarray(np.exp(total + unscored * np.log(_CERTAIN)))


def _look_up_parents(
    score: Sparse, chosen: Sparse, row: IntArray, label: IntArray, taxonomy: Taxonomy
) -> tuple[FloatArray, BoolArray]:
    """Return the lowest score of the parents of each cell, and whether all are in the set."""
    parents = taxonomy.parents
    cell, position = concatenate_ranges(parents.indptr[label], np.diff(parents.indptr)[label])
    parent = parents.indices[position].astype(np.int64)
    lowest, in_set = np.ones(len(row)), np.ones(len(row), dtype=bool)
    np.minimum.at(lowest, cell, values_at(score, row[cell], parent))
    np.logical_and.at(in_set, cell, values_at(chosen, row[cell], parent) > 0)
    return lowest, in_set
