"""Votes for labels, abstentions and negative votes are told apart."""

from dataclasses import replace

import numpy as np
import pytest

from mhpc.data.denials import Denials
from mhpc.data.index import Index
from mhpc.data.panel import Panel
from mhpc.data.votes import ABSTAINED
from mhpc.encoding.known_sources import KnownSources, align_sources
from mhpc.encoding.panel import encode
from mhpc.encoding.split import split_votes
from mhpc.errors import DataError, MhpcWarning
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, panel_of, votes_of


def denied_labels(panel: Panel) -> list[tuple[str, str, str, float]]:
    denials = panel.denials
    assert isinstance(denials, Denials)
    columns = (denials.instance, denials.source, denials.label, denials.score)
    return [
        (panel.instances[i], panel.sources[s], panel.taxonomy.labels[k], float(score))
        for i, s, k, score in zip(*columns, strict=True)
    ]


def abstentions(panel: Panel) -> list[tuple[str, str]]:
    assert panel.abstained is not None
    pairs = zip(panel.abstained.instance, panel.abstained.source, strict=True)
    return [(panel.instances[i], panel.sources[s]) for i, s in pairs]


def test_votes_for_labels_are_left_as_they_are() -> None:
    votes = votes_of([("p", "ann", "oak"), ("q", "ann", None)])
    given, abstained, denials = split_votes(votes, GARDEN.locate(votes.labels))
    assert given is votes
    assert (abstained, denials) == (None, None)


def test_an_abstention_is_no_answer_but_is_counted() -> None:
    panel = panel_of([("p", "ann", "oak")], abstained=[("p", "bob"), ("q", "bob")])
    assert panel.instances.ids == ("p", "q")
    assert panel.sources.ids == ("ann", "bob")
    assert panel.answers_per_instance.tolist() == [1, 0]
    assert abstentions(panel) == [("p", "bob"), ("q", "bob")]
    assert panel.denials is None


def test_an_abstention_beside_other_votes_counts_for_nothing() -> None:
    panel = panel_of(
        [("p", "ann", "oak"), ("q", "ann", None)],
        denied=[("r", "ann", "oak")],
        abstained=[("p", "ann"), ("q", "ann"), ("r", "ann")],
    )
    assert panel.abstained is None
    assert panel.answers_per_instance.tolist() == [1, 1, 0]


def test_labels_that_stand_for_abstentions_are_no_labels() -> None:
    votes = votes_of([("p", "ann", "unsure"), ("p", "bob", "oak"), ("q", "bob", "unsure")])
    position = np.where(GARDEN.locate(votes.labels) >= 0, GARDEN.locate(votes.labels), ABSTAINED)
    given, abstained, denials = split_votes(votes, position)
    assert [given.labels[k] for k in given.label] == ["oak"]
    assert abstained is not None
    assert list(zip(abstained.instance, abstained.source, strict=True)) == [(0, 0), (1, 1)]
    assert denials is None


def test_an_answer_of_negative_votes_alone_is_no_answer() -> None:
    panel = panel_of(
        [("p", "ann", "oak"), ("p", "bob", "monarda")],
        denied=[("p", "cid", "oak", 0.5), ("p", "bob", "fuchsia")],
    )
    assert panel.answers_per_source.tolist() == [1, 1, 0]
    assert denied_labels(panel) == [("p", "bob", "fuchsia", 1.0), ("p", "cid", "oak", 0.5)]
    assert panel.abstained is None
    assert dense(panel.raw)[1, GARDEN.labels.positions["monarda"]] == 1


def test_repeated_negative_votes_are_one_and_the_surest_counts() -> None:
    names = replace(GARDEN, names=("Plant", *GARDEN.labels.ids[1:]))
    votes = votes_of([], denied=[("p", "ann", "plant", 0.3), ("p", "ann", "Plant", 0.6)])
    assert denied_labels(encode(votes, names)) == [("p", "ann", "plant", 0.6)]


def test_a_negative_vote_without_a_label_or_certainty_says_nothing() -> None:
    panel = panel_of([("p", "ann", "oak")], denied=[("p", "bob", None), ("p", "cid", "oak", 0.0)])
    assert denied_labels(panel) == []
    assert abstentions(panel) == [("p", "bob"), ("p", "cid")]


def test_a_label_that_the_same_answer_gives_cannot_be_denied() -> None:
    with pytest.warns(MhpcWarning, match="2 negative votes.*'ann'.*'p'"):
        panel = panel_of(
            [("p", "ann", "monarda"), ("p", "bob", "oak")],
            denied=[("p", "ann", "flower"), ("p", "ann", "monarda"), ("p", "bob", "finch")],
        )
    assert denied_labels(panel) == [("p", "bob", "finch", 1.0)]


def test_a_denied_label_and_its_ancestors_are_in_the_scope_that_is_used() -> None:
    panel = panel_of(
        [("p", "ann", "oak"), ("p", "bob", "monarda")], denied=[("p", "ann", "flower")],
        scope="used",
    )  # fmt: skip
    assert panel.scope is not None
    ann = dense(panel.scope)[0]
    assert [GARDEN.labels[k] for k in np.flatnonzero(ann)] == ["plant", "flower", "tree", "oak"]


def test_a_denied_label_outside_a_listed_scope_is_refused() -> None:
    with pytest.raises(DataError, match="'finch'"):
        panel_of([("p", "ann", "oak")], denied=[("p", "ann", "finch")], scope={"ann": ("oak",)})


def test_sources_of_an_earlier_run_keep_their_abstentions_and_denials() -> None:
    panel = panel_of([("p", "ann", "oak")], denied=[("p", "bob", "oak")], abstained=[("p", "cid")])
    aligned = align_sources(panel, KnownSources(Index(("cid", "bob", "ann"))))
    assert denied_labels(aligned) == [("p", "bob", "oak", 1.0)]
    assert abstentions(aligned) == [("p", "cid")]
