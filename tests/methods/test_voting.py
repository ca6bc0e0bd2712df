"""Majority, wawa and inat: which answers count for a label, and which against it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.methods.base import BaseMethod, predict_scores
from mhpc.methods.voting import INat, Majority, Wawa
from mhpc.numerics.arrays import dense
from mhpc.rules.threshold import Threshold
from tests.fixtures.build import DAG, GARDEN, Row, panel_of


def scores(method: BaseMethod, panel: Panel, view: str = "closed") -> dict[str, float]:
    """Return the scores of the first instance that are not 0."""
    row = dense(method.consolidate(panel).view(view))[0]
    return {
        label: score for label, score in zip(panel.taxonomy, row.tolist(), strict=True) if score
    }


def decide_labels(method: BaseMethod, panel: Panel) -> set[str]:
    """Return the labels decided for the first instance."""
    decision = Threshold().decide(method.consolidate(panel), labels_per_answer=0)
    return {panel.taxonomy.labels[k] for k in np.flatnonzero(decision.reason.toarray()[0])}


FLOWERS: list[Row] = [
    ("p", "ann", "monarda"),
    ("p", "bob", "fuchsia"),
    ("p", "cid", "flower"),
    ("p", "dee", None),
]


def test_majority_is_the_share_of_answers_with_a_label_or_one_below_it() -> None:
    assert scores(Majority(), panel_of(FLOWERS)) == {
        "plant": 0.75,
        "flower": 0.75,
        "monarda": 0.25,
        "fuchsia": 0.25,
    }


def test_the_specific_view_of_majority_is_the_share_with_nothing_deeper() -> None:
    assert scores(Majority(), panel_of(FLOWERS), "specific") == {
        "flower": 0.25,
        "monarda": 0.25,
        "fuchsia": 0.25,
    }


def test_without_a_hierarchy_both_views_of_majority_are_the_same() -> None:
    flat = build_taxonomy(["a", "b", "c"], [])
    rows: list[Row] = [("x", "s", "a"), ("x", "t", "a"), ("x", "t", "b"), ("x", "u", "c")]
    result = Majority().consolidate(panel_of(rows, flat))
    expected = [[2 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(dense(result.score), expected)
    np.testing.assert_allclose(dense(result.specific), expected)


def test_one_half_is_not_a_majority() -> None:
    assert decide_labels(Majority(), panel_of(FLOWERS)) == {"plant", "flower"}
    assert decide_labels(Majority(), panel_of([("p", "ann", "oak"), ("p", "bob", "monarda")])) == {
        "plant"
    }
    assert (
        decide_labels(Majority(), panel_of([("p", "ann", "oak"), ("p", "bob", "finch")])) == set()
    )


def test_a_score_of_one_half_counts_half_in_a_majority() -> None:
    panel = panel_of([("p", "ann", "flower"), ("p", "ann", "monarda", 0.5), ("p", "bob", "flower")])
    assert scores(Majority(), panel) == {"plant": 1, "flower": 1, "monarda": 0.25}
    assert scores(Majority(), panel, "specific") == {"flower": 0.75, "monarda": 0.25}


def test_majority_counts_answers_by_their_weight() -> None:
    panel = replace(panel_of(FLOWERS), weight=np.array([3.0, 1.0, 1.0, 0.0]))
    assert scores(Majority(), panel) == pytest.approx(
        {"plant": 1, "flower": 1, "monarda": 0.6, "fuchsia": 0.2}
    )


def test_majority_ignores_sources_without_the_label_in_scope() -> None:
    scope = {"bob": ("tree",), "cid": ("tree",)}
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "tree"), ("p", "cid", None)]
    # Only ann has flowers in scope. Two of three give plant; it is raised to what lies below it.
    assert scores(Majority(), panel_of(rows, scope=scope)) == {
        "plant": 1,
        "flower": 1,
        "monarda": 1,
        "tree": pytest.approx(1 / 3),
    }


def test_majority_ignores_answers_of_weight_zero_with_scopes_too() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("q", "bob", "oak")]
    panel = replace(panel_of(rows, scope="used"), weight=np.array([0.0, 1.0]))
    assert scores(Majority(), panel) == {}


def test_majority_counts_an_answer_for_both_parents_of_its_label() -> None:
    assert scores(Majority(), panel_of([("p", "ann", "d")], DAG)) == {
        "a": 1,
        "b": 1,
        "c": 1,
        "d": 1,
    }


FLAT = build_taxonomy(["a", "b", "c"], [])

DISPUTED: list[Row] = [
    ("p", "ann", "monarda"),
    ("p", "bob", "monarda"),
    ("p", "cid", "oak"),
    ("q", "ann", "flower"),
    ("q", "cid", "finch"),
]


def wawa_scores(panel: Panel, **parameters: float) -> dict[tuple[str, str], float]:
    """Return the scores of all instances that are not 0."""
    matrix = dense(Wawa(**parameters).consolidate(panel).score)
    return {
        (instance, label): float(matrix[n, k])
        for n, instance in enumerate(panel.instances)
        for k, label in enumerate(panel.taxonomy)
        if matrix[n, k]
    }


def test_wawa_weights_sources_by_their_agreement_with_the_majority() -> None:
    # p: the majority is plant, flower, monarda: ann and bob agree fully, cid in 1 label of 5.
    # q: nothing has a majority, so that neither agrees: ann 1/2, bob 1, cid 1/10.
    weighted = wawa_scores(panel_of(DISPUTED), prior_answers=0)
    assert weighted["p", "monarda"] == pytest.approx(1.5 / 1.6)
    assert weighted["p", "oak"] == pytest.approx(0.1 / 1.6)
    assert weighted["p", "plant"] == pytest.approx(1)
    assert weighted["q", "flower"] == pytest.approx(0.5 / 0.6)
    assert weighted["q", "finch"] == pytest.approx(0.1 / 0.6)


def test_wawa_shrinks_the_weights_of_sources_with_few_answers() -> None:
    # ann (1 + 1) / (2 + 2), cid (1/5 + 1) / (2 + 2).
    weighted = wawa_scores(panel_of(DISPUTED), prior_answers=1)
    assert weighted["q", "flower"] == pytest.approx(0.5 / (0.5 + 0.3))
    shrunk = wawa_scores(panel_of(DISPUTED), prior_answers=1e12)
    assert shrunk["q", "flower"] == pytest.approx(0.5)


def test_an_empty_answer_agrees_with_an_empty_majority() -> None:
    rows: list[Row] = [("p", "ann", None), ("p", "bob", None), ("q", "ann", "oak")]
    assert wawa_scores(panel_of(rows), prior_answers=0)["q", "oak"] == 1


def test_wawa_compares_a_source_with_the_majority_within_its_scope() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "monarda"), ("p", "cid", "flower")]
    rows += [("q", "ann", "oak"), ("q", "cid", "flower")]
    # cid agrees in 2 labels of 3 and in 1 of 2, ann in 3 of 3 and in 1 of 3.
    assert wawa_scores(panel_of(rows), prior_answers=0)["q", "flower"] == pytest.approx(
        (7 / 12) / (7 / 12 + 2 / 3)
    )
    # cid gave p all labels of its scope, and only ann has oak in scope: cid 3/4, ann 1.
    within = wawa_scores(panel_of(rows, scope={"cid": ("plant", "flower")}), prior_answers=0)
    assert within["q", "flower"] == pytest.approx(0.75 / 1.75)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_without_hierarchy_wawa_is_worker_agreement_with_aggregate(
    data: st.DataObject,
) -> None:
    label = st.sampled_from(sorted(FLAT))
    answers = data.draw(
        st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), label, min_size=1)
    )
    weighted = wawa_scores(
        panel_of([(f"i{i}", f"s{s}", k) for (i, s), k in answers.items()], FLAT), prior_answers=0
    )
    for cell, expected in worker_agreement_with_aggregate(answers).items():
        assert weighted.get(cell, 0) == pytest.approx(expected)


def worker_agreement_with_aggregate(
    answers: dict[tuple[int, int], str],
) -> dict[tuple[str, str], float]:
    """Weight every vote by its source's agreement with the majority, by loops."""
    instances = {i for i, _ in answers}
    counts = {i: Counter(k for (j, _), k in answers.items() if j == i) for i in instances}
    winner = {
        i: next((k for k, n in counted.items() if 2 * n > counted.total()), None)
        for i, counted in counts.items()
    }
    skill = {}
    for source in {s for _, s in answers}:
        own = {i: k for (i, s), k in answers.items() if s == source}
        skill[source] = sum(k == winner[i] for i, k in own.items()) / len(own)
    votes: dict[tuple[int, str], float] = {}
    for (i, s), k in answers.items():
        votes[i, k] = votes.get((i, k), 0.0) + skill[s]
    total = {i: sum(v for (j, _), v in votes.items() if j == i) or 1.0 for i in instances}
    return {(f"i{i}", k): v / total[i] for (i, k), v in votes.items()}


def test_wawa_of_equal_sources_is_the_majority() -> None:
    rows: list[Row] = [(f"p{n}", s, "oak") for n in range(3) for s in ("ann", "bob")]
    panel = panel_of(rows)
    np.testing.assert_allclose(
        dense(Wawa().consolidate(panel).score), dense(Majority().consolidate(panel).score)
    )


def panel_of_labels(labels: Iterable[str | None], taxonomy: Taxonomy = GARDEN) -> Panel:
    """Return a panel of one instance with one answer per label."""
    return panel_of([("p", f"s{n}", label) for n, label in enumerate(labels)], taxonomy)


def test_inat_takes_coarser_answers_as_neutral() -> None:
    panel = panel_of_labels(["monarda", "monarda", "flower", "plant"])
    assert scores(INat(), panel) == {"plant": 1, "flower": 1, "monarda": 1}
    assert scores(INat(), panel, "specific") == {"monarda": 1}
    assert decide_labels(INat(), panel) == {"plant", "flower", "monarda"}


def test_inat_counts_answers_outside_the_branch_against_a_label() -> None:
    panel = panel_of_labels(["monarda", "monarda", "monarda", "oak", "flower"])
    assert scores(INat(), panel) == pytest.approx(
        # oak: one for, four against, and too few.
        {"plant": 1, "flower": 4 / 5, "monarda": 3 / 4, "tree": 2 / 15, "oak": 2 / 15}
    )
    assert decide_labels(INat(), panel) == {"plant", "flower", "monarda"}


def test_two_thirds_are_not_above_the_threshold_of_two_thirds() -> None:
    assert decide_labels(INat(), panel_of_labels(["monarda", "monarda", "fuchsia"])) == {
        "plant",
        "flower",
    }
    assert decide_labels(
        INat(threshold=0.6), panel_of_labels(["monarda", "monarda", "fuchsia"])
    ) == {
        "plant",
        "flower",
        "monarda",
    }


def test_a_single_answer_ranks_labels_but_assigns_none() -> None:
    panel = panel_of_labels(["monarda"])
    assert scores(INat(), panel) == pytest.approx(
        {"plant": 2 / 3, "flower": 2 / 3, "monarda": 2 / 3}
    )
    assert decide_labels(INat(), panel) == set()
    assert decide_labels(INat(min_answers=1), panel) == {"plant", "flower", "monarda"}


def test_none_of_these_counts_against_all_labels() -> None:
    assert scores(INat(), panel_of_labels(["oak", "oak", None])) == pytest.approx(
        {"plant": 2 / 3, "tree": 2 / 3, "oak": 2 / 3}
    )


def test_an_answer_of_several_labels_is_in_a_branch_if_one_of_them_is() -> None:
    rows: list[Row] = [
        ("p", "ann", "oak"),
        ("p", "bob", "oak"),
        ("p", "cid", "tree"),
        ("p", "cid", "fuchsia"),
    ]
    result = scores(INat(), panel_of(rows))
    assert result["oak"] == 1
    assert result["fuchsia"] == pytest.approx(1 / 3 * 2 / 3)


def test_an_answer_with_a_label_and_its_parent_stops_at_the_label() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "flower"), ("p", "bob", "fuchsia")]
    assert scores(INat(min_answers=1), panel_of(rows))["monarda"] == 0.5


def test_the_rest_of_a_score_counts_against_unless_the_answer_stops_above() -> None:
    uncertain: list[Row] = [("p", "ann", "monarda", 0.4)]
    assert scores(INat(min_answers=1), panel_of(uncertain))["monarda"] == pytest.approx(0.4 * 2 / 3)
    certain_of_parent: list[Row] = [*uncertain, ("p", "ann", "flower")]
    result = scores(INat(min_answers=1), panel_of(certain_of_parent))
    assert result["flower"] == 1
    assert result["monarda"] == pytest.approx(2 / 3)


def test_inat_counts_answers_by_their_weight() -> None:
    panel = panel_of_labels(["monarda", "fuchsia", "flower", "oak"])
    panel = replace(panel, weight=np.array([3.0, 0.5, 7.0, 0.0]))
    assert scores(INat(), panel) == pytest.approx(
        {"plant": 1, "flower": 1, "monarda": 3 / 3.5, "fuchsia": 1 / 7 * 2 / 3}
    )


def test_a_source_without_the_label_in_scope_is_not_against_it() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "oak"), ("p", "cid", "flower")]
    scope = {"bob": ("oak",), "cid": ("flower", "fuchsia")}
    result = scores(INat(min_answers=1), panel_of(rows, scope=scope))
    # bob has only trees in scope: nothing is against monarda, and cid, without monarda in scope,
    # is not neutral either. ann alone is against oak.
    assert result["monarda"] == result["flower"] == result["plant"] == 1
    assert result["oak"] == pytest.approx(1 / 2)


DIAMOND = build_taxonomy(
    ["top", "left", "right", "bottom"],
    [("left", "top"), ("right", "top"), ("bottom", "left"), ("bottom", "right")],
)


def test_an_answer_that_names_both_parents_is_neutral_once() -> None:
    rows: list[Row] = [("p", "ann", "bottom"), ("p", "bob", "left"), ("p", "bob", "right")]
    # If bob counted as neutral twice, that would offset cid, who is against.
    result = scores(INat(min_answers=1), panel_of([*rows, ("p", "cid", None)], DIAMOND))
    assert result["bottom"] == 0.5


def test_a_parent_with_more_against_it_is_raised_to_its_child() -> None:
    # The answer "left" is neutral to "bottom" and counts against "right".
    assert scores(INat(min_answers=1), panel_of_labels(["bottom", "left", "left"], DIAMOND)) == {
        "top": 1,
        "left": 1,
        "right": 1,
        "bottom": 1,
    }


def test_in_a_dag_all_labels_above_are_coarser() -> None:
    # d lies below b and c, and c below b: e alone is against d.
    result = scores(INat(), panel_of_labels(["d", "d", "b", "c", "e"], DAG))
    assert result == pytest.approx({"a": 1, "b": 4 / 5, "c": 3 / 4, "d": 2 / 3, "e": 1 / 5 * 2 / 3})


def test_inat_scores_every_instance_by_its_own_answers() -> None:
    labels = ["d", "c", "b", "e", None]
    rows: list[Row] = [(f"p{n}", f"s{m}", labels[n * m % 5]) for n in range(7) for m in range(4)]
    panel = panel_of(rows, DAG, scope="used")
    undivided = INat().consolidate(panel)
    divided = predict_scores(INat(), INat().fit(SinglePartition(panel)), panel, max_instances=2)
    np.testing.assert_array_equal(dense(divided.score), dense(undivided.score))
    np.testing.assert_array_equal(dense(divided.specific), dense(undivided.specific))
