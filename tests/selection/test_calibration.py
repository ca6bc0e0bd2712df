"""Scores become the share of what was said at them, and nothing changes places."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.numerics.arrays import dense as to_dense
from mhpc.selection.calibration import Calibration, CalibrationSample, calibrate


def heard(
    scores: np.ndarray, said: np.ndarray, weight: np.ndarray | None = None
) -> CalibrationSample:
    rows = len(scores)
    worth = np.ones(rows) if weight is None else weight
    return CalibrationSample(scores, np.arange(rows), sparse.csr_array(said), worth, None)


def overconfident(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores that claim twice what is said."""
    rng = np.random.default_rng(seed)
    scores = rng.random((4000, 4))
    return scores, (rng.random(scores.shape) < scores / 2).astype(float)


def test_a_score_comes_to_mean_the_share_that_affirms() -> None:
    calibration = calibrate([heard(*overconfident())])
    for score in (0.2, 0.5, 0.8):
        assert calibration.at(score) == pytest.approx(score / 2, abs=0.04)


def test_order_is_kept_and_zero_stays_zero() -> None:
    calibration = calibrate([heard(*overconfident())])
    scores = np.linspace(0, 1.2, 500)
    shares = np.asarray(calibration(scores))
    assert (np.diff(shares) > 0).all()
    assert shares[0] == 0.0


def test_sparse_and_dense_scores_are_mapped_alike() -> None:
    calibration = Calibration(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.2, 0.9]))
    dense = np.array([[0.0, 0.5], [0.25, 1.0]])
    mapped = calibration(sparse.csr_array(dense))
    np.testing.assert_allclose(to_dense(mapped), to_dense(calibration(dense)))
    assert calibration.at(0.25) == pytest.approx(0.1, abs=1e-6)


def test_a_heavier_answer_counts_for_more() -> None:
    scores = np.full((2, 1), 0.5)
    said = np.array([[1.0], [0.0]])
    even = calibrate([heard(scores, said)])
    uneven = calibrate([heard(scores, said, np.array([3.0, 1.0]))])
    assert even.at(0.5) == pytest.approx(0.5, abs=1e-5)
    assert uneven.at(0.5) == pytest.approx(0.75, abs=1e-5)


def test_labels_out_of_scope_do_not_count() -> None:
    part = CalibrationSample(
        np.full((1, 2), 0.5), np.array([0]), sparse.csr_array([[1.0, 0.0]]), np.ones(1),
        sparse.csr_array([[1.0, 0.0]]),
    )  # fmt: skip
    assert calibrate([part]).at(0.5) == pytest.approx(1.0, abs=1e-5)


def test_nothing_scored_is_left_as_it_is() -> None:
    calibration = calibrate([heard(np.zeros((2, 2)), np.zeros((2, 2)))])
    assert np.asarray(calibration(np.zeros((2, 2)))).tolist() == [[0.0, 0.0], [0.0, 0.0]]
