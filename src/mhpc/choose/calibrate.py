"""Scores that mean something: the share of fresh, competent sources that would affirm a label."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import isotonic_regression

from mhpc.core.arrays import Block, FloatArray, Matrix, Sparse, dense
from mhpc.core.rows import by_rows

_BINS = 200
_SLOPE = 1e-6
"""A little of the score itself, so that no two that differ become equal."""

_BLOCK = 1 << 20


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
class Heard:
    """Scores of instances, and what hidden answers to them say."""

    scores: Matrix
    instance: np.ndarray
    said: Sparse
    weight: FloatArray
    scope: Sparse | None


def calibrate(parts: Iterable[Heard]) -> Calibration:
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


def _edges(parts: list[Heard]) -> FloatArray:
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


def _all(parts: list[Heard]) -> Iterable[tuple[FloatArray, FloatArray, FloatArray]]:
    return (block for part in parts for block in _blocks(part))


def _blocks(part: Heard) -> Iterable[tuple[FloatArray, FloatArray, FloatArray]]:
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
