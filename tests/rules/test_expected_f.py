"""The sets of highest expected F, against all closed sets there are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mhpc
from mhpc.data.hierarchy import propagate_up
from mhpc.data.index import Index
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.numerics.arrays import BoolArray, FloatArray, dense
from mhpc.rules.base import FittedThreshold
from mhpc.rules.expected_f import FittedExpectedF, ProbabilityScale
from tests.fixtures.build import DAG

TREE = build_taxonomy(
    ["leaf", "root", "branch", "twig", "other"],
    [("branch", "root"), ("leaf", "branch"), ("twig", "branch")],
)

BIASES = st.sampled_from([-1.0, 0.0, 1.0])
SCORES = st.lists(st.integers(0, 16), min_size=10, max_size=10)
"""In sixteenths, which are counted as they are."""


def scored(scores: FloatArray, taxonomy: Taxonomy) -> Consolidation:
    instances = Index(tuple(f"x{n}" for n in range(len(scores))))
    return Consolidation(taxonomy, instances, scores, scores, "by hand")


def closed_sets(taxonomy: Taxonomy) -> list[BoolArray]:
    closure = dense(taxonomy.closure)
    sets = [np.array(bits, dtype=bool) for bits in product([0, 1], repeat=len(taxonomy))]
    return [labels for labels in sets if not ((labels.astype(float) @ closure > 0) & ~labels).any()]


def expected(sets: BoolArray, p: FloatArray, cost: float) -> float:
    given = sets.sum() + cost * p.sum()
    return float((1 + cost) * p[sets].sum() / given) if given else 0.0


@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "DAG"])
@given(scores=SCORES, bias=BIASES, wanted=st.sampled_from([0.5, 2.0, 4.0]))
def test_no_closed_sets_have_a_higher_expected_f(
    taxonomy: Taxonomy, scores: list[int], bias: float, wanted: float
) -> None:
    found = scored(np.array(scores).reshape(2, 5) / 16, taxonomy)
    settled = mhpc.ExpectedF(depth_bias=bias).fit(found, labels_per_answer=wanted)
    assert isinstance(settled, FittedThreshold)
    p = dense(
        ProbabilityScale(1.0, settled.parameters["power"]).is_probability(
            dense(found.score), taxonomy
        )
    )
    cost = 2.0**bias
    options = [np.array(pair) for pair in product(closed_sets(taxonomy), repeat=2)]
    best = max(expected(sets, p, cost) for sets in options)
    decided = dense(settled.decide(dense(found.score), dense(found.specific), taxonomy)) > 0
    assert expected(decided, p, cost) == pytest.approx(best, rel=1e-6)
    assert settled.parameters["expected_f"] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "DAG"])
@given(scores=SCORES, bias=BIASES)
def test_no_closed_set_of_an_instance_has_a_higher_one_unless_nothing_may_apply(
    taxonomy: Taxonomy, scores: list[int], bias: float
) -> None:
    settled, cost = FittedExpectedF(ProbabilityScale(1.0, 1.0), bias), 2.0**bias
    score = np.array(scores).reshape(2, 5) / 16
    p = dense(propagate_up(score, taxonomy))
    for row, decided in zip(p, dense(settled.decide(score, score, taxonomy)) > 0, strict=True):
        best = max(expected(labels, row, cost) for labels in closed_sets(taxonomy))
        usual = max(expected(labels, row, 1.0) for labels in closed_sets(taxonomy))
        nothing = np.prod(1 - row[taxonomy.roots])
        if not decided.any():
            assert nothing >= cost * usual * (1 - 1e-6)
        else:
            assert expected(decided, row, cost) == pytest.approx(best, rel=1e-6)
            assert nothing <= cost * usual * (1 + 1e-6)


def test_as_many_labels_are_expected_as_answers_hold() -> None:
    scores = np.random.default_rng(0).random((50, len(TREE)))
    settled = mhpc.ExpectedF().fit(scored(scores, TREE), labels_per_answer=1.5)
    p = dense(propagate_up(scores, TREE)) ** settled.parameters["power"]
    assert p.sum() / 50 == pytest.approx(1.5, rel=1e-3)


def test_a_unanimous_label_is_given_and_a_doubtful_one_is_not() -> None:
    # Raised: root 1, branch 1, twig .2, in all 2.2. With twig F is 2 * 2.2 / (3 + 2.2) = .85,
    # without it 2 * 2 / (2 + 2.2) = .95.
    scores = np.array([[0.0, 0.0, 1.0, 0.2, 0.0]])
    decision = mhpc.ExpectedF().decide(scored(scores, TREE), labels_per_answer=2.2)
    assert decision.labels() == {"x0": ["root", "branch"]}
    assert decision.parameters["power"] == pytest.approx(1, abs=1e-3)
    assert decision.parameters["expected_f"] == pytest.approx(4 / 4.2, abs=1e-3)


def test_who_has_no_label_above_the_common_level_has_none() -> None:
    scores = np.zeros((3, len(TREE)))
    scores[:2, 1], scores[2, 4] = 0.9, 0.1
    decision = mhpc.ExpectedF().decide(scored(scores, TREE), labels_per_answer=0.63)
    assert decision.labels() == {"x0": ["root"], "x1": ["root"], "x2": []}


def test_scores_above_one_are_taken_down_by_the_largest() -> None:
    scores = np.random.default_rng(1).random((20, len(DAG)))
    plain, larger = (
        mhpc.ExpectedF().decide(scored(factor * scores, DAG), labels_per_answer=2)
        for factor in (1 / scores.max(), 8 / scores.max())
    )
    assert plain.labels() == larger.labels()
