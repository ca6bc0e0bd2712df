"""As deep as it is sure."""

import numpy as np
import pytest

import mhpc
from mhpc.data.index import Index
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray
from tests.fixtures.build import DAG, GARDEN


def scored(scores: FloatArray, taxonomy: Taxonomy) -> Consolidation:
    instances = Index(tuple(f"x{n}" for n in range(len(scores))))
    return Consolidation(taxonomy, instances, scores, scores, "by hand")


def test_an_answer_stops_at_the_parent_where_no_child_is_sure_enough() -> None:
    at = GARDEN.labels.positions
    scores = np.zeros((2, len(GARDEN)))
    scores[0, [at["plant"], at["flower"], at["monarda"], at["fuchsia"]]] = 1.0, 0.9, 0.45, 0.4
    scores[1, [at["animal"], at["bird"]]] = 0.45, 0.3
    # The sum of an instance is 1.75 in the mean: scores are what they are.
    decision = mhpc.MinProbability().decide(scored(scores, GARDEN), labels_per_answer=1.75)
    assert decision.parameters["power"] == pytest.approx(1, abs=1e-3)
    assert decision.labels() == {"x0": ["plant", "flower"], "x1": []}


def test_a_level_means_the_same_whatever_scores_are_like() -> None:
    scores = np.random.default_rng(0).random((100, len(DAG)))
    plain, flat = (
        mhpc.MinProbability(threshold=0.7).decide(scored(scores**power, DAG), labels_per_answer=2)
        for power in (1.0, 0.25)
    )
    assert flat.labels() == plain.labels()


def test_odds_of_three_to_one_are_even_ones_where_missing_costs_three_times() -> None:
    scores = np.array([[0.8, 0.6, 0.3, 0.2, 0.1]])
    decision = mhpc.MinProbability(threshold=0.75, depth_bias=np.log2(3)).decide(
        scored(scores, DAG), labels_per_answer=2.0
    )
    assert decision.parameters["threshold"] == pytest.approx(0.5, abs=1e-3)
