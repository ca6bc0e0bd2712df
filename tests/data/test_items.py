"""One row per instance: texts joined, best first."""

import math

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.items import ITEM_COLUMNS, join_items, make_items
from mhpc.data.taxonomy import build_taxonomy
from tests.fixtures.build import GARDEN


def scores_of(*rows: dict[str, float]) -> sparse.csr_array:
    labels = [GARDEN.labels.positions[label] for row in rows for label in row]
    ends = np.cumsum([0, *map(len, rows)])
    data = np.array([score for row in rows for score in row.values()])
    return sparse.csr_array((data, labels, ends), shape=(len(rows), len(GARDEN)))


def test_labels_and_paths_are_joined_with_the_highest_score_first() -> None:
    items = make_items(
        Index(("p", "q", "r")),
        GARDEN,
        scores_of({"monarda": 0.5, "oak": 0.75, "finch": 0.5}, {}, {"bird": 0.0}),
        review_priority=np.array([0.1, 0.0, 0.0]),
        sources=np.array([3, 0, 1]),
        agreement=np.array([1.0, np.nan, 0.0]),
    )
    assert items.labels.tolist() == ["oak; monarda; finch", "", "bird"]
    assert items.path.tolist() == [
        "plant > tree > oak; plant > flower > monarda; animal > bird > finch", "", "animal > bird",
    ]  # fmt: skip
    # The lowest score of each; a label with a score of 0 was chosen nevertheless.
    assert items.probability[[0, 2]].tolist() == [0.5, 0.0]
    assert math.isnan(items.probability[1])
    assert tuple(items.columns) == ITEM_COLUMNS
    assert repr(items) == "Items(3 instances)"
    twice = join_items([items, items])
    assert twice.instance.tolist() == ["p", "q", "r"] * 2
    assert twice.sources.tolist() == [3, 0, 1] * 2


def test_paths_of_labels_are_those_of_each_label() -> None:
    taxonomy = build_taxonomy(["a", "b", "c"], [("b", "a"), ("c", "b")], names=["A", "B", ""])
    for _ in range(2):
        paths = taxonomy.paths_of(np.array([2, 0, 2, 1])).tolist()
        assert paths == [taxonomy.path(label) for label in (2, 0, 2, 1)]
    assert taxonomy.names_of(["a", "c", "b"]) == {"a": "A", "c": "", "b": "B"}
    assert GARDEN.names_of(["oak", "bird"]) == {}
