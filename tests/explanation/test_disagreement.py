"""Disputed labels, and the expected gain of a review."""

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.disagreement import Disagreement
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import build_taxonomy
from mhpc.explanation.disagreement import (
    collect_labels,
    compute_gains,
    find_disputes,
    find_even_score,
)
from mhpc.explanation.sources import count_block
from mhpc.numerics.arrays import dense
from tests.explanation.slow_twins import answers_about, stance
from tests.fixtures.build import Row, panel_of, small_panel

Cells = dict[tuple[str, str], tuple[int, int]]


def disputed_cells(panel: Panel) -> Cells:
    disputes = find_disputes(panel, collect_labels(panel))
    cells = zip(disputes.row, disputes.label, disputes.support, disputes.against, strict=True)
    return {
        (panel.instances[row], panel.taxonomy.labels[label]): (int(support), int(against))
        for row, label, support, against in cells
    }


def slow_disputed_cells(panel: Panel) -> Cells:
    cells = {}
    for row, instance in enumerate(panel.instances):
        for position, label in enumerate(panel.taxonomy.labels):
            stances = [stance(panel, answer, position) for answer in answers_about(panel, row)]
            support = sum(answer_stance in ("direct", "below") for answer_stance in stances)
            against = stances.count("against")
            if support and against:
                cells[instance, label] = (support, against)
    return cells


def rank(panel: Panel, *, threshold: float = 0.5, limit: int = 200) -> tuple[Disagreement, ...]:
    average = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=threshold).decide(average, labels_per_answer=1)
    counts = count_block(panel, average.score, decision.reason, even_score=threshold, limit=limit)
    return counts.disagreements.to_records(panel.taxonomy)


@pytest.mark.parametrize("seed", range(8))
def test_disputes_equal_those_of_the_slow_twin(seed: int) -> None:
    panel = small_panel(seed=seed)
    assert disputed_cells(panel) == slow_disputed_cells(panel)


def test_a_vague_answer_contradicts_nothing_and_a_sibling_does() -> None:
    vague = panel_of([("p", "ann", "flower"), ("p", "bob", "monarda")])
    assert disputed_cells(vague) == {}
    siblings = panel_of([("p", "ann", "fuchsia"), ("p", "bob", "monarda")])
    assert disputed_cells(siblings) == {("p", "monarda"): (1, 1), ("p", "fuchsia"): (1, 1)}


def test_none_of_these_contradicts_every_label() -> None:
    panel = panel_of([("p", "ann", "flower"), ("p", "bob", None)])
    assert disputed_cells(panel) == {("p", "plant"): (1, 1), ("p", "flower"): (1, 1)}


def test_a_label_outside_the_scope_of_a_source_is_not_contradicted_by_it() -> None:
    rows: list[Row] = [
        ("p", "ann", "oak"), ("p", "bob", "finch"), ("q", "bob", "tree"), ("q", "cid", "oak"),
        ("r", "ann", "finch"), ("r", "cid", "oak"), ("r", "dee", "monarda"), ("s", "dee", "finch"),
    ]  # fmt: skip
    panel = panel_of(rows, scope="used")
    assert disputed_cells(panel) == slow_disputed_cells(panel)
    # No other source that answered r has flowers in its scope.
    assert ("r", "monarda") not in disputed_cells(panel)
    assert disputed_cells(panel)["r", "finch"] == (1, 1)


def test_an_answer_that_stops_at_two_ancestors_is_vague_once() -> None:
    taxonomy = build_taxonomy(
        ["top", "left", "right", "both", "other"],
        [("left", "top"), ("right", "top"), ("both", "left"), ("both", "right"), ("other", "top")],
    )
    rows: list[Row] = [("p", "ann", "left"), ("p", "ann", "right"), ("p", "bob", "both")]
    panel = panel_of([*rows, ("p", "cid", "other")], taxonomy)
    assert disputed_cells(panel) == slow_disputed_cells(panel)
    assert disputed_cells(panel)["p", "both"] == (1, 1)


def test_a_source_that_is_vague_because_of_its_scope_does_not_count_as_vague_twice() -> None:
    rows: list[Row] = [("p", "ann", "flower"), ("p", "bob", "monarda"), ("p", "cid", "fuchsia")]
    panel = panel_of(rows, scope={"ann": ("flower",)})
    assert disputed_cells(panel) == slow_disputed_cells(panel)
    assert disputed_cells(panel)["p", "monarda"] == (1, 1)


def slow_gain(p: list[float], chosen: set[int], roots: set[int]) -> float:
    """1 minus the expected F of a label set, label by label."""
    if not chosen:
        none = 1.0
        for root in roots:
            none *= 1 - p[root]
        return 1 - none
    return 1 - 2 * sum(p[k] for k in chosen) / (len(chosen) + sum(p))


@pytest.mark.parametrize("even_score", [0.5, 0.2])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_gain_is_one_minus_the_expected_f_of_the_label_set(
    seed: int, as_sparse: bool, even_score: float
) -> None:
    panel = small_panel(seed=seed)
    average = mhpc.SA(votes="augmented").consolidate(panel)
    reason = mhpc.Threshold(threshold=0.6).decide(average, labels_per_answer=1).reason
    score = dense(average.score[:])
    block = sparse.csr_array(score) if as_sparse else score
    gain = compute_gains(block, reason, panel.taxonomy, even_score=even_score)
    odds = (1 - even_score) / even_score
    for row in range(len(panel.instances)):
        p = [s * odds / (s * odds + 1 - s) for s in score[row]]
        chosen = set(reason[[row]].indices)
        assert gain[row] == pytest.approx(slow_gain(p, chosen, set(panel.taxonomy.roots)))


def test_the_even_score_is_one_half_for_probabilities_and_the_threshold_otherwise() -> None:
    by_f = {"threshold": 0.3, "threshold_from": "expected-f"}
    assert find_even_score({**by_f, "power": 1.0}) == 0.5
    assert find_even_score({**by_f, "power": 2.0}) == 0.3
    assert find_even_score({"threshold": 0.3, "threshold_from": "given"}) == 0.3
    assert find_even_score({"paths": 2}) == 0.5


def test_an_even_split_comes_first_with_the_gain_worked_by_hand() -> None:
    rows: list[Row] = [("even", "ann", "monarda"), ("even", "bob", "fuchsia")]
    rows += [("clear", source, "monarda") for source in ("ann", "bob", "cid", "dee")]
    rows += [("clear", "eve", "fuchsia")]
    even, clear = rank(panel_of(rows))
    # plant and flower for certain, both flowers by half: 2 * 3 / (4 + 3).
    assert even.instance == "even"
    assert even.gain == pytest.approx(1 - 6 / 7)
    assert [(dispute.label, dispute.support, dispute.against) for dispute in even.disputed] == [
        ("monarda", 1, 1),
        ("fuchsia", 1, 1),
    ]
    assert even.agreed == "flower"
    # Four to one: 2 * 2.8 / (3 + 3).
    assert clear.instance == "clear"
    assert clear.gain == pytest.approx(1 - 5.6 / 6)


def test_an_instance_with_an_uncertain_label_is_to_be_reviewed_though_nobody_disagrees() -> None:
    panel = panel_of([("p", "ann", "flower"), ("q", "ann", "oak")])
    score = np.where(np.arange(len(panel.taxonomy)) < 3, [[0.4], [1.0]], 0.0)
    reason = sparse.csr_array((score > 0).astype(float))
    ranking = count_block(panel, score, reason).disagreements
    assert (ranking.ids, ranking.count, ranking.to_review) == (("p",), 0, 1)
    assert ranking.to_records(panel.taxonomy)[0].disputed == ()


def test_vague_and_single_answers_are_not_disputed() -> None:
    rows: list[Row] = [("all vague", source, "plant") for source in ("ann", "bob", "cid")]
    rows += [("one vague", "ann", "animal"), ("vague and precise", "ann", "bird")]
    rows += [("vague and precise", "bob", "finch"), ("dispute", "ann", "oak")]
    rows += [("dispute", "bob", "finch")]
    assert [disagreement.instance for disagreement in rank(panel_of(rows))] == ["dispute"]


def test_a_dispute_high_in_the_taxonomy_has_a_larger_gain_than_one_between_siblings() -> None:
    rows: list[Row] = [("siblings", "ann", "monarda"), ("siblings", "bob", "fuchsia")]
    rows += [("far apart", "ann", "monarda"), ("far apart", "bob", "finch")]
    far_apart, siblings = rank(panel_of(rows))
    assert (far_apart.instance, siblings.instance) == ("far apart", "siblings")
    assert far_apart.agreed is None
    # Six labels by half each: 2 * 3 / (6 + 3), against 1 - 6 / 7.
    assert far_apart.gain == pytest.approx(1 / 3)
    assert siblings.gain == pytest.approx(1 / 7)
    assert [dispute.label for dispute in far_apart.disputed] == ["monarda", "finch"]


def test_an_ancestor_is_listed_if_its_answers_or_the_decision_differ() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "fuchsia"), ("p", "cid", "oak")]
    (case,) = rank(panel_of(rows))
    # The tree has the answers of the oak, the flower has those of both flowers.
    assert {(each.label, each.support, each.against, each.chosen) for each in case.disputed} == {
        ("flower", 2, 1, True), ("monarda", 1, 2, False), ("fuchsia", 1, 2, False),
        ("oak", 1, 2, False),
    }  # fmt: skip
    (case,) = rank(panel_of(rows[1:]), threshold=0.5)
    assert [each.label for each in case.disputed] == ["fuchsia", "oak"]


@pytest.mark.parametrize("seed", range(4))
def test_listed_labels_are_those_that_no_disputed_descendant_repeats(seed: int) -> None:
    panel = small_panel(seed=seed)
    taxonomy, cells = panel.taxonomy, disputed_cells(panel)
    average = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.4).decide(average, labels_per_answer=1)
    label_sets = decision.labels()

    def facts(instance: str, label: str) -> tuple[object, ...]:
        return (*cells[instance, label], label in label_sets[instance])

    expected = {
        (instance, label)
        for instance, label in cells
        if not any(
            other == instance
            and taxonomy.labels.positions[label]
            in taxonomy.ancestors_of(taxonomy.labels.positions[below])
            and facts(instance, below) == facts(instance, label)
            for other, below in cells
        )
    }
    listed = rank(panel, threshold=0.4, limit=len(panel.instances))
    assert {(case.instance, each.label) for case in listed for each in case.disputed} == expected


def test_ties_are_broken_by_id_before_the_limit_applies() -> None:
    rows: list[Row] = [
        (f"p{n}", source, label)
        for n in (5, 2, 4, 1, 3)
        for source, label in (("ann", "monarda"), ("bob", "fuchsia"))
    ]
    assert [disagreement.instance for disagreement in rank(panel_of(rows), limit=2)] == ["p1", "p2"]


def test_a_negative_vote_contradicts_the_label_and_its_descendants() -> None:
    panel = panel_of(
        [("p", "ann", "fuchsia"), ("p", "bob", "flower"), ("q", "ann", "oak")],
        denied=[("p", "cid", "flower"), ("p", "bob", "fuchsia"), ("q", "bob", "finch")],
    )
    # bob is not vague about what he denies.
    assert disputed_cells(panel) == {("p", "flower"): (2, 1), ("p", "fuchsia"): (1, 2)}
    (only,) = rank(panel)
    assert (only.instance, only.agreed) == ("p", "plant")


def test_a_source_that_gives_another_label_contradicts_only_once() -> None:
    panel = panel_of(
        [("p", "ann", "fuchsia"), ("p", "bob", "monarda")], denied=[("p", "bob", "fuchsia")]
    )
    assert disputed_cells(panel) == {("p", "monarda"): (1, 1), ("p", "fuchsia"): (1, 1)}
