from dataclasses import replace

import numpy as np
import pytest

from mhpc.data.panel import Panel
from mhpc.methods.voting import Majority
from mhpc.numerics.arrays import dense
from mhpc.rules.threshold import Threshold
from tests.fixtures.build import DAG, Row, panel_of

ROWS: list[Row] = [
    ("p", "ann", "monarda"),
    ("p", "bob", "fuchsia"),
    ("p", "cid", "flower"),
    ("p", "dee", None),
]


def scores(panel: Panel, view: str = "closed") -> dict[str, float]:
    """What is not 0, of the first instance."""
    found = dense(Majority().consolidate(panel).view(view))[0]
    return {k: v for k, v in zip(panel.taxonomy, found.tolist(), strict=True) if v}


def decided(panel: Panel) -> set[str]:
    decision = Threshold().decide(Majority().consolidate(panel), labels_per_answer=0)
    return {panel.taxonomy.labels[k] for k in np.flatnonzero(decision.reason.toarray()[0])}


def test_the_score_is_the_share_that_affirms_a_label_or_one_below_it() -> None:
    assert scores(panel_of(ROWS)) == {
        "plant": 0.75,
        "flower": 0.75,
        "monarda": 0.25,
        "fuchsia": 0.25,
    }


def test_the_specific_view_is_the_share_that_went_no_deeper() -> None:
    assert scores(panel_of(ROWS), "specific") == {"flower": 0.25, "monarda": 0.25, "fuchsia": 0.25}


def test_half_is_not_a_majority() -> None:
    assert decided(panel_of(ROWS)) == {"plant", "flower"}
    assert decided(panel_of([("p", "ann", "oak"), ("p", "bob", "monarda")])) == {"plant"}
    assert decided(panel_of([("p", "ann", "oak"), ("p", "bob", "finch")])) == set()


def test_half_sure_votes_count_half() -> None:
    panel = panel_of([("p", "ann", "flower"), ("p", "ann", "monarda", 0.5), ("p", "bob", "flower")])
    assert scores(panel) == {"plant": 1, "flower": 1, "monarda": 0.25}
    assert scores(panel, "specific") == {"flower": 0.75, "monarda": 0.25}


def test_answers_count_by_their_weight() -> None:
    panel = replace(panel_of(ROWS), weight=np.array([3.0, 1.0, 1.0, 0.0]))
    assert scores(panel) == pytest.approx({"plant": 1, "flower": 1, "monarda": 0.6, "fuchsia": 0.2})


def test_who_cannot_speak_about_a_label_is_not_asked() -> None:
    scope = {"bob": ("tree",), "cid": ("tree",)}
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "tree"), ("p", "cid", None)]
    # Only ann knows flowers. Two of three say plant; it is raised to what lies below it.
    assert scores(panel_of(rows, scope=scope)) == {
        "plant": 1,
        "flower": 1,
        "monarda": 1,
        "tree": pytest.approx(1 / 3),
    }


def test_answers_without_weight_are_as_if_never_given_with_scopes_too() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("q", "bob", "oak")]
    panel = replace(panel_of(rows, scope="used"), weight=np.array([0.0, 1.0]))
    assert scores(panel) == {}


def test_two_parents_are_both_affirmed() -> None:
    assert scores(panel_of([("p", "ann", "d")], DAG)) == {"a": 1, "b": 1, "c": 1, "d": 1}
