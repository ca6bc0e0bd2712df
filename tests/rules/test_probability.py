"""The scale on which as many labels are expected as sources give."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.data.hierarchy import propagate_up
from mhpc.numerics.arrays import dense
from mhpc.rules.probability import ProbabilityScale, count_scores, fit_scale
from tests.fixtures.build import DAG
from tests.fixtures.scores import consolidation_of


@pytest.mark.parametrize("labels_per_instance", [0.8, 1.5, 4.0])
def test_probabilities_add_up_to_the_expected_labels_per_instance(
    labels_per_instance: float,
) -> None:
    scores = np.random.default_rng(0).random((50, len(DAG)))
    histogram = count_scores(consolidation_of(scores, DAG))
    scale = fit_scale(histogram, labels_per_instance=labels_per_instance)
    p = dense(scale.probabilities(scores, DAG))
    assert p.sum() / 50 == pytest.approx(labels_per_instance, rel=2e-3)


def test_no_label_is_less_probable_than_its_children_sparse_or_dense() -> None:
    scores = np.random.default_rng(0).random((20, len(DAG)))
    scale = ProbabilityScale(1.0, 2.0)
    p = dense(scale.probabilities(scores, DAG))
    parents = DAG.parents.tocoo()
    assert (p[:, parents.col] >= p[:, parents.row]).all()
    np.testing.assert_array_equal(dense(scale.probabilities(sparse.csr_array(scores), DAG)), p)


def test_the_inverse_is_the_score_with_that_probability() -> None:
    scale = ProbabilityScale(4.0, 2.0)
    assert scale.transform(np.array([scale.inverse(0.25)]))[0] == pytest.approx(0.25, rel=1e-6)


@pytest.mark.parametrize("scores", [np.ones((3, 5)), np.zeros((3, 5)), np.full((3, 5), 0.3)])
def test_scores_that_do_not_differ_are_left_as_they_are(scores: np.ndarray) -> None:
    histogram = count_scores(consolidation_of(scores, DAG))
    assert fit_scale(histogram, labels_per_instance=2.0) == ProbabilityScale(1.0, 1.0)


def test_scores_are_counted_after_propagation_and_zeros_are_not() -> None:
    scores = np.zeros((3, len(DAG)))
    scores[:2, DAG.labels.positions["d"]] = 0.5
    histogram = count_scores(consolidation_of(scores, DAG))
    n_counted = int((dense(propagate_up(scores, DAG)) > 0).sum())
    assert histogram.instances == 2
    assert histogram.count.tolist() == [n_counted]
    assert histogram.score[0] == pytest.approx(0.5, rel=1e-3)
