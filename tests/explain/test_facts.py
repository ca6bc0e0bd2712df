import math

import pytest

import mhpc
from mhpc.explain.sources import source_facts
from tests.build import GARDEN, panel_of


def test_source_facts_tell_coverage_depth_and_agreement() -> None:
    rows = [
        ("p1", "ann", "monarda"),
        ("p1", "bob", "flower"),
        ("p1", "cid", "oak"),
        ("p2", "ann", "finch"),
        ("p2", "dee", None),
    ]
    panel = panel_of(rows)
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(level=0.5).decide(averaged, labels_per_answer=2)
    assert decision.labels() == {
        "p1": ["plant", "flower"],
        "p2": ["animal", "bird", "finch"],
    }
    ann, bob, cid, dee = source_facts(panel, decision)
    assert (ann.answers, ann.coverage, ann.mean_depth) == (2, 1.0, 3.0)
    # plant and flower of three labels, and animal, bird and finch of three.
    assert ann.agreement == pytest.approx(5 / 6)
    assert (bob.mean_depth, bob.agreement) == (2.0, 1.0)
    assert cid.agreement == pytest.approx(1 / 3)
    assert dee.answers == 1
    assert math.isnan(dee.mean_depth)
    assert math.isnan(dee.agreement)


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
