"""The sets with the highest expected F, compared with all closed sets."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mhpc
from mhpc.data.combination import Combination, GoldCalibration
from mhpc.data.hierarchy import propagate_up
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.numerics.arrays import BoolArray, FloatArray, dense
from mhpc.rules.base import FittedThreshold
from mhpc.rules.expected_f import FittedExpectedF
from mhpc.rules.probability import ProbabilityScale
from tests.fixtures.build import DAG
from tests.fixtures.scores import consolidation_of

TREE = build_taxonomy(
    ["leaf", "root", "branch", "twig", "other"],
    [("branch", "root"), ("leaf", "branch"), ("twig", "branch")],
)

DEPTH_BIASES = st.sampled_from([-1.0, 0.0, 1.0])
SIXTEENTHS = st.lists(st.integers(0, 16), min_size=10, max_size=10)
"""Scores of two instances, which are counted without loss."""


def closed_sets(taxonomy: Taxonomy) -> list[BoolArray]:
    """Return all label sets that contain the ancestors of their labels."""
    closure = dense(taxonomy.closure)
    sets = [np.array(bits, dtype=bool) for bits in product([0, 1], repeat=len(taxonomy))]
    return [labels for labels in sets if not ((labels.astype(float) @ closure > 0) & ~labels).any()]


def expected_f(sets: BoolArray, p: FloatArray, cost: float) -> float:
    size = sets.sum() + cost * p.sum()
    return float((1 + cost) * p[sets].sum() / size) if size else 0.0


@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "DAG"])
@given(
    sixteenths=SIXTEENTHS,
    depth_bias=DEPTH_BIASES,
    labels_per_answer=st.sampled_from([0.5, 2.0, 4.0]),
)
def test_no_closed_sets_have_a_higher_expected_f(
    taxonomy: Taxonomy, sixteenths: list[int], depth_bias: float, labels_per_answer: float
) -> None:
    score = np.array(sixteenths).reshape(2, 5) / 16
    fitted = mhpc.ExpectedF(depth_bias=depth_bias).fit(
        consolidation_of(score, taxonomy), labels_per_answer=labels_per_answer
    )
    assert isinstance(fitted, FittedThreshold)
    scale = ProbabilityScale(1.0, fitted.parameters["power"])
    p, cost = dense(scale.probabilities(score, taxonomy)), 2.0**depth_bias
    pairs_of_sets = [np.array(pair) for pair in product(closed_sets(taxonomy), repeat=2)]
    best = max(expected_f(sets, p, cost) for sets in pairs_of_sets)
    decided = dense(fitted.decide(score, score, taxonomy)) > 0
    assert expected_f(decided, p, cost) == pytest.approx(best, rel=1e-6)
    assert fitted.parameters["expected_f"] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("taxonomy", [TREE, DAG], ids=["tree", "DAG"])
@given(sixteenths=SIXTEENTHS, depth_bias=DEPTH_BIASES)
def test_each_instance_gets_its_best_closed_set_unless_probably_nothing_applies(
    taxonomy: Taxonomy, sixteenths: list[int], depth_bias: float
) -> None:
    fitted, cost = FittedExpectedF(ProbabilityScale(1.0, 1.0), depth_bias), 2.0**depth_bias
    score = np.array(sixteenths).reshape(2, 5) / 16
    decided_sets = dense(fitted.decide(score, score, taxonomy)) > 0
    sets = closed_sets(taxonomy)
    for p, decided in zip(dense(propagate_up(score, taxonomy)), decided_sets, strict=True):
        unbiased = max(expected_f(labels, p, 1.0) for labels in sets)
        nothing_applies = np.prod(1 - p[taxonomy.roots])
        if not decided.any():
            assert nothing_applies >= cost * unbiased * (1 - 1e-6)
        else:
            best = max(expected_f(labels, p, cost) for labels in sets)
            assert expected_f(decided, p, cost) == pytest.approx(best, rel=1e-6)
            assert nothing_applies <= cost * unbiased * (1 + 1e-6)


def test_a_unanimous_label_is_given_and_a_doubtful_one_is_not() -> None:
    # Propagated up: root 1, branch 1, twig .2, in all 2.2. With the twig F is
    # 2 * 2.2 / (3 + 2.2) = .85, without it 2 * 2 / (2 + 2.2) = .95.
    scores = np.array([[0.0, 0.0, 1.0, 0.2, 0.0]])
    decision = mhpc.ExpectedF().decide(consolidation_of(scores, TREE), labels_per_answer=2.2)
    assert decision.labels() == {"x0": ["root", "branch"]}
    assert decision.parameters["power"] == pytest.approx(1, abs=1e-3)
    assert decision.parameters["expected_f"] == pytest.approx(4 / 4.2, abs=1e-3)


def test_an_instance_without_a_label_above_the_common_threshold_gets_none() -> None:
    scores = np.zeros((3, len(TREE)))
    scores[:2, 1], scores[2, 4] = 0.9, 0.1
    decision = mhpc.ExpectedF().decide(consolidation_of(scores, TREE), labels_per_answer=0.63)
    assert decision.labels() == {"x0": ["root"], "x1": ["root"], "x2": []}


def test_a_common_factor_above_one_changes_nothing() -> None:
    scores = np.random.default_rng(1).random((20, len(DAG)))
    unscaled, scaled = (
        mhpc.ExpectedF().decide(
            consolidation_of(factor * scores / scores.max(), DAG), labels_per_answer=2
        )
        for factor in (1, 8)
    )
    assert unscaled.labels() == scaled.labels()


def calibrated(*plausible: tuple[float, float]) -> mhpc.Consolidation:
    """Return 50 instances whose probabilities were calibrated on gold: .8 for a, .4 for b.

    `plausible` is that of `GoldCalibration`.
    """
    taxonomy = build_taxonomy(["a", "b"], [])
    scores = consolidation_of(np.tile([0.8, 0.4], (50, 1)), taxonomy)
    gold = GoldCalibration(instances=20, before=0.1, after=0.1, plausible=plausible)
    combination = Combination(
        members=(), single_label_share=0.0, one_truth_weight=0.0, effective_sources=1.0,
        answers_per_instance=1.0, scope="all", gold=gold,
    )  # fmt: skip
    return replace(scores, is_probability=True, combination=combination)


# By the probabilities as they are, F is 2 * .8 / (1 + 1.2) = .73 with a alone, and
# 2 * 1.2 / (2 + 1.2) = .75 with a and b. By log odds that are lower by 1, .6 and .2, a alone has
# the higher F: 2 * .6 / (1 + .8) = .67, against 2 * .8 / (2 + .8) = .57.
LOWER, SAME, HIGHER = (1.0, -1.0), (1.0, 0.0), (1.0, 1.0)


@pytest.mark.parametrize(
    ("plausible", "labels"),
    [
        ((), ["a", "b"]),
        ((LOWER, SAME), ["a", "b"]),
        ((LOWER, SAME, HIGHER), ["a", "b"]),
        ((LOWER, SAME, LOWER), ["a"]),
        ((HIGHER, SAME, LOWER), ["a", "b"]),
        ((HIGHER, LOWER), ["a"]),
    ],
    ids=[
        "without gold", "gold is sure to gain", "so is more", "gold may lose", "so may less",
        "fewer labels are sure to gain",
    ],
)  # fmt: skip
def test_gold_changes_label_sets_only_if_all_plausible_calibrations_gain(
    plausible: tuple[tuple[float, float], ...], labels: list[str]
) -> None:
    decision = mhpc.ExpectedF().decide(calibrated(*plausible), labels_per_answer=1.0)
    assert decision.labels()["x0"] == labels
