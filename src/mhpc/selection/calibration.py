"""Calibration: from scores to probabilities, by isotonic regression on held-out answers or gold."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import isotonic_regression

from mhpc.data.selection import GoldCalibration
from mhpc.numerics.arrays import (
    Block,
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    Sparse,
    by_rows,
    dense,
)
from mhpc.numerics.sparse import row_blocks
from mhpc.parameters import registered
from mhpc.selection.cross_validation import BLOCK_CELLS, Fold

MIN_GOLD = 20
"""Instances with gold labels from which on scores are calibrated on gold, not on answers."""

N_BINS = 200
"""Bins of scores that the regression is fitted to."""

ERROR_BINS = 10
"""Bins of scores over which the calibration error is averaged."""

_SLOPE = 1e-6
"""The part of the score itself that is kept, so that different scores stay different."""

_MAX_SAMPLED = 100_000
"""Scores of a block that the borders of the bins are computed from, about."""


@registered("auto.calibration")
@dataclass(frozen=True, eq=False)
class Calibration:
    """An increasing, piecewise linear map from scores to probabilities, with 0 mapped to 0.

    Attributes
    ----------
    score, probability : float arrays, (knots,)
        The knots of the map.
    """

    score: FloatArray
    probability: FloatArray

    def __call__(self, scores: Matrix) -> Matrix:
        """Return the probabilities of scores; their order stays the same."""
        return by_rows(self._map_block, scores)

    def at(self, score: float) -> float:
        """Return the probability of one score."""
        return float(self._interpolate(np.array([score]))[0])

    def _map_block(self, scores: Block) -> Block:
        if not sparse.issparse(scores):
            return self._interpolate(np.asarray(scores))
        probabilities: Sparse = scores.copy()
        probabilities.data = self._interpolate(probabilities.data)
        return probabilities

    def _interpolate(self, scores: FloatArray) -> FloatArray:
        probability = np.interp(scores, self.score, self.probability)
        return np.asarray((1 - _SLOPE) * probability + _SLOPE * scores)


@dataclass(frozen=True, eq=False)
class CalibrationSample:
    """Scores of instances, and held-out answers about them.

    Attributes
    ----------
    scores : matrix, (N, K)
        The scores.
    instance : int array, (A,)
        The instance of each answer.
    answers : csr_array, (A, K)
        The labels of each answer.
    weight : float array, (A,)
        How much each answer counts.
    scope : csr_array, (A, K), or None
        Ones at the labels that an answer could contain; None: at all labels.
    """

    scores: Matrix
    instance: IntArray
    answers: Sparse
    weight: FloatArray
    scope: Sparse | None = None

    def select(self, answers: BoolArray) -> "CalibrationSample":
        """Return the sample with some of its answers."""
        return replace(
            self,
            instance=self.instance[answers],
            answers=self.answers[answers],
            weight=self.weight[answers],
            scope=None if self.scope is None else self.scope[answers],
        )


def calibrate_on_folds(
    folds: Sequence[Fold], scores: Sequence[Matrix], *, min_gold: int = MIN_GOLD
) -> tuple[Calibration, GoldCalibration | None]:
    """Fit the calibration of scores that were computed without the held-out answers of each fold.

    Parameters
    ----------
    folds : sequence of Fold
        The held-out answers; one fold may hold gold labels.
    scores : sequence of matrix, (N, K)
        The scores on each fold.
    min_gold : int
        Instances with gold labels from which on gold alone is used.

    Returns
    -------
    Calibration, GoldCalibration or None
        The map; and how much gold improved the calibration, if there was enough of it.
    """
    pairs = list(zip(folds, scores, strict=True))
    gold = [_sample(fold, score) for fold, score in pairs if fold.is_gold]
    answers = [_sample(fold, score) for fold, score in pairs if not fold.is_gold] or gold
    by_answers = fit_calibration(answers)
    if not gold or len(gold[0].instance) < min_gold:
        return by_answers, None
    improvement = GoldCalibration(
        instances=len(gold[0].instance),
        before=calibration_error(by_answers, gold[0]),
        after=_cross_validated_error(gold[0]),
    )
    return fit_calibration(gold), improvement


def _sample(fold: Fold, scores: Matrix) -> CalibrationSample:
    weight = np.ones(len(fold.test.source)) if fold.is_gold else fold.weight
    return CalibrationSample(scores, fold.test.instance, fold.test.augmented, weight, fold.scope)


def fit_calibration(
    samples: Iterable[CalibrationSample], *, n_bins: int = N_BINS, block_cells: int = BLOCK_CELLS
) -> Calibration:
    """Fit the map from a score to the weighted share of answers that contain the label.

    Cells with a score above 0 are binned by score; isotonic regression then makes the share of
    every bin at least that of the bin below.
    """
    samples = list(samples)
    borders = _bin_borders(_blocks(samples, block_cells), n_bins)
    weight, affirmed, score = np.zeros((3, len(borders) + 1))
    for values, labels, weights in _blocks(samples, block_cells):
        bins = np.searchsorted(borders, values, side="right")
        weight += np.bincount(bins, weights, minlength=len(weight))
        affirmed += np.bincount(bins, weights * labels, minlength=len(weight))
        score += np.bincount(bins, weights * values, minlength=len(weight))
    filled = weight > 0
    mean_score, share = score[filled] / weight[filled], affirmed[filled] / weight[filled]
    increasing = isotonic_regression(share, weights=weight[filled]).x
    return Calibration(np.append(0.0, mean_score), np.append(0.0, increasing))


def _bin_borders(
    blocks: Iterable[tuple[FloatArray, FloatArray, FloatArray]], n_bins: int
) -> FloatArray:
    """Return borders between bins of about equal total score."""
    sampled = [values[:: max(1, len(values) // _MAX_SAMPLED)] for values, _, _ in blocks]
    ordered = np.sort(np.concatenate(sampled or [np.zeros(0)]))
    if not len(ordered):
        return ordered
    total = np.cumsum(ordered)
    position = np.searchsorted(total, np.linspace(0, total[-1], n_bins + 1)[1:-1])
    return np.unique(ordered[position])


def _blocks(
    samples: Iterable[CalibrationSample], block_cells: int
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Give score, label (1 or 0) and weight of the cells in scope with a score, in blocks."""
    for sample in samples:
        for rows in row_blocks(len(sample.instance), sample.answers.shape[1], block_cells):
            values, labels = (
                dense(sample.scores[sample.instance[rows]]),
                dense(sample.answers[rows]),
            )
            weights = np.broadcast_to(sample.weight[rows, None], values.shape)
            counted = values > 0
            if sample.scope is not None:
                counted = counted & (dense(sample.scope[rows]) > 0)
            yield values[counted], labels[counted], weights[counted]


def calibration_error(
    calibration: Calibration, sample: CalibrationSample, *, n_bins: int = ERROR_BINS
) -> float:
    """Return the mean distance between score and share of true labels, over bins of scores.

    This is the expected calibration error of the calibrated scores above 0.
    """
    scores = dense(calibration(sample.scores)[sample.instance])
    scored = scores > 0
    if not scored.any():
        return 0.0
    values, labels = scores[scored], dense(sample.answers)[scored]
    bins = np.minimum((values * n_bins).astype(int), n_bins - 1)
    gap = np.bincount(bins, values - labels, minlength=n_bins)
    return float(np.abs(gap).sum() / len(values))


def _cross_validated_error(gold: CalibrationSample) -> float:
    """Return the mean error on each half of the gold labels, calibrated on the other half."""
    is_first = np.arange(len(gold.instance)) % 2 == 0
    halves = gold.select(is_first), gold.select(~is_first)
    errors = [
        calibration_error(fit_calibration([other]), half) for half, other in (halves, halves[::-1])
    ]
    return float(np.mean(errors))
