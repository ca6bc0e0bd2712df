"""Calibration on gold labels, and how far probabilities are from calibrated."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.numerics.arrays import dense
from mhpc.selection.calibration import (
    IDENTITY,
    Calibration,
    GoldSample,
    calibration_error,
    cross_validated_error,
    fit_calibration,
    sample_gold,
)


def overconfident_sample(n_instances: int = 400, seed: int = 0) -> GoldSample:
    """Return probabilities whose log odds are twice what they should be."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(0.0, 1.5, size=(n_instances, 3))
    is_true = (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(float)
    claimed = 1 / (1 + np.exp(-2 * odds))
    instance = np.repeat(np.arange(n_instances), 3)
    return GoldSample(claimed.ravel(), is_true.ravel(), instance)


def test_overconfident_probabilities_are_drawn_towards_one_half() -> None:
    calibration = fit_calibration(overconfident_sample())
    assert calibration.slope == pytest.approx(0.5, abs=0.12)
    assert calibration.shift == pytest.approx(0.0, abs=0.2)
    assert calibration.transform(np.array([0.95]))[0] < 0.9


def test_a_few_gold_labels_change_little() -> None:
    few = overconfident_sample(3)
    assert fit_calibration(few).slope == pytest.approx(1.0, abs=0.2)
    assert abs(fit_calibration(few).shift) < 0.5


def test_without_gold_labels_nothing_changes() -> None:
    nothing = np.zeros(0)
    assert fit_calibration(GoldSample(nothing, nothing, nothing.astype(int))) is IDENTITY
    scores = np.array([[0.0, 0.3, 1.0]])
    assert IDENTITY(scores) is scores


def test_the_order_of_scores_stays_and_zero_stays_zero() -> None:
    scores = np.linspace(0, 1, 200)[np.newaxis]
    calibrated = dense(Calibration(0.4, -1.0)(scores))[0]
    assert calibrated[0] == 0.0
    assert (np.diff(calibrated) >= 0).all()
    assert calibrated.max() <= 1.0


def test_sparse_and_dense_scores_are_mapped_alike() -> None:
    calibration, scores = Calibration(0.7, 0.2), np.array([[0.0, 0.5], [0.25, 1.0]])
    sparse_scores = sparse.csr_array(scores)
    np.testing.assert_allclose(dense(calibration(sparse_scores)), dense(calibration(scores)))


def test_calibration_lowers_the_error_on_instances_it_has_not_seen() -> None:
    sample = overconfident_sample()
    assert cross_validated_error(sample) < calibration_error(IDENTITY, sample) / 2


def test_the_error_is_the_mean_gap_between_probability_and_share_of_true_labels() -> None:
    sample = GoldSample(
        np.array([0.95, 0.95, 0.25, 0.25]), np.array([1.0, 0.0, 0.0, 0.0]), np.arange(4)
    )
    expected = (2 * abs(0.95 - 0.5) + 2 * 0.25) / 4
    assert calibration_error(IDENTITY, sample) == pytest.approx(expected)


def test_labels_that_are_nearly_impossible_are_left_out() -> None:
    scores = np.array([[0.9, 0.002], [0.0, 0.4]])
    gold = sample_gold(scores, sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]])))
    assert gold.probability.tolist() == [0.9, 0.4]
    assert gold.is_true.tolist() == [1.0, 1.0]
    assert gold.instance.tolist() == [0, 1]
