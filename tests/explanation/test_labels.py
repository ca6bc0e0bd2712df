"""Explanations of labels: stances, vote shares and adjustments."""

import numpy as np
import pytest

import mhpc
from mhpc.data.disagreement import Answer
from mhpc.data.panel import Panel
from mhpc.explanation.disagreement import compute_gains
from mhpc.explanation.labels import ScoredPanel, explain_all
from tests.explanation.slow_twins import answers_about, stance
from tests.fixtures.build import Row, panel_of, small_panel


def score_panel(panel: Panel) -> ScoredPanel:
    average = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.5).decide(average, labels_per_answer=1)
    gain = compute_gains(average.score[:], decision.reason, panel.taxonomy)
    return ScoredPanel(
        panel, average.score, average.specific, decision.reason, gain, None, "not computed"
    )


@pytest.mark.parametrize("seed", range(4))
def test_stances_equal_those_of_the_slow_twin(seed: int) -> None:
    panel = small_panel(seed=seed)
    labels = np.arange(len(panel.taxonomy))
    for row, explanation in enumerate(explain_all(score_panel(panel), labels)):
        for label in explanation.labels:
            position = panel.taxonomy.labels.positions[label.label]
            expected = {
                panel.sources[panel.source[answer]]: stance(panel, answer, position)
                for answer in answers_about(panel, row)
            }
            assert {record.source: record.stance for record in label.stances} == expected


def test_an_explanation_has_answers_stances_and_the_share_of_the_votes() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "flower")]
    panel = panel_of([*rows, ("p", "cid", "fuchsia"), ("p", "dee", None)])
    (explanation,) = explain_all(score_panel(panel), panel.taxonomy.locate(["monarda"]))
    (label,) = explanation.labels
    assert [(record.source, record.stance) for record in label.stances] == [
        ("ann", "direct"), ("bob", "vague"), ("cid", "against"), ("dee", "against"),
    ]  # fmt: skip
    assert (label.vote_share, label.adjustment) == (0.25, 0.0)
    assert (label.disputed, label.chosen) == (True, False)
    assert label.name == "plant > flower > monarda"
    assert explanation.agreed is None
    assert [answer.labels for answer in explanation.answers] == [
        (("monarda", 1.0),), (("flower", 1.0),), (("fuchsia", 1.0),), (),
    ]  # fmt: skip
    assert all(record.effect is None for record in label.stances)


def test_chosen_and_disputed_labels_are_explained_by_default() -> None:
    panel = panel_of([("p", "ann", "monarda"), ("p", "bob", "fuchsia"), ("p", "cid", "fuchsia")])
    (explanation,) = explain_all(score_panel(panel))
    labels = explanation.labels
    assert [label.label for label in labels] == ["plant", "flower", "fuchsia", "monarda"]
    assert [label.chosen for label in labels] == [True, True, True, False]
    assert [label.disputed for label in labels] == [False, False, True, True]


def test_abstentions_and_denied_labels_are_among_the_answers() -> None:
    panel = panel_of(
        [("p", "ann", "fuchsia"), ("p", "bob", "flower")],
        denied=[("p", "bob", "fuchsia"), ("p", "cid", "flower", 0.5), ("q", "ann", "oak")],
        abstained=[("p", "dee"), ("q", "bob")],
    )
    first, second = explain_all(score_panel(panel), panel.taxonomy.locate(["fuchsia"]))
    assert {answer.source: answer for answer in first.answers} == {
        "ann": Answer("ann", (("fuchsia", 1.0),)),
        "bob": Answer("bob", (("flower", 1.0),), denied=(("fuchsia", 1.0),)),
        "cid": Answer("cid", (), denied=(("flower", 0.5),)),
        "dee": Answer("dee", (), abstained=True),
    }
    (label,) = first.labels
    assert {record.source: record.stance for record in label.stances} == {
        "ann": "direct", "bob": "against", "cid": "against",
    }  # fmt: skip
    assert [(answer.source, answer.abstained) for answer in second.answers] == [
        ("ann", False), ("bob", True),
    ]  # fmt: skip
