"""Profiles of sources: proportions, weaknesses and dependence, and the counts behind them."""

import math

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.panel import panel_block
from mhpc.data.profiles import SourceDependence, Weakness, independent_sources
from mhpc.explanation.sources import (
    add_counts,
    count_block,
    estimate_proportion,
    find_weaknesses,
    make_profiles,
)
from mhpc.steps import profile
from tests.explanation.slow_twins import labels_of_answer, most_specific
from tests.fixtures.build import GARDEN, panel_of, small_panel


def test_a_profile_has_coverage_depth_and_how_far_the_result_confirms_a_source() -> None:
    rows = [
        ("p1", "ann", "monarda"),
        ("p1", "bob", "flower"),
        ("p1", "cid", "oak"),
        ("p2", "ann", "finch"),
        ("p2", "bob", "bird"),
        ("p2", "dee", None),
    ]
    panel = panel_of(rows)
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.3).decide(averaged, labels_per_answer=2)
    assert decision.labels() == {
        "p1": ["plant", "flower", "monarda", "tree", "oak"],
        "p2": ["animal", "bird", "finch"],
    }
    counts = count_block(panel, averaged.score, decision.reason)
    ann, bob, cid, dee = make_profiles(counts, panel.sources, independent_sources(4), GARDEN)
    assert (ann.answers, ann.coverage, ann.mean_depth) == (2, 1.0, 3.0)
    assert (ann.accurate.value, ann.vague.value, ann.wrong.value) == (1.0, 0.0, 0.0)
    # The result has both of its labels, and a more specific one below each.
    assert (bob.mean_depth, bob.accurate.value, bob.vague.value) == (2.0, 0.0, 1.0)
    assert (cid.accurate.value, cid.vague.value, cid.wrong.value) == (1.0, 0.0, 0.0)
    assert (cid.independence, cid.nearest_source, cid.dependence) == (1.0, "", 0.0)
    assert dee.answers == 1
    assert math.isnan(dee.mean_depth)
    assert math.isnan(dee.wrong.value)


def test_a_profile_tells_how_often_a_source_has_exactly_the_label_set() -> None:
    rows = [
        ("p1", "ann", "monarda"),
        ("p1", "ann", "oak"),
        ("p1", "bob", "monarda"),
        ("p1", "cid", "flower"),
        ("p1", "cid", "oak"),
        ("p2", "ann", "oak"),
        ("p2", "bob", "oak"),
        ("p2", "cid", "oak"),
        ("p2", "cid", "finch"),
        ("p3", "ann", None),
        ("p3", "bob", None),
        ("p3", "dee", "finch"),
    ]
    panel = panel_of([*rows, ("p4", "eve", "finch")])
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.5).decide(averaged, labels_per_answer=2)
    assert decision.labels() == {
        "p1": ["plant", "flower", "monarda", "tree", "oak"],
        "p2": ["plant", "tree", "oak"],
        "p3": [],
        "p4": ["animal", "bird", "finch"],
    }
    counts = count_block(panel, averaged.score, decision.reason)
    profiles = make_profiles(counts, panel.sources, independent_sources(5), GARDEN)
    # Bob lacks a label on p1; cid is vague on p1 and has one label too many on p2.
    assert [profile.same_set for profile in profiles] == [1.0, pytest.approx(2 / 3), 0.0, 0.0, 1.0]


@pytest.mark.parametrize("threshold", [0.07, 0.3, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_equal_label_sets_are_those_of_the_slow_twin(seed: int, threshold: float) -> None:
    panel = small_panel(seed=seed)
    average = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=threshold).decide(average, labels_per_answer=1)
    same = np.zeros(len(panel.sources))
    for answer, (instance, source) in enumerate(zip(panel.instance, panel.source, strict=True)):
        given = most_specific(panel, labels_of_answer(panel, answer))
        decided = set(np.flatnonzero(decision.reason[[instance]].toarray()[0]).tolist())
        same[source] += given == most_specific(panel, decided)
    counts = count_block(panel, average.score, decision.reason, even_score=threshold)
    np.testing.assert_array_equal(counts.by_source[5], same)


def test_labels_that_the_result_does_not_have_are_wrong() -> None:
    rows = [("p", source, "oak") for source in ("ann", "bob", "cid")]
    panel = panel_of([*rows, ("p", "dee", "finch")])
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.5).decide(averaged, labels_per_answer=2)
    counts = count_block(panel, averaged.score, decision.reason)
    *_, dee = make_profiles(counts, panel.sources, independent_sources(4), GARDEN)
    assert (dee.accurate.value, dee.vague.value, dee.wrong.value) == (0.0, 0.0, 1.0)
    # It gave one label, which is wrong: no subtree is worse than the others.
    assert dee.weaknesses == ()


def test_the_nearest_source_is_named() -> None:
    panel = panel_of([("p", source, "oak") for source in ("ann", "bob", "cid")])
    dependence = np.array([[0.0, 0.9, 0.1], [0.9, 0.0, 0.0], [0.1, 0.0, 0.0]])
    averaged = mhpc.SA().consolidate(panel)
    decision = mhpc.Threshold(threshold=0.5).decide(averaged, labels_per_answer=1)
    ann, bob, cid = make_profiles(
        count_block(panel, averaged.score, decision.reason), panel.sources,
        SourceDependence(np.ones(3), sparse.csr_array(dependence)), GARDEN,
    )  # fmt: skip
    assert (ann.nearest_source, ann.dependence, bob.nearest_source) == ("bob", 0.9, "ann")
    assert (ann.relation, bob.relation, cid.relation) == ("correlated", "correlated", None)
    assert bob.independence == pytest.approx(1 / 1.9)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_intervals_are_those_of_wilson(
    successes: int, trials: int, low: float, high: float
) -> None:
    proportion = estimate_proportion(successes, trials)
    assert proportion.value == successes / trials
    assert (proportion.low, proportion.high) == pytest.approx((low, high), abs=1e-4)


def label_counts(**counts: int) -> sparse.csr_array:
    row = np.zeros((1, len(GARDEN)))
    for label, count in counts.items():
        row[0, GARDEN.locate([label])[0]] = count
    return sparse.csr_array(row)


def test_a_weakness_is_a_subtree_with_more_errors_than_elsewhere() -> None:
    votes = label_counts(monarda=20, fuchsia=20, oak=50, finch=50)
    rejected = label_counts(monarda=15, fuchsia=14, oak=1)
    (weaknesses,) = find_weaknesses(votes, rejected, GARDEN)
    # Both flowers as one subtree; neither oaks nor the whole taxonomy.
    assert weaknesses == (Weakness("flower", 40, 29),)


def test_the_deepest_label_of_a_chain_with_the_same_errors_is_named() -> None:
    votes, rejected = label_counts(oak=10, finch=30), label_counts(oak=9, finch=1)
    assert find_weaknesses(votes, rejected, GARDEN) == ((Weakness("oak", 10, 9),),)


def test_neither_no_error_nor_a_single_one_is_a_weakness() -> None:
    assert find_weaknesses(label_counts(oak=10), label_counts(), GARDEN) == ((),)
    votes, rejected = label_counts(oak=1, finch=9), label_counts(oak=1, finch=2)
    assert find_weaknesses(votes, rejected, GARDEN) == ((),)


@pytest.mark.parametrize("threshold", [0.07, 0.3, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_counts_of_blocks_add_up(seed: int, threshold: float) -> None:
    panel = small_panel(seed=seed)
    average = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=threshold).decide(average, labels_per_answer=1)
    n_instances = len(panel.instances)
    total, *parts = (
        count_block(
            panel_block(panel, block),
            average.score[block],
            decision.reason[block],
            even_score=threshold,
            limit=5,
        )
        for block in (slice(0, n_instances), *(slice(n, n + 1) for n in range(n_instances)))
    )
    added = add_counts(parts)
    taxonomy = panel.taxonomy
    assert added.disagreements.to_records(taxonomy) == total.disagreements.to_records(taxonomy)
    assert added.disagreements.count == total.disagreements.count
    assert len(added.disagreements.ids) == 5
    for name in ("by_source", "by_label"):
        np.testing.assert_array_equal(getattr(added, name), getattr(total, name))
    for name in ("given", "rejected"):
        assert (getattr(added, name) != getattr(total, name)).nnz == 0


def test_labels_are_counted() -> None:
    panel = panel_of([("p", "ann", "monarda"), ("p", "bob", "fuchsia"), ("q", "ann", "flower")])
    average = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.6).decide(average, labels_per_answer=1)
    votes, supported, chosen, disputed = count_block(panel, average.score, decision.reason).by_label
    labels = GARDEN.locate(["plant", "flower", "monarda", "fuchsia"])
    assert votes[labels].tolist() == [0, 1, 1, 1]
    assert supported[labels].tolist() == [2, 2, 1, 1]
    assert chosen[labels].tolist() == [2, 2, 0, 0]
    assert disputed[labels].tolist() == [0, 0, 1, 1]


def test_abstentions_and_negative_votes_are_counted_by_source() -> None:
    panel = panel_of(
        [("p", "ann", "oak"), ("q", "ann", "oak"), ("q", "bob", "oak")],
        denied=[("p", "bob", "finch"), ("p", "bob", "flower")],
        abstained=[("p", "cid"), ("q", "cid")],
    )
    scores = mhpc.Majority().consolidate(panel)
    decision = mhpc.Threshold(threshold=0.5).decide(scores, labels_per_answer=1)
    profiles = profile(panel, scores, decision)
    assert {each.source: (each.answers, each.abstentions, each.denials) for each in profiles} == {
        "ann": (2, 0, 0), "bob": (1, 0, 2), "cid": (0, 2, 0),
    }  # fmt: skip
