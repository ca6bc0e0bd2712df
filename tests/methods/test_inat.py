from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mhpc.data import panel as parts
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.methods.voting import INat
from mhpc.numerics.arrays import dense
from mhpc.rules.threshold import Threshold
from tests.fixtures.build import DAG, GARDEN, Row, panel_of


def said(labels: Iterable[str | None], taxonomy: Taxonomy = GARDEN) -> Panel:
    """One instance, an answer of one label each."""
    return panel_of([("p", f"s{n}", label) for n, label in enumerate(labels)], taxonomy)


def scores(panel: Panel, view: str = "closed", **parameters: Any) -> dict[str, float]:
    """What is not 0, of the first instance."""
    found = dense(INat(**parameters).consolidate(panel).view(view))[0]
    return {k: v for k, v in zip(panel.taxonomy, found.tolist(), strict=True) if v}


def decided(panel: Panel, **parameters: Any) -> set[str]:
    consolidation = INat(**parameters).consolidate(panel)
    decision = Threshold().decide(consolidation, labels_per_answer=0)
    return {panel.taxonomy.labels[k] for k in np.flatnonzero(decision.reason.toarray()[0])}


def test_coarser_answers_are_neutral() -> None:
    panel = said(["monarda", "monarda", "flower", "plant"])
    assert scores(panel) == {"plant": 1, "flower": 1, "monarda": 1}
    assert scores(panel, "specific") == {"monarda": 1}
    assert decided(panel) == {"plant", "flower", "monarda"}


def test_answers_outside_the_branch_are_against() -> None:
    panel = said(["monarda", "monarda", "monarda", "oak", "flower"])
    assert scores(panel) == pytest.approx(
        # oak: one for, four against, and too few.
        {"plant": 1, "flower": 4 / 5, "monarda": 3 / 4, "tree": 2 / 15, "oak": 2 / 15}
    )
    assert decided(panel) == {"plant", "flower", "monarda"}


def test_two_thirds_are_not_above_two_thirds() -> None:
    assert decided(said(["monarda", "monarda", "fuchsia"])) == {"plant", "flower"}
    assert decided(said(["monarda", "monarda", "fuchsia"]), share=0.6) == {
        "plant",
        "flower",
        "monarda",
    }


def test_a_single_voice_ranks_but_decides_nothing() -> None:
    panel = said(["monarda"])
    assert scores(panel) == pytest.approx({"plant": 2 / 3, "flower": 2 / 3, "monarda": 2 / 3})
    assert decided(panel) == set()
    assert decided(panel, min_answers=1) == {"plant", "flower", "monarda"}


def test_none_of_these_is_against_all() -> None:
    assert scores(said(["oak", "oak", None])) == pytest.approx(
        {"plant": 2 / 3, "tree": 2 / 3, "oak": 2 / 3}
    )


def test_an_answer_of_several_labels_is_in_a_branch_if_one_of_them_is() -> None:
    rows: list[Row] = [
        ("p", "ann", "oak"),
        ("p", "bob", "oak"),
        ("p", "cid", "tree"),
        ("p", "cid", "fuchsia"),
    ]
    found = scores(panel_of(rows))
    assert found["oak"] == 1
    assert found["fuchsia"] == pytest.approx(1 / 3 * 2 / 3)


def test_an_answer_that_names_label_and_parent_went_to_the_label() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "flower"), ("p", "bob", "fuchsia")]
    assert scores(panel_of(rows), min_answers=1)["monarda"] == 0.5


def test_the_rest_of_a_half_sure_vote_is_against_unless_it_stopped_above() -> None:
    alone: list[Row] = [("p", "ann", "monarda", 0.4)]
    assert scores(panel_of(alone), min_answers=1)["monarda"] == pytest.approx(0.4 * 2 / 3)
    sure_of_the_parent: list[Row] = [*alone, ("p", "ann", "flower")]
    found = scores(panel_of(sure_of_the_parent), min_answers=1)
    assert found["flower"] == 1
    assert found["monarda"] == pytest.approx(2 / 3)


def test_answers_count_by_their_weight() -> None:
    panel = said(["monarda", "fuchsia", "flower", "oak"])
    panel = replace(panel, weight=np.array([3.0, 0.5, 7.0, 0.0]))
    assert scores(panel) == pytest.approx(
        {"plant": 1, "flower": 1, "monarda": 3 / 3.5, "fuchsia": 1 / 7 * 2 / 3}
    )


def test_who_cannot_speak_about_a_label_is_not_against_it() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "oak"), ("p", "cid", "flower")]
    scope = {"bob": ("oak",), "cid": ("flower", "fuchsia")}
    found = scores(panel_of(rows, scope=scope), min_answers=1)
    # bob knows trees only: nothing is against monarda, and cid, who knows no monardas, is not
    # counted as neutral either. ann alone is against oak.
    assert found["monarda"] == found["flower"] == found["plant"] == 1
    assert found["oak"] == pytest.approx(1 / 2)


DIAMOND = build_taxonomy(
    ["top", "left", "right", "bottom"],
    [("left", "top"), ("right", "top"), ("bottom", "left"), ("bottom", "right")],
)


def test_an_answer_that_names_both_parents_is_neutral_once() -> None:
    rows: list[Row] = [("p", "ann", "bottom"), ("p", "bob", "left"), ("p", "bob", "right")]
    # Were bob neutral twice, that would make up for cid, who is against.
    found = scores(panel_of([*rows, ("p", "cid", None)], DIAMOND), min_answers=1)
    assert found["bottom"] == 0.5


def test_a_parent_with_more_against_it_is_raised_to_its_child() -> None:
    # Who says left is neutral to bottom, and against right.
    assert scores(said(["bottom", "left", "left"], DIAMOND), min_answers=1) == {
        "top": 1,
        "left": 1,
        "right": 1,
        "bottom": 1,
    }


def test_in_a_dag_all_labels_above_are_coarser() -> None:
    # d lies below b and c, and c below b: e alone is against d.
    found = scores(said(["d", "d", "b", "c", "e"], DAG))
    assert found == pytest.approx({"a": 1, "b": 4 / 5, "c": 3 / 4, "d": 2 / 3, "e": 1 / 5 * 2 / 3})


def test_instances_are_judged_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = ["d", "c", "b", "e", None]
    rows: list[Row] = [(f"p{n}", f"s{m}", labels[n * m % 5]) for n in range(7) for m in range(4)]
    panel = panel_of(rows, DAG, scope="used")
    whole = INat().consolidate(panel)
    monkeypatch.setattr(parts, "_INSTANCES", 2)
    plan_partitions = INat().consolidate(panel)
    np.testing.assert_array_equal(dense(plan_partitions.score), dense(whole.score))
    np.testing.assert_array_equal(dense(plan_partitions.specific), dense(whole.specific))
