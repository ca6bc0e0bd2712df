"""The features of labels, and the probability that follows from them."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit

from mhpc.data.panel import set_scope
from mhpc.numerics.arrays import dense
from mhpc.selection.stacking import (
    FEATURES,
    WEIGHTS,
    find_given,
    make_features,
    stack,
    weigh_one_truth,
)
from tests.fixtures.build import GARDEN, Row, panel_of

ROWS: list[Row] = [
    ("x", "ann", "monarda"),
    ("x", "bob", "flower"),
    ("y", "ann", "oak"),
    ("y", "bob", None),
]


def test_given_labels_are_those_of_the_answers_with_their_ancestors() -> None:
    panel = panel_of(ROWS)
    given = find_given(panel)
    pairs = zip(given.instance, given.label, strict=True)
    labels = {"x": ("plant", "flower", "monarda"), "y": ("plant", "tree", "oak")}
    expected = {(instance, label) for instance in labels for label in labels[instance]}
    assert {(panel.instances[i], GARDEN.labels[k]) for i, k in pairs} == expected
    assert given.asked.tolist() == [2.0] * 6


def test_a_source_is_asked_about_labels_in_its_scope_only() -> None:
    panel = panel_of(ROWS)
    scope = np.ones((2, len(GARDEN)))
    scope[panel.sources.positions["bob"], GARDEN.labels.positions["monarda"]] = 0
    given = find_given(set_scope(panel, scope=sparse.csr_array(scope)))
    is_monarda = given.label == GARDEN.labels.positions["monarda"]
    assert given.asked[is_monarda].tolist() == [1.0]
    assert set(given.asked[~is_monarda].tolist()) == {2.0}


def test_features_are_log_odds_as_a_slow_loop_computes_them() -> None:
    panel, rng = panel_of(ROWS), np.random.default_rng(0)
    truth, smoothed = rng.random((2, 2, len(GARDEN)))
    popularity = rng.random(len(GARDEN))
    given = find_given(panel)
    features = make_features(
        given, dawid_skene=sparse.csr_array(truth), smoothed=smoothed, popularity=popularity
    )
    for row, i, k, n in zip(features, given.instance, given.label, given.asked, strict=True):
        expected = [
            1.0,
            logit(np.clip(truth[i, k], 0.001, 0.999)) / np.sqrt(n),
            logit(np.clip(smoothed[i, k], 0.005, 0.995)),
            logit(np.clip(popularity[k], 0.001, 0.999)),
        ]
        np.testing.assert_allclose(row, expected)
    np.testing.assert_allclose(stack(features, WEIGHTS), expit(features @ WEIGHTS))


@pytest.mark.parametrize("feature", ["dawid-skene", "mhpc-local"])
def test_more_evidence_never_lowers_the_probability(feature: str) -> None:
    assert WEIGHTS[FEATURES.index(feature)] >= 0


def test_values_at_given_labels_are_the_same_in_sparse_and_dense_matrices() -> None:
    given = find_given(panel_of(ROWS))
    matrix = np.random.default_rng(1).random((2, len(GARDEN)))
    np.testing.assert_array_equal(
        given.values_of(sparse.csr_array(matrix)), given.values_of(matrix)
    )
    values = given.values_of(matrix)
    kept = dense(given.to_matrix(values))
    np.testing.assert_array_equal(kept[given.instance, given.label], values)
    assert np.count_nonzero(kept) == len(values)


def test_one_truth_counts_by_degree() -> None:
    assert weigh_one_truth(1.0) == pytest.approx(0.8)
    assert 0.3 < weigh_one_truth(0.96) < 0.4
    assert weigh_one_truth(0.7) < 0.001
    shares = np.linspace(0, 1, 50)
    assert (np.diff([weigh_one_truth(share) for share in shares]) >= 0).all()
