import math

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.profiles import SourceDependence, independent_sources
from mhpc.explanation.sources import count_block, make_profiles, proportion
from tests.fixtures.build import GARDEN, panel_of


def test_source_facts_tell_coverage_depth_and_how_far_the_result_upholds_a_source() -> None:
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
    found = count_block(panel, averaged.score, decision.reason)
    ann, bob, cid, dee = make_profiles(found, panel.sources, independent_sources(4), GARDEN)
    assert (ann.answers, ann.coverage, ann.mean_depth) == (2, 1.0, 3.0)
    assert (ann.accurate.value, ann.vague.value, ann.wrong.value) == (1.0, 0.0, 0.0)
    # Both its labels are upheld, and the result knows both more precisely.
    assert (bob.mean_depth, bob.accurate.value, bob.vague.value) == (2.0, 0.0, 1.0)
    assert (cid.accurate.value, cid.vague.value, cid.wrong.value) == (1.0, 0.0, 0.0)
    assert (cid.independence, cid.nearest_source, cid.dependence) == (1.0, "", 0.0)
    assert dee.answers == 1
    assert math.isnan(dee.mean_depth)
    assert math.isnan(dee.wrong.value)


def test_what_the_result_does_not_have_is_wrong() -> None:
    rows = [("p", who, "oak") for who in ("ann", "bob", "cid")]
    panel = panel_of([*rows, ("p", "dee", "finch")])
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.5).decide(averaged, labels_per_answer=2)
    found = count_block(panel, averaged.score, decision.reason)
    *_, dee = make_profiles(found, panel.sources, independent_sources(4), GARDEN)
    assert (dee.accurate.value, dee.vague.value, dee.wrong.value) == (0.0, 0.0, 1.0)
    # One mistake out of one is everything that it said: no place is worse than the others.
    assert dee.weaknesses == ()


def test_the_nearest_kin_is_named() -> None:
    panel = panel_of([("p", who, "oak") for who in ("ann", "bob", "cid")])
    alike = np.array([[0.0, 0.9, 0.1], [0.9, 0.0, 0.0], [0.1, 0.0, 0.0]])
    averaged = mhpc.SA().consolidate(panel)
    decision = mhpc.Threshold(threshold=0.5).decide(averaged, labels_per_answer=1)
    ann, bob, cid = make_profiles(
        count_block(panel, averaged.score, decision.reason), panel.sources,
        SourceDependence(np.ones(3), sparse.csr_array(alike)), GARDEN,
    )  # fmt: skip
    assert (ann.nearest_source, ann.dependence, bob.nearest_source) == ("bob", 0.9, "ann")
    assert (ann.copy, bob.copy, cid.copy) == ("near-copy", "near-copy", None)
    assert bob.independence == pytest.approx(1 / 1.9)


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_intervals_are_wilsons(part: int, whole: int, low: float, high: float) -> None:
    found = proportion(part, whole)
    assert found.value == part / whole
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_inspection_counts_conflict_depth_silence_and_unknown_labels() -> None:
    votes = mhpc.read_votes(
        [
            {"instance": "p1", "source": "ann", "label": "monarda"},
            {"instance": "p1", "source": "bob", "label": "flower"},
            {"instance": "p2", "source": "ann", "label": "oak"},
            {"instance": "p2", "source": "bob", "label": "finch"},
            {"instance": "p3", "source": "cid", "label": None},
            {"instance": "p3", "source": "ann", "label": "finhc"},
        ]
    )
    facts = mhpc.inspect(votes, GARDEN)
    # Of three instances with two answers only p2 has answers that do not contain each other.
    assert facts.conflict == pytest.approx(1 / 3)
    assert facts.votes_per_level == {2: 1, 3: 3}
    assert facts.silent_sources == ("cid",)
    assert facts.none_answers == 1
    assert [(u.label, u.votes, u.nearest[0]) for u in facts.unknown_labels] == [
        ("finhc", 1, "finch")
    ]
    assert facts.coverage == pytest.approx(6 / 9)
    assert facts.labels_used == 4


def test_conflict_is_undefined_without_two_answers() -> None:
    votes = mhpc.read_votes({"instance": ["x"], "source": ["s"], "label": ["oak"]})
    assert math.isnan(mhpc.inspect(votes, GARDEN).conflict)
