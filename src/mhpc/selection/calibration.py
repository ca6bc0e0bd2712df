"""Calibration of probabilities on gold labels, and how far probabilities are from calibrated."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logit

from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Matrix, Sparse, by_rows
from mhpc.parameters import registered

ERROR_BINS = 10
"""Bins of probabilities over which the calibration error is averaged."""

SLOPE_DEVIATION, SHIFT_DEVIATION = 0.3, 0.7
"""Standard deviations of the prior of a calibration, about those between kinds of sources."""

LEAST = 1e-6
"""Probabilities closer to 0 and 1 have no finite log odds worth the name."""

MIN_COUNTED = 0.01
"""Labels with a lower probability are many, nearly never true, and tell nothing about the rest."""


@registered("auto.calibration")
@dataclass(frozen=True)
class Calibration:
    """Probabilities with log odds multiplied by a slope above 0 and shifted.

    Platt: Probabilistic Outputs for Support Vector Machines, Advances in Large Margin Classifiers
    1999. Two numbers, unlike a step function, are learned from a few instances, and never change
    the order of the labels.
    """

    slope: float = 1.0
    shift: float = 0.0

    def __call__(self, scores: Matrix) -> Matrix:
        """Return calibrated probabilities; 0 stays 0."""
        return by_rows(self._map_block, scores)

    def _map_block(self, scores: Block) -> Block:
        if self == IDENTITY:
            return scores
        if isinstance(scores, np.ndarray):
            return np.where(scores > 0, self.transform(scores), 0.0)
        calibrated: Sparse = scores.copy()
        calibrated.data = self.transform(calibrated.data)
        return calibrated

    def transform(self, p: FloatArray) -> FloatArray:
        """Return calibrated probabilities of numbers above 0."""
        p = np.clip(p, LEAST, 1 - LEAST)
        return np.asarray(expit(self.slope * logit(p) + self.shift))


IDENTITY = Calibration()
"""The calibration that changes nothing."""


@dataclass(frozen=True, eq=False)
class GoldSample:
    """The probabilities of labels whose truth is known.

    Attributes
    ----------
    probability : float array, (P,)
        The probability of each label, above 0, computed without the gold labels.
    is_true : float array, (P,)
        1 if the label applies, else 0.
    instance : int array, (P,)
        The instance.
    """

    probability: FloatArray
    is_true: FloatArray
    instance: IntArray

    def select(self, chosen: BoolArray) -> "GoldSample":
        """Return some of the labels."""
        return GoldSample(self.probability[chosen], self.is_true[chosen], self.instance[chosen])


def sample_gold(scores: Block, truth: Sparse) -> GoldSample:
    """Return the labels with a probability, of instances in the same rows of both matrices."""
    scores = sparse.csr_array(scores).tocoo()
    is_true = np.asarray(truth.tocsr()[scores.row, scores.col]).ravel() > 0
    kept = scores.data > MIN_COUNTED
    return GoldSample(scores.data[kept], is_true[kept].astype(float), scores.row[kept])


def fit_calibration(gold: GoldSample) -> Calibration:
    """Return the most probable calibration, given gold labels and the prior.

    The labels of one instance are not independent: they count as one observation together, each
    by its share of what is uncertain about the instance.
    """
    if not len(gold.probability):
        return IDENTITY
    odds = logit(np.clip(gold.probability, LEAST, 1 - LEAST))
    spread = gold.probability * (1 - gold.probability) + LEAST
    _, number = np.unique(gold.instance, return_inverse=True)
    weight = spread / np.bincount(number, spread)[number]

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        log_slope, shift = parameters
        slope = np.exp(log_slope)
        z = slope * odds + shift
        error = weight * (expit(z) - gold.is_true)
        prior = (log_slope / SLOPE_DEVIATION) ** 2 + (shift / SHIFT_DEVIATION) ** 2
        gradient = np.array([slope * (error @ odds), error.sum()])
        gradient += [log_slope / SLOPE_DEVIATION**2, shift / SHIFT_DEVIATION**2]
        return float(weight @ (np.logaddexp(0, z) - gold.is_true * z) + prior / 2), gradient

    log_slope, shift = minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    return Calibration(float(np.exp(log_slope)), float(shift))


def calibration_error(calibration: Calibration, gold: GoldSample) -> float:
    """Return the mean distance between probability and share of true labels, over bins."""
    if not len(gold.probability):
        return 0.0
    p = calibration.transform(gold.probability)
    bins = np.minimum((p * ERROR_BINS).astype(int), ERROR_BINS - 1)
    gap = np.bincount(bins, p - gold.is_true, minlength=ERROR_BINS)
    return float(np.abs(gap).sum() / len(p))


def cross_validated_error(gold: GoldSample) -> float:
    """Return the mean error on each half of the gold instances, calibrated on the other half."""
    _, number = np.unique(gold.instance, return_inverse=True)
    first, second = gold.select(number % 2 == 0), gold.select(number % 2 == 1)
    pairs = ((first, second), (second, first))
    return float(np.mean([calibration_error(fit_calibration(a), b) for a, b in pairs]))
