"""Effects of answers on scores."""

import math
from dataclasses import replace

import numpy as np

import mhpc
from mhpc.data.denials import Denials, DenialWeights
from mhpc.data.panel import Panel
from mhpc.data.scores import Scores
from mhpc.encoding.denials import apply_denials
from mhpc.explanation.effects import compute_effects, leave_one_out
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, Row, panel_of, small_panel


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


def test_an_answer_is_left_out_with_its_denials() -> None:
    rows: list[Row] = [("p", "ann", "fuchsia"), ("p", "bob", "flower"), ("q", "ann", "oak")]
    panel = panel_of(rows, denied=[("p", "bob", "fuchsia"), ("p", "cid", "fuchsia")])
    weights = DenialWeights(np.array([1.0, 0.5, 1.5]), 1.0)
    scores = replace(mhpc.Majority().consolidate(panel), denial_weights=weights)
    effects, _ = compute_effects(panel, scores, np.array([0, 1]))
    assert effects is not None
    fuchsia = GARDEN.labels.positions["fuchsia"]

    def score(panel: Panel) -> float:
        lowered = apply_denials(mhpc.Majority().consolidate(panel), panel, weights)
        return float(dense(lowered.score)[0, fuchsia])

    without = [
        panel_of([("p", "bob", "flower")], denied=[("p", "cid", "fuchsia")]),
        replace(
            panel_of([("p", "ann", "fuchsia")], denied=[("p", "cid", "fuchsia")]),
            denials=Denials(np.zeros(1, int), np.array([2]), np.array([fuchsia]), np.ones(1)),
        ),
    ]
    expected = [score(panel) - score(other) for other in without]
    np.testing.assert_allclose(effects[:2, fuchsia], expected)
    assert effects[1, fuchsia] < 0 < effects[0, fuchsia]
