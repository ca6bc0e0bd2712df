"""mhpc.inspect: facts about votes before a run."""

import math

import pytest

import mhpc
from tests.fixtures.build import GARDEN, votes_of


def test_disagreement_depth_silent_sources_and_unknown_labels_are_counted() -> None:
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
    inspection = mhpc.inspect(votes, GARDEN)
    # Of three instances with two answers, only on p2 does no answer include the other.
    assert inspection.disagreement == pytest.approx(1 / 3)
    assert inspection.votes_per_level == {2: 1, 3: 3}
    assert inspection.silent_sources == ("cid",)
    assert inspection.none_answers == 1
    assert [
        (label.label, label.votes, label.nearest[0]) for label in inspection.unknown_labels
    ] == [("finhc", 1, "finch")]
    assert inspection.coverage == pytest.approx(6 / 9)
    assert inspection.labels_used == 4


def test_disagreement_is_undefined_without_two_answers() -> None:
    votes = mhpc.read_votes({"instance": ["x"], "source": ["s"], "label": ["oak"]})
    assert math.isnan(mhpc.inspect(votes, GARDEN).disagreement)


def test_abstentions_and_negative_votes_are_counted_apart_from_votes() -> None:
    votes = votes_of(
        [("p", "ann", "oak"), ("p", "bob", None)],
        denied=[("p", "cid", "oak"), ("p", "cid", "finch")],
        abstained=[("q", "ann"), ("q", "bob"), ("q", "cid")],
    )
    inspection = mhpc.inspect(votes, GARDEN)
    assert (inspection.abstentions, inspection.denials) == (3, 2)
    assert (inspection.answers, inspection.votes, inspection.none_answers) == (2, 1, 1)
