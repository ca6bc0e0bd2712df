"""Effects of answers on scores."""

import math

import numpy as np

from mhpc.data.panel import Panel
from mhpc.data.scores import Scores
from mhpc.explanation.effects import leave_one_out
from mhpc.numerics.arrays import dense
from tests.fixtures.build import panel_of, small_panel


def predict_mean(panel: Panel) -> Scores:
    mean = dense(panel.mean("augmented", "answers"))
    return Scores(mean, mean)


def test_an_effect_is_the_score_minus_the_score_without_the_answer() -> None:
    panel = small_panel(seed=3)
    instances = np.array([0, 3, 4, len(panel.instances) - 1])
    effects = leave_one_out(predict_mean, panel, instances)
    part = panel.select_instances(instances)
    assert len(effects) == len(part.instance)
    for answer, row in enumerate(part.instance):
        is_other = np.arange(len(part.instance)) != answer
        without = predict_mean(part.select_answers(is_other)).score[row]
        expected = predict_mean(part).score[row] - without
        np.testing.assert_allclose(effects[answer], expected, atol=1e-12)


def test_effects_beyond_the_limit_are_not_computed() -> None:
    panel = panel_of([("p", f"s{n}", "oak") for n in range(4)])
    effects = leave_one_out(predict_mean, panel, np.array([0]), max_answers=2)
    assert [math.isnan(row[0]) for row in effects] == [False, False, True, True]
