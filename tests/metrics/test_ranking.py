"""Ranking metrics, compared with those of scikit-learn."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import coverage_error as sklearn_coverage
from sklearn.metrics import label_ranking_loss as sklearn_ranking_loss
from sklearn.metrics import roc_auc_score

from mhpc.metrics.ranking import coverage_error, micro_auc, ranking_loss
from mhpc.numerics.arrays import BoolArray, FloatArray, Sparse

# Few distinct values, so that ties are as frequent as among averaged votes.
tied_scores = st.sampled_from([0.0, 0.25, 0.5, 1.0])
shapes = st.tuples(st.integers(1, 6), st.integers(2, 6))
cases = shapes.flatmap(
    lambda shape: st.tuples(
        arrays(np.bool_, shape),
        arrays(np.float64, shape, elements=tied_scores | st.floats(0, 1)),
    )
)


def csr(truth: BoolArray) -> Sparse:
    return sparse.csr_array(truth.astype(float))


@settings(deadline=None)
@given(cases)
def test_ranking_loss_and_coverage_equal_scikit_learn(case: tuple[BoolArray, FloatArray]) -> None:
    truth, scores = case
    expected = sklearn_ranking_loss(truth, scores)
    assert ranking_loss(csr(truth), scores) == pytest.approx(expected, abs=1e-12)
    expected = sklearn_coverage(truth, scores)
    assert coverage_error(csr(truth), scores) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(cases)
def test_micro_auc_equals_scikit_learn_and_strict_counts_no_tie(
    case: tuple[BoolArray, FloatArray],
) -> None:
    truth, scores = case
    if truth.all() or not truth.any():
        assert np.isnan(micro_auc(csr(truth), scores))
        return
    expected = roc_auc_score(truth.ravel(), scores.ravel())
    assert micro_auc(csr(truth), scores) == pytest.approx(expected, abs=1e-12)
    pairs = scores[truth][:, None] > scores[~truth][None, :]
    assert micro_auc(csr(truth), scores, tie=0.0) == pytest.approx(pairs.mean(), abs=1e-12)


@given(cases, st.sampled_from([1, 7, 1 << 21]))
def test_sparse_scores_and_many_true_labels_give_the_same_numbers(
    case: tuple[BoolArray, FloatArray], block_cells: int
) -> None:
    truth, scores = case
    # Twenty labels more per true label, so that rows are sorted instead of compared.
    many = np.repeat(truth, 21, axis=1), np.repeat(scores, 21, axis=1)
    for each_truth, each_scores in (case, many):
        true, stored = csr(each_truth), sparse.csr_array(each_scores)
        for metric in (ranking_loss, coverage_error, micro_auc):
            by_sparse = metric(true, stored, block_cells=block_cells)
            np.testing.assert_equal(by_sparse, metric(true, each_scores))
    assert ranking_loss(csr(many[0]), many[1]) == pytest.approx(
        sklearn_ranking_loss(*many), abs=1e-12
    )


def test_a_tie_counts_as_a_wrong_pair_in_ranking_loss_and_as_half_in_auc() -> None:
    truth, scores = np.array([[True, False, False]]), np.array([[1.0, 1.0, 0.0]])
    assert ranking_loss(csr(truth), scores) == 0.5
    assert coverage_error(csr(truth), scores) == 2
    assert micro_auc(csr(truth), scores) == 0.75
    assert micro_auc(csr(truth), scores, tie=0.0) == 0.5


@pytest.mark.parametrize("measure", [ranking_loss, coverage_error, micro_auc])
def test_sparse_scores_and_small_blocks_change_nothing(measure: Callable[..., float]) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((50, 20)) < 0.1
    scores = np.where(rng.random((50, 20)) < 0.3, rng.random((50, 20)), 0.0)
    in_blocks = measure(csr(truth), sparse.csr_array(scores), block_cells=60)
    assert in_blocks == pytest.approx(measure(csr(truth), scores), abs=1e-14)
