from typing import Any

import numpy as np
import pytest

from mhpc.data.panel import Panel, SinglePartition, TransformedPartitions, select_labels
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.methods.registry import METHODS, make_method
from mhpc.methods.used_labels import put_back_labels, use_labels
from mhpc.model import HOMES
from mhpc.numerics.arrays import dense
from mhpc.system.serialization import read_frozen, write_frozen
from tests.fixtures.build import GARDEN, Row, panel_of

ROWS: list[Row] = [
    ("p1", "ann", "monarda"), ("p1", "bob", "flower"), ("p2", "ann", "oak"), ("p2", "bob", "oak"),
    ("p3", "bob", "tree"), ("p3", "cid", "monarda"), ("p4", "cid", None),
]  # fmt: skip
LIMITS: dict[str, Any] = {"max_used": 0.9, "min_unused": 1}


def large_garden(unused: int = 40) -> Taxonomy:
    """The garden, with unused labels before, between and after its labels."""
    extra = [f"unused {i}" for i in range(unused)]
    labels = [
        *extra[:10],
        *GARDEN.labels.ids[:4],
        *extra[10:20],
        *GARDEN.labels.ids[4:],
        *extra[20:],
    ]
    child, parent = GARDEN.parents.nonzero()
    edges = [(GARDEN.labels[c], GARDEN.labels[p]) for c, p in zip(child, parent, strict=True)]
    return build_taxonomy(labels, [*edges, *((label, "monarda") for label in extra[:5])])


def used_labels(panel: Panel) -> list[str]:
    return [panel.taxonomy.labels[k] for k in np.flatnonzero(panel.occurrences > 0)]


def test_labels_in_use_and_their_ancestors_take_part() -> None:
    panel = panel_of(ROWS, large_garden())
    reduced, labels = use_labels(SinglePartition(panel), **LIMITS)
    assert labels is not None
    assert list(reduced.taxonomy.labels) == used_labels(panel)
    assert set(used_labels(panel)) == {"plant", "flower", "monarda", "tree", "oak"}


@pytest.mark.parametrize(
    "limits", [{"max_used": 0.05, "min_unused": 1}, {"max_used": 0.9, "min_unused": 1000}]
)
def test_all_labels_take_part_if_most_are_in_use_or_few_are_not(limits: dict[str, Any]) -> None:
    partitions = SinglePartition(panel_of(ROWS, large_garden()))
    same, labels = use_labels(partitions, **limits)
    assert same is partitions
    assert labels is None


@pytest.mark.parametrize("name", METHODS)
def test_scores_are_those_of_the_small_taxonomy_and_zero_elsewhere(name: str) -> None:
    panel, method = panel_of(ROWS, large_garden()), make_method(name)
    reduced, labels = use_labels(SinglePartition(panel), **LIMITS)
    assert labels is not None
    small = panel_of(ROWS, panel.taxonomy.select(labels))
    expected = method.fit(SinglePartition(small)).predict(small)
    scores = put_back_labels(method.fit(reduced), labels).predict(panel)
    others = np.setdiff1d(np.arange(len(panel.taxonomy)), labels)
    for view in ("score", "specific"):
        matrix = dense(getattr(scores, view))
        np.testing.assert_allclose(matrix[:, labels], dense(getattr(expected, view)), atol=1e-12)
        assert not matrix[:, others].any()


def test_partitions_elsewhere_are_reduced_in_the_same_way() -> None:
    panel = panel_of(ROWS, large_garden())
    elsewhere = TransformedPartitions(SinglePartition(panel), lambda part: part)
    reduced, labels = use_labels(elsewhere, **LIMITS)
    assert labels is not None
    assert list(reduced.taxonomy.labels) == used_labels(panel)
    (occurrences,) = reduced.sum(lambda part: (part.occurrences,))
    np.testing.assert_array_equal(occurrences, panel.occurrences[labels])


def test_a_label_that_is_new_later_scores_its_share_but_not_above_its_parent() -> None:
    taxonomy, method = large_garden(), make_method("majority")
    panel = panel_of(ROWS, taxonomy)
    reduced, labels = use_labels(SinglePartition(panel), **LIMITS)
    assert labels is not None
    fitted = put_back_labels(method.fit(reduced), labels)
    later = panel_of(
        [("q", "ann", "unused 1"), ("q", "bob", "oak"), ("q", "cid", "finch")], taxonomy
    )
    score = dense(fitted.predict(later).score)[0]
    position = taxonomy.labels.positions
    assert score[position["unused 1"]] == pytest.approx(1 / 3)
    assert score[position["unused 1"]] <= score[position["monarda"]]
    # finch is new, and so is bird above it.
    assert score[position["bird"]] == score[position["finch"]] == pytest.approx(1 / 3)


def test_votes_for_other_labels_are_dropped_with_the_labels() -> None:
    panel = panel_of(ROWS)
    labels = GARDEN.with_ancestors(GARDEN.locate(["flower"]))
    small = select_labels(panel, labels=labels, taxonomy=GARDEN.select(labels))
    assert [small.taxonomy.labels[k] for k in small.raw.indices] == ["flower"]
    np.testing.assert_array_equal(small.augmented.toarray(), panel.augmented.toarray()[:, labels])


def test_a_reduced_model_is_saved_and_read(tmp_path: Any) -> None:
    panel, method = panel_of(ROWS, large_garden()), make_method("channel")
    reduced, labels = use_labels(SinglePartition(panel), **LIMITS)
    assert labels is not None
    fitted = put_back_labels(method.fit(reduced), labels)
    write_frozen(tmp_path / "model.npz", fitted)
    again = read_frozen(tmp_path / "model.npz", HOMES)
    np.testing.assert_array_equal(
        dense(again.predict(panel).score), dense(fitted.predict(panel).score)
    )
