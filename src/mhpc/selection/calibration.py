"""Isotonic calibration on held-out answers or gold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import isotonic_regression

from mhpc.data.selection import GoldCalibration
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, Matrix, Sparse, by_rows, dense
from mhpc.parameters import registered
from mhpc.selection.cross_validation import CrossValidation, FoldScore, mean_scores

_BINS = 200
_SLOPE = 1e-6
"""A little of the score itself, so that no two that differ become equal."""

_BLOCK = 1 << 20


@registered("auto.calibration")
@dataclass(frozen=True, eq=False)
class Calibration:
    """A rising map from scores to shares, by straight lines between knots; 0 stays 0."""

    score: FloatArray
    share: FloatArray

    def __call__(self, scores: Matrix) -> Matrix:
        """Return the shares; nothing changes places."""
        return by_rows(self._shares, scores)

    def _shares(self, scores: Block) -> Block:
        if not sparse.issparse(scores):
            return self._mapped(np.asarray(scores))
        shares: Sparse = scores.copy()
        shares.data = self._mapped(shares.data)
        return shares

    def at(self, score: float) -> float:
        """Return the share that a score means."""
        return float(self._mapped(np.array([score]))[0])

    def _mapped(self, scores: FloatArray) -> FloatArray:
        share = np.interp(scores, self.score, self.share)
        return np.asarray((1 - _SLOPE) * share + _SLOPE * scores)


@dataclass(frozen=True, eq=False)
class CalibrationSample:
    """Scores of instances, and what hidden answers to them say."""

    scores: Matrix
    instance: np.ndarray
    said: Sparse
    weight: FloatArray
    scope: Sparse | None


def calibrate(parts: Iterable[CalibrationSample]) -> Calibration:
    """Return the map under which scores are the mean of what was said at them.

    Cells are binned by score, means made to rise (isotonic regression), an answer counting by its
    weight.
    """
    parts = list(parts)
    edges = _edges(parts)
    weight, said, score = np.zeros((3, len(edges) + 1))
    for part in parts:
        for values, truth, worth in _blocks(part):
            bin_ = np.searchsorted(edges, values, side="right")
            weight += np.bincount(bin_, worth, minlength=len(weight))
            said += np.bincount(bin_, worth * truth, minlength=len(weight))
            score += np.bincount(bin_, worth * values, minlength=len(weight))
    full = weight > 0
    mean, share = score[full] / weight[full], said[full] / weight[full]
    rising = isotonic_regression(share, weights=weight[full]).x
    return Calibration(np.append(0.0, mean), np.append(0.0, rising))


def _edges(parts: list[CalibrationSample]) -> FloatArray:
    """Return borders between bins that hold about equally much of all scores."""
    sample = np.concatenate(
        [values[values > 0][:: max(1, len(values) // 100_000)] for values, _, _ in _all(parts)]
        or [np.zeros(0)]
    )
    if not len(sample):
        return np.zeros(0)
    ordered = np.sort(sample)
    mass = np.cumsum(ordered)
    at = np.searchsorted(mass, np.linspace(0, mass[-1], _BINS + 1)[1:-1])
    return np.unique(ordered[at])


def _all(parts: list[CalibrationSample]) -> Iterable[tuple[FloatArray, FloatArray, FloatArray]]:
    return (block for part in parts for block in _blocks(part))


def _blocks(part: CalibrationSample) -> Iterable[tuple[FloatArray, FloatArray, FloatArray]]:
    """Give scores, what was said, and weights of the cells, some answers at a time."""
    K = part.said.shape[1]
    step = max(1, _BLOCK // K)
    for start in range(0, len(part.instance), step):
        rows = slice(start, start + step)
        values, said = dense(part.scores[part.instance[rows]]), dense(part.said[rows])
        worth = np.broadcast_to(part.weight[rows, None], values.shape)
        allowed = values > 0
        if part.scope is not None:
            allowed = allowed & (dense(part.scope[rows]) > 0)
        yield values[allowed], said[allowed], worth[allowed]


ENOUGH = 20
"""So many known instances tell more of the truth than any number of answers."""

_CALIBRATION_BINS = 10


def calibrated(
    court: CrossValidation, members: Sequence[Sequence[FoldScore]]
) -> tuple[Calibration, GoldCalibration | None]:
    """Return how scores are to be read, and what gold was worth in that, if there is enough."""
    parts = [_heard(court, members, at) for at in range(len(court.folds))]
    answers = [part for at, part in enumerate(parts) if at != court.gold] or parts
    told = calibrate(answers)
    if court.gold is None or len(parts[court.gold].instance) < ENOUGH:
        return told, None
    known = parts[court.gold]
    return calibrate([known]), GoldCalibration(
        len(known.instance), _error(told, known), _crossed(known)
    )


def _heard(
    court: CrossValidation, members: Sequence[Sequence[FoldScore]], at: int
) -> CalibrationSample:
    hidden = court.folds[at].test
    scope = None if hidden.scope is None else hidden.scope[hidden.source]
    scores = mean_scores([successive_halving[at].score for successive_halving in members])
    weight = np.ones(len(hidden.source)) if at == court.gold else court.weight[at]
    return CalibrationSample(scores, hidden.instance, hidden.augmented, weight, scope)


def _crossed(known: CalibrationSample) -> float:
    """Return the error on either half of what is known, calibrated on the other."""
    first = np.arange(len(known.instance)) % 2 == 0
    halves = (_some(known, first), _some(known, ~first))
    errors = [_error(calibrate([other]), half) for half, other in (halves, halves[::-1])]
    return float(np.mean(errors))


def _some(known: CalibrationSample, rows: BoolArray) -> CalibrationSample:
    return replace(
        known,
        instance=known.instance[rows],
        said=known.said[rows],
        weight=known.weight[rows],
        scope=None if known.scope is None else known.scope[rows],
    )


def _error(calibration: Calibration, known: CalibrationSample) -> float:
    """Return the mean distance between score and share of true labels, over bins of scores."""
    scores = dense(calibration(known.scores)[known.instance])
    true = dense(known.said)
    told = scores > 0
    if not told.any():
        return 0.0
    bin_ = np.minimum((scores[told] * _CALIBRATION_BINS).astype(int), _CALIBRATION_BINS - 1)
    count = np.bincount(bin_, minlength=_CALIBRATION_BINS)
    gap = np.bincount(bin_, scores[told] - true[told], minlength=_CALIBRATION_BINS)
    return float(np.abs(gap).sum() / count.sum())
