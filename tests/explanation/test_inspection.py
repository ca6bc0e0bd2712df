"""mhpc.inspect: facts about votes before a run."""

import math

import pytest

import mhpc
from mhpc.data.votes import Unknown
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
    # An answer of unknown labels says nothing. Of two instances with two answers, only on p2 does
    # no answer include the other.
    assert inspection.disagreement == pytest.approx(1 / 2)
    assert inspection.votes_per_level == {2: 1, 3: 3}
    assert inspection.silent_sources == ("cid",)
    assert inspection.none_answers == 1
    assert [
        (label.label, label.votes, label.nearest[0]) for label in inspection.unknown_labels
    ] == [("finhc", 1, "finch")]
    assert inspection.coverage == pytest.approx(5 / 9)
    assert inspection.labels_used == 4


def test_disagreement_is_undefined_without_two_answers() -> None:
    votes = mhpc.read_votes({"instance": ["x"], "source": ["s"], "label": ["oak"]})
    assert math.isnan(mhpc.inspect(votes, GARDEN).disagreement)


ALMOST_RIGHT = [
    {"instance": "p1", "source": "ann", "label": "Monarda "},
    {"instance": "p2", "source": "ann", "label": "Monarda "},
    {"instance": "p1", "source": "bob", "label": "monrada"},
    {"instance": "p2", "source": "bob", "label": "flower/rose"},
    {"instance": "p1", "source": "cid", "label": "none"},
    {"instance": "p2", "source": "cid", "label": "dunno"},
    {"instance": "p3", "source": "cid", "label": "<b>"},
    {"instance": "p3", "source": "bob", "label": "oak"},
]


def test_labels_that_are_almost_right_are_listed_with_what_they_are_taken_for() -> None:
    inspection = mhpc.inspect(ALMOST_RIGHT, GARDEN, abstain=["dunno"])
    assert [(entry.label, entry.to, entry.how) for entry in inspection.matched_labels] == [
        ("Monarda ", "monarda", "spelling"),
        ("dunno", "abstain", "abstain"),
        ("none", "none of these", "none"),
    ]
    assert [(entry.label, entry.to, entry.how) for entry in inspection.unknown_labels] == [
        ("monrada", "monarda", "nearest"),
        ("flower/rose", "flower", "ancestor"),
        ("<b>", None, None),
    ]
    assert inspection.none_answers == 1
    assert inspection.votes_per_level == {3: 3}
    assert inspection.label_map[0] == ("Monarda ", "monarda", 2, "spelling")
    assert inspection.label_map[-1] == ("<b>", "", 1, "")


@pytest.mark.parametrize(
    ("unknown", "used", "left"),
    [
        ("error", 2, ["monrada", "flower/rose", "dunno", "<b>"]),
        ("graft", 2, ["monrada", "flower/rose", "dunno", "<b>"]),
        ("nearest", 2, ["flower/rose", "dunno", "<b>"]),
        ("ancestor", 3, ["monrada", "dunno", "<b>"]),
    ],
)
def test_an_inspection_counts_what_a_run_with_the_same_policy_would(
    unknown: Unknown, used: int, left: list[str]
) -> None:
    inspection = mhpc.inspect(ALMOST_RIGHT, GARDEN, unknown=unknown)
    assert inspection.labels_used == used
    assert [entry.label for entry in inspection.unknown_labels] == left


def test_an_inspection_in_a_notebook_lists_labels_and_escapes_them() -> None:
    html = mhpc.inspect(ALMOST_RIGHT, GARDEN)._repr_html_()
    assert "<td>Monarda </td><td>monarda</td>" in html
    assert "<td>&lt;b&gt;</td>" in html


def test_abstentions_and_negative_votes_are_counted_apart_from_votes() -> None:
    votes = votes_of(
        [("p", "ann", "oak"), ("p", "bob", None)],
        denied=[("p", "cid", "oak"), ("p", "cid", "finch")],
        abstained=[("q", "ann"), ("q", "bob"), ("q", "cid")],
    )
    inspection = mhpc.inspect(votes, GARDEN)
    assert (inspection.abstentions, inspection.denials) == (3, 2)
    assert (inspection.answers, inspection.votes, inspection.none_answers) == (2, 1, 1)
