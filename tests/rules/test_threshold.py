import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mhpc
from mhpc.data.decision import REASONS
from mhpc.data.index import Index
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import ParameterError
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN


def scored(scores: FloatArray, taxonomy: Taxonomy) -> Consolidation:
    instances = Index(tuple(f"x{n}" for n in range(len(scores))))
    return Consolidation(taxonomy, instances, scores, scores, "by hand")


def test_a_label_brings_its_ancestors_and_says_why() -> None:
    scores = np.array([[0.1, 0.2, 0.0, 0.9, 0.0]])
    decision = mhpc.Threshold(threshold=0.5).decide(scored(scores, DAG), labels_per_answer=1)
    assert decision.labels() == {"x0": ["a", "b", "c", "d"]}
    assert [REASONS[code] for code in decision.reason.data] == ["implied"] * 3 + ["score"]


def test_a_score_right_at_the_level_is_enough() -> None:
    scores = np.array([[0.5, 0.0, 0.0, 0.0, 0.0]])
    decision = mhpc.Threshold(threshold=0.5).decide(scored(scores, DAG), labels_per_answer=1)
    assert decision.labels() == {"x0": ["a"]}
    assert decision.reason.data.tolist() == [1]


def test_the_matched_level_gives_as_many_labels_as_sources_do() -> None:
    scores = np.random.default_rng(0).random((40, len(GARDEN)))
    decision = mhpc.Threshold().decide(scored(scores, GARDEN), labels_per_answer=2.5)
    assert decision.reason.nnz >= 100
    # Ties between a label and the ancestors that it lifts can only add a few.
    assert decision.reason.nnz <= 102
    assert decision.parameters["level_from"] == "matched"


def test_nothing_scored_is_nothing_decided() -> None:
    decision = mhpc.Threshold().decide(scored(np.zeros((3, 5)), DAG), labels_per_answer=2)
    assert decision.reason.nnz == 0
    assert decision.labels() == {"x0": [], "x1": [], "x2": []}


@given(
    arrays(np.float64, (4, 5), elements=st.floats(0, 1)),
    st.none() | st.floats(0.01, 1),
    st.floats(0, 5),
)
def test_no_set_has_a_child_without_its_ancestors(
    scores: FloatArray, level: float | None, wanted: float
) -> None:
    decision = mhpc.Threshold(threshold=level).decide(scored(scores, DAG), labels_per_answer=wanted)
    chosen = dense(decision.reason.astype(bool))
    missing = (chosen @ dense(DAG.closure) > 0) & (chosen == 0)
    assert not missing.any()


def test_a_level_of_zero_is_refused() -> None:
    with pytest.raises(ParameterError, match="level = 0"):
        mhpc.Threshold(threshold=0)


def test_where_no_answer_holds_a_label_no_set_does() -> None:
    scores = np.full((3, len(GARDEN)), 1e-7)
    for rule in (
        mhpc.Threshold(),
        mhpc.ExpectedF(),
        mhpc.ExpectedF(over="each"),
        mhpc.MinProbability(),
    ):
        decision = rule.decide(scored(scores, GARDEN), labels_per_answer=0.0)
        assert not decision.reason.nnz, rule.name
