"""The figures of the benchmark on real data are the metrics of the package."""

import numpy as np
import pytest

import mhpc
from benchmarks.quality.figures import METRICS, InstanceFigures, interval, measure, resample
from mhpc.encoding.gold import encode_truth
from mhpc.metrics.label_sets import compare_label_sets
from mhpc.metrics.scorecard import SET_METRICS


@pytest.fixture(scope="module")
def result_and_figures() -> tuple[mhpc.Result, InstanceFigures]:
    data = mhpc.load_garden()
    result = mhpc.consolidate(data.votes, data.taxonomy, method="majority")
    truth = encode_truth(data.truth, result.panel.taxonomy, result.panel.instances)
    return result, measure(result.consolidation.score, result.decision.reason, truth, result.panel)


@pytest.mark.parametrize("name", ["hierarchical_f", "deepest_accuracy", "exact_match"])
def test_metrics_of_label_sets_equal_those_of_the_package(
    name: str, result_and_figures: tuple[mhpc.Result, InstanceFigures]
) -> None:
    result, figures = result_and_figures
    truth = encode_truth(mhpc.load_garden().truth, result.panel.taxonomy, result.panel.instances)
    sets = compare_label_sets(result.decision.reason, truth, result.panel.taxonomy)
    expected = next(metric for metric in SET_METRICS if metric.name == name).measure(sets)
    assert METRICS[name](np.ones((1, len(figures.true))), figures)[0] == pytest.approx(expected)


def test_the_ranking_loss_equals_that_of_the_package(
    result_and_figures: tuple[mhpc.Result, InstanceFigures],
) -> None:
    result, figures = result_and_figures
    card = mhpc.evaluate(result, mhpc.load_garden().truth)
    expected = next(score.value for score in card.scores if score.metric == "ranking_loss")
    weights = np.ones((1, len(figures.true)))
    assert METRICS["ranking_loss"](weights, figures)[0] == pytest.approx(expected)


def test_a_resample_equals_the_metric_of_the_drawn_instances(
    result_and_figures: tuple[mhpc.Result, InstanceFigures],
) -> None:
    _, figures = result_and_figures
    weights = resample(len(figures.true), 1, seed=3)
    drawn = np.repeat(np.arange(len(figures.true)), weights[1].astype(int))
    repeated = InstanceFigures(**{name: values[drawn] for name, values in vars(figures).items()})
    for metric in METRICS.values():
        expected = metric(np.ones((1, len(drawn))), repeated)
        assert metric(weights[1:], figures) == pytest.approx(expected)


def test_an_interval_contains_most_resamples() -> None:
    value, low, high = interval(np.array([0.5, *np.linspace(0, 1, 1001)]))
    assert (value, low, high) == pytest.approx((0.5, 0.025, 0.975))
