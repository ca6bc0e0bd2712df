"""Labels whose score, or whose probability, is high enough."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mhpc
from mhpc.data.decision import REASONS
from mhpc.data.hierarchy import propagate_up
from mhpc.errors import ParameterError
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.rules.base import Rule
from tests.fixtures.build import DAG, GARDEN
from tests.fixtures.scores import consolidation_of


def test_a_label_comes_with_its_ancestors_and_the_reason_distinguishes_them() -> None:
    scores = np.array([[0.1, 0.2, 0.0, 0.9, 0.0]])
    decision = mhpc.Threshold(threshold=0.5).decide(
        consolidation_of(scores, DAG), labels_per_answer=1
    )
    assert decision.labels() == {"x0": ["a", "b", "c", "d"]}
    assert [REASONS[code] for code in decision.reason.data] == ["implied"] * 3 + ["score"]


def test_a_score_equal_to_the_threshold_is_enough() -> None:
    scores = np.array([[0.5, 0.0, 0.0, 0.0, 0.0]])
    decision = mhpc.Threshold(threshold=0.5).decide(
        consolidation_of(scores, DAG), labels_per_answer=1
    )
    assert decision.labels() == {"x0": ["a"]}
    assert decision.reason.data.tolist() == [1]


def test_the_matched_threshold_gives_as_many_labels_as_sources_do() -> None:
    scores = np.random.default_rng(0).random((40, len(GARDEN)))
    decision = mhpc.Threshold().decide(consolidation_of(scores, GARDEN), labels_per_answer=2.5)
    assert decision.reason.nnz >= 100
    # Ties between a label and the ancestors that get its score can only add a few.
    assert decision.reason.nnz <= 102
    assert decision.parameters["threshold_from"] == "matched"


@pytest.mark.parametrize(
    ("threshold", "of_method", "expected", "origin"),
    [(0.3, 0.6, 0.3, "given"), (None, 0.6, 0.6, "method")],
)
def test_a_given_threshold_comes_before_that_of_the_method(
    threshold: float | None, of_method: float, expected: float, origin: str
) -> None:
    scores = consolidation_of(np.eye(len(DAG)), DAG, threshold=of_method)
    fitted = mhpc.Threshold(threshold=threshold).fit(scores, labels_per_answer=1)
    assert (fitted.threshold, fitted.threshold_from) == (expected, origin)


def test_scores_of_zero_give_no_labels() -> None:
    decision = mhpc.Threshold().decide(consolidation_of(np.zeros((3, 5)), DAG), labels_per_answer=2)
    assert decision.reason.nnz == 0
    assert decision.labels() == {"x0": [], "x1": [], "x2": []}


@given(
    arrays(np.float64, (4, 5), elements=st.floats(0, 1)),
    st.none() | st.floats(0.01, 1),
    st.floats(0, 5),
)
def test_no_set_has_a_child_without_its_ancestors(
    scores: FloatArray, threshold: float | None, labels_per_answer: float
) -> None:
    decision = mhpc.Threshold(threshold=threshold).decide(
        consolidation_of(scores, DAG), labels_per_answer=labels_per_answer
    )
    labels = dense(decision.reason.astype(bool))
    missing = (labels @ dense(DAG.closure) > 0) & (labels == 0)
    assert not missing.any()


def test_a_threshold_of_zero_is_refused() -> None:
    with pytest.raises(ParameterError, match="threshold = 0"):
        mhpc.Threshold(threshold=0)


@pytest.mark.parametrize(
    "rule",
    [mhpc.Threshold(), mhpc.ExpectedF(), mhpc.ExpectedF(over="each"), mhpc.MinProbability()],
    ids=repr,
)
def test_if_no_answer_contains_a_label_no_set_does(rule: Rule) -> None:
    scores = consolidation_of(np.full((3, len(GARDEN)), 1e-7), GARDEN)
    assert not rule.decide(scores, labels_per_answer=0.0).reason.nnz


def test_an_answer_ends_at_the_parent_of_children_that_are_not_probable_enough() -> None:
    position = GARDEN.labels.positions
    scores = np.zeros((2, len(GARDEN)))
    for label, score in {"plant": 1.0, "flower": 0.9, "monarda": 0.45, "fuchsia": 0.4}.items():
        scores[0, position[label]] = score
    scores[1, position["animal"]], scores[1, position["bird"]] = 0.45, 0.3
    # An instance's scores add up to 1.75 on average, so that they are probabilities already.
    decision = mhpc.MinProbability().decide(
        consolidation_of(scores, GARDEN), labels_per_answer=1.75
    )
    assert decision.parameters["power"] == pytest.approx(1, abs=1e-3)
    assert decision.labels() == {"x0": ["plant", "flower"], "x1": []}


def test_a_probability_means_the_same_on_any_scale_of_scores() -> None:
    scores = np.random.default_rng(0).random((100, len(DAG)))
    unscaled, flattened = (
        mhpc.MinProbability(threshold=0.7).decide(
            consolidation_of(scores**power, DAG), labels_per_answer=2
        )
        for power in (1.0, 0.25)
    )
    assert flattened.labels() == unscaled.labels()


def test_odds_of_3_to_1_become_even_if_missing_a_label_costs_3_times_as_much() -> None:
    scores = np.array([[0.8, 0.6, 0.3, 0.2, 0.1]])
    decision = mhpc.MinProbability(threshold=0.75, depth_bias=np.log2(3)).decide(
        consolidation_of(scores, DAG), labels_per_answer=2.0
    )
    assert decision.parameters["threshold"] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("method", ["auto", "channel", "cross-source"])
def test_scores_that_are_probabilities_are_compared_as_they_are(method: str) -> None:
    garden = mhpc.load_garden()
    rule = mhpc.MinProbability(threshold=0.6)
    result = mhpc.consolidate(garden.votes, garden.taxonomy, method=method, rule=rule)
    scores = dense(result.consolidation.score[:])
    probability = propagate_up(scores, result.consolidation.taxonomy)
    chosen = result.decision.reason.toarray() > 0
    assert chosen.any()
    np.testing.assert_array_equal(chosen, probability >= 0.6)
