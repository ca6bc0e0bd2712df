"""Calibration of probabilities on gold labels, and how far probabilities are from calibrated."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

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
from mhpc.parameters import registered

ERROR_BINS = 10
"""Bins of probabilities over which the calibration error is averaged."""

PRIOR_DEVIATIONS = np.array([0.3, 0.7])
"""Standard deviations of log slope and shift in the prior, about those between kinds of sources."""

N_PLAUSIBLE = 8
"""Calibrations around the most probable one that stand for all plausible ones."""

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

    def relative_to(self, other: "Calibration") -> tuple[float, float]:
        """Return slope and shift from the log odds of another calibration to those of this one."""
        slope = self.slope / other.slope
        return slope, self.shift - slope * other.shift


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
    scores = dense(scores)
    row, label = np.nonzero(scores > MIN_COUNTED)
    is_true = (dense(truth)[row, label] > 0).astype(float)
    return GoldSample(scores[row, label], is_true, row)


def compare_uncertainty(gold: FloatArray, others: FloatArray) -> float:
    """Return how well gold instances represent the others, from 0 to 1, by their probabilities.

    They may have been selected because many of their labels are uncertain, or because their label
    sets are; the measure by which they differ more counts.

    Parameters
    ----------
    gold, others : float arrays, (n, K)
        The probabilities of the labels of each instance.
    """
    return min(
        measure_representation(measure(gold), measure(others))
        for measure in (_sum_variance, _expect_loss)
    )


def _sum_variance(probability: FloatArray) -> FloatArray:
    """Return the variance of the number of labels of each instance."""
    return np.asarray((probability * (1 - probability)).sum(axis=1))


def _expect_loss(probability: FloatArray) -> FloatArray:
    """Return 1 minus the highest F that a label set of each instance can expect."""
    ordered = -np.sort(-probability, axis=1)
    size, total = np.arange(1, ordered.shape[1] + 1), ordered.sum(axis=1, keepdims=True)
    expected_f = 2 * np.cumsum(ordered, axis=1) / (size + total)
    return np.asarray(1 - expected_f.max(axis=1))


def measure_representation(gold: FloatArray, others: FloatArray) -> float:
    """Return how well gold instances represent the others, from 0 to 1.

    This is 1 minus the largest difference between the distributions of the two (the statistic of
    Kolmogorov and Smirnov). Of instances that were drawn at random it falls short of 1 by about
    1 / sqrt(n); of those on which sources disagree most, it is little more than their share.

    Parameters
    ----------
    gold, others : float arrays
        How uncertain each instance is.
    """
    values = np.concatenate([gold, others])
    below = [np.searchsorted(np.sort(each), values, "right") / len(each) for each in (gold, others)]
    return 1.0 - float(np.abs(below[0] - below[1]).max())


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """The likelihood of a calibration, whose parameters are log slope and shift.

    The labels of one instance are not independent: they count as one observation together, each
    by its share of what is uncertain about the instance.
    """

    odds: FloatArray
    is_true: FloatArray
    weight: FloatArray

    def evaluate(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log posterior density, up to a constant, and its gradient."""
        z, slopes = self._transform(parameters)
        loss = self.weight @ (np.logaddexp(0, z) - self.is_true * z)
        gradient = slopes @ (self.weight * (expit(z) - self.is_true))
        prior = parameters / PRIOR_DEVIATIONS**2
        return float(loss + parameters @ prior / 2), gradient + prior

    def covariance(self, parameters: FloatArray) -> FloatArray:
        """Return the covariance of the parameters around the most probable ones, (2, 2)."""
        z, slopes = self._transform(parameters)
        p = expit(z)
        information = (slopes * (self.weight * p * (1 - p))) @ slopes.T
        return np.asarray(np.linalg.inv(information + np.diag(1 / PRIOR_DEVIATIONS**2)))

    def _transform(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return calibrated log odds, (P,), and their derivatives by the parameters, (2, P)."""
        scaled = np.exp(parameters[0]) * self.odds
        return scaled + parameters[1], np.stack([scaled, np.ones_like(scaled)])


def fit_calibration(
    gold: GoldSample, representation: float = 1.0
) -> tuple[Calibration, tuple[Calibration, ...]]:
    """Return the most probable calibration, and others that gold labels leave plausible.

    Parameters
    ----------
    gold : GoldSample
        The labels whose truth is known.
    representation : float
        How much each instance counts: 1 if gold instances are like the others, down to 0.

    Returns
    -------
    calibration : Calibration
        The most probable one, given the prior.
    plausible : tuple of Calibration
        Calibrations all around it at a distance of one standard deviation.
    """
    if not len(gold.probability):
        return IDENTITY, (IDENTITY,)
    spread = gold.probability * (1 - gold.probability) + LEAST
    _, number = np.unique(gold.instance, return_inverse=True)
    likelihood = _Likelihood(
        odds=logit(np.clip(gold.probability, LEAST, 1 - LEAST)),
        is_true=gold.is_true,
        weight=representation * spread / np.bincount(number, spread)[number],
    )
    best = minimize(likelihood.evaluate, np.zeros(2), jac=True, method="BFGS").x
    angle = np.arange(N_PLAUSIBLE) * 2 * np.pi / N_PLAUSIBLE
    directions = np.stack([np.cos(angle), np.sin(angle)])
    around = best + (np.linalg.cholesky(likelihood.covariance(best)) @ directions).T
    calibration, *plausible = (
        Calibration(float(np.exp(log_slope)), float(shift)) for log_slope, shift in (best, *around)
    )
    return calibration, tuple(plausible)


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
    return float(np.mean([calibration_error(fit_calibration(a)[0], b) for a, b in pairs]))
