"""Partitions: together they are what one panel is, however many they are."""

from pathlib import Path

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.votes import Truth, Unknown
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.engines.partitions import (
    PartitionPlan,
    draw_lots,
    join_partitions,
    load_partition,
    plan_partitions,
    select_up_to,
)
from mhpc.errors import MhpcWarning, UnknownInstanceError, UnknownLabelError
from mhpc.numerics.arrays import Sparse
from mhpc.read.partitioned import survey_votes
from tests.fixtures.clusters import write_votes


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    write_votes(tmp_path, instances=60)
    return tmp_path / "votes.csv"


def partitions(
    votes: Path,
    *,
    count: int = 5,
    scope: str = "all",
    unknown: Unknown = "error",
    gold: Truth | None = None,
) -> PartitionPlan:
    survey = survey_votes(str(votes), columns=None, scope=scope, keep=votes.parent / "kept.parquet")
    taxonomy = mhpc.read_taxonomy(votes.parent / "taxonomy.csv")
    return plan_partitions(survey, taxonomy, count=count, unknown=unknown, gold=gold, earlier=None)


def whole_panel(votes: Path, *, scope: str = "all", unknown: Unknown = "error") -> Panel:
    taxonomy = mhpc.read_taxonomy(votes.parent / "taxonomy.csv")
    return mhpc.encode(mhpc.read_votes(votes, scope=scope), taxonomy, unknown=unknown)


def assert_same(one: Panel, other: Panel) -> None:
    assert one.instances.ids == other.instances.ids
    assert one.sources.ids == other.sources.ids
    assert one.taxonomy.labels.ids == other.taxonomy.labels.ids
    assert one.instance.tolist() == other.instance.tolist()
    assert one.source.tolist() == other.source.tolist()
    assert_equal(one.raw, other.raw)
    assert_equal(one.augmented, other.augmented)
    assert_equal(one.scope, other.scope)
    assert (one.gold is None) == (other.gold is None)
    if one.gold is not None and other.gold is not None:
        assert one.gold.rows.tolist() == other.gold.rows.tolist()
        assert_equal(one.gold.closed, other.gold.closed)


def assert_equal(one: Sparse | None, other: Sparse | None) -> None:
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert np.array_equal(one.toarray(), other.toarray())


@pytest.mark.parametrize("count", [1, 5, 70])
@pytest.mark.parametrize("scope", ["all", "used"])
def test_partitions_together_are_the_panel(count: int, scope: str, votes: Path) -> None:
    whole = partitions(votes, count=count, scope=scope)
    found = join_partitions([load_partition(whole, part) for part in range(count)])
    assert_same(found, whole_panel(votes, scope=scope))


def test_gold_labels_are_a_source_of_every_partition(votes: Path) -> None:
    gold = mhpc.read_truth({"instance": ["i3", "i5", "i8"], "label": ["a/x/1", "b/y/2", None]})
    whole = partitions(votes, gold=gold, count=9)
    found = [load_partition(whole, part) for part in range(9)]
    assert {part.panel.sources.ids[-1] for part in found} == {"gold"}
    panel = whole_panel(votes)
    expected = append_gold_source(panel, encode_truth(gold, panel.taxonomy, panel.instances))
    assert_same(join_partitions(found), expected)


def test_a_known_instance_without_votes_is_refused_as_ever(votes: Path) -> None:
    gold = mhpc.read_truth({"instance": ["i3", "i600"], "label": ["a/x/1", "b/y/2"]})
    panel = whole_panel(votes)
    with pytest.raises(UnknownInstanceError) as expected:
        encode_truth(gold, panel.taxonomy, panel.instances)
    with pytest.raises(UnknownInstanceError) as found:
        partitions(votes, gold=gold)
    assert str(found.value) == str(expected.value)


def test_an_unknown_label_is_refused(votes: Path) -> None:
    votes.write_text(votes.read_text() + "i3,s1,a/x/9\ni4,s2,z\n")
    with pytest.raises(UnknownLabelError) as expected:
        whole_panel(votes)
    with pytest.raises(UnknownLabelError) as found:
        partitions(votes)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("unknown", ["drop", "graft"])
def test_unknown_labels_are_reported_once(unknown: Unknown, votes: Path) -> None:
    votes.write_text(votes.read_text() + "i3,s99,a/x/9\ni4,s99,z\n")
    with pytest.warns(MhpcWarning, match="2 labels not in the taxonomy") as told:
        whole = partitions(votes, unknown=unknown)
    assert len(told) == 1
    found = join_partitions([load_partition(whole, part) for part in range(5)])
    with pytest.warns(MhpcWarning):
        expected = whole_panel(votes, unknown=unknown)
    assert_same(found, expected)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("most", [1, 17, 59])
def test_a_sample_does_not_depend_on_how_votes_are_divided(
    count: int, most: int, votes: Path
) -> None:
    gold = mhpc.read_truth({"instance": ["i3", "i5"], "label": ["a/x/1", "b/y/2"]})
    whole = partitions(votes, gold=gold, count=count)
    parts = [load_partition(whole, part) for part in range(count)]
    lot, first = (
        np.concatenate(each) for each in zip(*(draw_lots(p, most) for p in parts), strict=True)
    )
    at = np.lexsort((first, lot))[most - 1]
    some = [select_up_to(part, (int(lot[at]), int(first[at]))) for part in parts]
    panel = whole_panel(votes)
    panel = append_gold_source(panel, encode_truth(gold, panel.taxonomy, panel.instances))
    assert_same(
        join_partitions([part for part in some if part is not None]),
        SinglePartition(panel).sample(most),
    )
