"""Abstentions and denials, selected and joined with the panel that they belong to."""

import numpy as np

from mhpc.data.denials import (
    Abstentions,
    Denials,
    DenialWeights,
    join_parts,
    keep_instances,
    renumber_sources,
)
from mhpc.data.index import UNKNOWN
from mhpc.data.panel import select_labels
from tests.fixtures.build import GARDEN, panel_of

DENIALS = Denials(
    instance=np.array([0, 0, 2]),
    source=np.array([0, 1, 1]),
    label=np.array([3, 2, 8]),
    score=np.array([1.0, 0.5, 0.2]),
)
ABSTAINED = Abstentions(np.array([1, 2]), np.array([0, 0]))


def rows_of(part: Abstentions | Denials | None) -> list[tuple[float, ...]]:
    assert part is not None
    return list(zip(*(column.tolist() for column in vars(part).values()), strict=True))


def test_those_of_some_instances_are_renumbered() -> None:
    assert rows_of(keep_instances(DENIALS, np.array([1, 2]))) == [(1, 1, 8, 0.2)]
    assert rows_of(keep_instances(ABSTAINED, np.array([1, 2]))) == [(0, 0), (1, 0)]
    assert rows_of(keep_instances(DENIALS, np.array([1]))) == []


def test_renumbered_sources_are_in_order() -> None:
    assert rows_of(renumber_sources(DENIALS, np.array([5, 3]))) == [
        (0, 3, 2, 0.5), (0, 5, 3, 1.0), (2, 3, 8, 0.2),
    ]  # fmt: skip


def test_sources_without_a_new_position_are_left_out() -> None:
    assert rows_of(renumber_sources(DENIALS, np.array([0, UNKNOWN]))) == [(0, 0, 3, 1.0)]
    assert renumber_sources(None, np.array([0])) is None


def test_new_sources_have_the_mean_weight() -> None:
    weights = DenialWeights(np.array([1.0, 2.0, 6.0]), 0.5).with_sources(np.array([2, UNKNOWN, 0]))
    assert (weights.source.tolist(), weights.exponent) == ([6.0, 3.0, 1.0], 0.5)


def test_parts_are_joined_in_the_order_of_instances_and_may_be_missing() -> None:
    places = [np.array([2, 0]), np.array([1]), np.array([5, 4, 3])]
    parts = [Abstentions(np.array([0, 1]), np.array([7, 8])), None, ABSTAINED]
    assert rows_of(join_parts(parts, places)) == [(0, 8), (2, 7), (3, 0), (4, 0)]
    assert join_parts([None, None], places[:2]) is None


def test_a_panel_of_some_instances_and_labels_has_their_denials() -> None:
    panel = panel_of(
        [("p", "ann", "oak"), ("q", "ann", "oak")],
        denied=[("p", "bob", "fuchsia"), ("q", "bob", "finch"), ("q", "bob", "fuchsia")],
        abstained=[("q", "cid")],
    )
    part = panel.select_instances(np.array([1]))
    kept = GARDEN.with_ancestors(GARDEN.locate(["fuchsia", "oak"]))
    part = select_labels(part, labels=kept, taxonomy=GARDEN.select(kept))
    fuchsia = part.taxonomy.labels.positions["fuchsia"]
    bob, cid = part.sources.locate(["bob", "cid"])
    assert rows_of(part.denials) == [(0, bob, fuchsia, 1.0)]
    assert rows_of(part.abstained) == [(0, cid)]
    nobody = panel.select_answers(np.zeros(2, dtype=bool))
    assert (nobody.denials, nobody.abstained) == (panel.denials, panel.abstained)
