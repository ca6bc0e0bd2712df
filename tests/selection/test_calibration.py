"""Calibrated scores are the share of answers that contain the label, in the same order."""

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.panel import SinglePartition
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.selection.calibration import (
    Calibration,
    CalibrationSample,
    calibrate_on_folds,
    calibration_error,
    fit_calibration,
)
from mhpc.selection.cross_validation import make_folds, score_fold


def sample_of(
    scores: FloatArray, answers: FloatArray, weight: FloatArray | None = None
) -> CalibrationSample:
    """Return a sample with one answer per instance."""
    n_rows = len(scores)
    weight = np.ones(n_rows) if weight is None else weight
    return CalibrationSample(scores, np.arange(n_rows), sparse.csr_array(answers), weight)


def overconfident_sample(seed: int = 0) -> CalibrationSample:
    """Return scores that are twice the share of answers with the label."""
    rng = np.random.default_rng(seed)
    scores = rng.random((4000, 4))
    return sample_of(scores, (rng.random(scores.shape) < scores / 2).astype(float))


@pytest.mark.parametrize("block_cells", [1 << 20, 1000])
def test_a_score_becomes_the_share_of_answers_with_the_label(block_cells: int) -> None:
    calibration = fit_calibration([overconfident_sample()], block_cells=block_cells)
    for score in (0.2, 0.5, 0.8):
        assert calibration.at(score) == pytest.approx(score / 2, abs=0.04)


def test_the_order_of_scores_stays_and_zero_stays_zero() -> None:
    calibration = fit_calibration([overconfident_sample()])
    probabilities = np.asarray(calibration(np.linspace(0, 1.2, 500)))
    assert (np.diff(probabilities) > 0).all()
    assert probabilities[0] == 0.0


def test_sparse_and_dense_scores_are_mapped_alike() -> None:
    calibration = Calibration(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.2, 0.9]))
    scores = np.array([[0.0, 0.5], [0.25, 1.0]])
    np.testing.assert_allclose(
        dense(calibration(sparse.csr_array(scores))), dense(calibration(scores))
    )
    assert calibration.at(0.25) == pytest.approx(0.1, abs=1e-6)


def test_answers_count_by_their_weight() -> None:
    scores, answers = np.full((2, 1), 0.5), np.array([[1.0], [0.0]])
    equal = fit_calibration([sample_of(scores, answers)])
    weighted = fit_calibration([sample_of(scores, answers, np.array([3.0, 1.0]))])
    assert equal.at(0.5) == pytest.approx(0.5, abs=1e-5)
    assert weighted.at(0.5) == pytest.approx(0.75, abs=1e-5)


def test_labels_out_of_scope_do_not_count() -> None:
    in_scope = sparse.csr_array([[1.0, 0.0]])
    sample = CalibrationSample(
        np.full((1, 2), 0.5), np.array([0]), sparse.csr_array([[1.0, 0.0]]), np.ones(1), in_scope
    )
    assert fit_calibration([sample]).at(0.5) == pytest.approx(1.0, abs=1e-5)


def test_scores_of_zero_stay_zero_if_there_are_no_others() -> None:
    calibration = fit_calibration([sample_of(np.zeros((2, 2)), np.zeros((2, 2)))])
    assert np.asarray(calibration(np.zeros((2, 2)))).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_the_calibration_error_is_the_mean_gap_between_score_and_share() -> None:
    unchanged = Calibration(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    # Two cells in the bin of 0.25, one of which is true, and two sure ones that are not.
    sample = sample_of(np.array([[0.25, 0.25], [1.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert calibration_error(unchanged, sample) == pytest.approx((0.5 + 2.0) / 4, abs=1e-5)


def test_with_enough_gold_scores_are_calibrated_on_gold_and_closer_to_it() -> None:
    garden = mhpc.load_garden()
    # Sources that are vague give too low a share of the deep labels.
    profiles = [mhpc.Profile(specificity=0.4, accuracy=0.9)] * 4
    votes = mhpc.simulate(garden.truth, garden.taxonomy, profiles, seed=1)
    result = mhpc.consolidate(votes, garden.taxonomy, method="channel", gold=garden.truth)
    folds = make_folds(SinglePartition(result.panel), n_folds=4, seed=0)
    assert [fold.is_gold for fold in folds] == [False] * 4 + [True]
    scores = [score_fold(mhpc.Channel(), fold).score for fold in folds]
    n_gold = len(folds[-1].test.instance)
    _, improvement = calibrate_on_folds(folds, scores, min_gold=n_gold)
    assert improvement is not None
    assert improvement.instances == n_gold
    assert improvement.after < improvement.before
    assert calibrate_on_folds(folds, scores, min_gold=n_gold + 1)[1] is None
