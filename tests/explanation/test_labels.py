import math
import sys

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import Panel
from mhpc.data.scores import Scores
from mhpc.explanation.effects import effects
from mhpc.explanation.labels import ScoredPanel, explanations
from mhpc.numerics.arrays import dense
from tests.explanation.slow_twins import answers_to, stance
from tests.fixtures.build import Row, panel_of, small_panel


def findings(panel: Panel) -> ScoredPanel:
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.5).decide(averaged, labels_per_answer=1)
    return ScoredPanel(
        averaged.score, averaged.specific, decision.reason, 0.5, None, "not asked for"
    )


def mean_views(panel: Panel) -> Scores:
    mean = dense(panel.mean("augmented", "answers"))
    return Scores(mean, mean)


@pytest.mark.parametrize("seed", range(4))
def test_stances_are_those_of_the_slow_twin(seed: int) -> None:
    panel = small_panel(seed=seed)
    every = np.arange(len(panel.taxonomy))
    for i, found in enumerate(explanations(panel, findings(panel), every)):
        for label in found.labels:
            k = panel.taxonomy.labels.positions[label.label]
            expected = {
                panel.sources[panel.source[a]]: stance(panel, a, k) for a in answers_to(panel, i)
            }
            assert {voice.source: voice.stance for voice in label.voices} == expected


def test_an_explanation_tells_who_says_what_and_what_is_added_to_it() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "flower")]
    panel = panel_of([*rows, ("p", "cid", "fuchsia"), ("p", "dee", None)])
    (found,) = explanations(panel, findings(panel), panel.taxonomy.locate(["monarda"]))
    (label,) = found.labels
    assert [(voice.source, voice.stance) for voice in label.voices] == [
        ("ann", "direct"), ("bob", "vague"), ("cid", "against"), ("dee", "against"),
    ]  # fmt: skip
    assert (label.own, label.learnt, label.disputed, label.chosen) == (0.25, 0.0, True, False)
    assert label.name == "plant > flower > monarda"
    assert found.agreed is None
    assert [answer.said for answer in found.answers] == [
        (("monarda", 1.0),), (("flower", 1.0),), (("fuchsia", 1.0),), (),
    ]  # fmt: skip
    assert all(voice.effect is None for voice in label.voices)


def test_unless_asked_labels_chosen_or_in_dispute_are_explained() -> None:
    panel = panel_of([("p", "ann", "monarda"), ("p", "bob", "fuchsia"), ("p", "cid", "fuchsia")])
    (found,) = explanations(panel, findings(panel))
    assert [label.label for label in found.labels] == ["plant", "flower", "fuchsia", "monarda"]
    assert [label.chosen for label in found.labels] == [True, True, True, False]
    assert [label.disputed for label in found.labels] == [False, False, True, True]


def test_an_effect_is_the_score_less_the_score_without_the_answer() -> None:
    panel = small_panel(seed=3)
    some = np.array([0, 3, 4, len(panel.instances) - 1])
    found, part = effects(mean_views, panel, some), panel.select_instances(some)
    assert len(found) == len(part.instance)
    for a, i in enumerate(part.instance):
        left = np.arange(len(part.instance)) != a
        before, after = mean_views(part).score[i], mean_views(part.select_answers(left)).score[i]
        np.testing.assert_allclose(found[a], before - after, atol=1e-12)


def test_effects_of_very_many_answers_are_not_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["mhpc.explanation.effects"], "MOST", 2)
    panel = panel_of([("p", f"s{n}", "oak") for n in range(4)])
    found = effects(mean_views, panel, np.array([0]))
    assert [math.isnan(row[0]) for row in found] == [False, False, True, True]
