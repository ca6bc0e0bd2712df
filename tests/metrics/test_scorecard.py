"""All metrics of a result in one scorecard."""

import pytest

import mhpc
from mhpc.metrics.scorecard import METRICS
from tests.fixtures.build import GARDEN

VOTES = mhpc.read_votes(
    {"instance": ["x", "x", "y"], "source": ["s", "t", "s"], "label": ["monarda", "oak", "bird"]}
)
TRUTH = mhpc.read_truth({"instance": ["x"], "label": ["monarda"]})


def test_only_instances_with_a_known_truth_count() -> None:
    result = mhpc.consolidate(VOTES, GARDEN)
    assert mhpc.evaluate(result, TRUTH).instances == 1


def test_a_scorecard_has_direction_and_ties_of_every_metric() -> None:
    card = mhpc.evaluate(mhpc.consolidate(VOTES, GARDEN), TRUTH, view="specific")
    assert [score.metric for score in card] == [metric.name for metric in METRICS]
    assert {score.metric: score.better for score in card}["micro_auc"] == "higher"
    assert card["coverage_error"] == card.scores[3].value


def test_views_compare_with_different_truths() -> None:
    result = mhpc.consolidate(VOTES, GARDEN, method=mhpc.SA())
    # Raw votes do not contain plant and flower, which only the closed truth does.
    assert mhpc.evaluate(result, TRUTH, view="closed")["coverage_error"] == len(GARDEN)
    assert mhpc.evaluate(result, TRUTH, view="specific")["coverage_error"] == pytest.approx(2)
