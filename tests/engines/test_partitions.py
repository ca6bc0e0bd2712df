"""Any number of partitions together are the same as actual panel."""

from pathlib import Path

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.votes import LabelPolicy, Policy, Truth, Unknown
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.engines.partitions import (
    PartitionPlan,
    draw_lots,
    join_partitions,
    load_partition,
    make_template,
    plan_partitions,
    select_up_to,
)
from mhpc.errors import DataError, MhpcWarning, UnknownInstanceError, UnknownLabelError
from mhpc.numerics.arrays import Sparse
from mhpc.read.options import ReadOptions
from mhpc.read.partitioned import survey_votes
from tests.fixtures.clusters import write_votes


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    write_votes(tmp_path, instances=60)
    return tmp_path / "votes.csv"


def plan(
    votes: Path,
    *,
    count: int = 5,
    scope: str = "all",
    unknown: Policy = "error",
    gold: Truth | None = None,
) -> PartitionPlan:
    survey = survey_votes(
        str(votes), ReadOptions(), scope=scope, keep=votes.parent / "kept.parquet"
    )
    taxonomy = mhpc.read_taxonomy(votes.parent / "taxonomy.csv")
    return plan_partitions(survey, taxonomy, count=count, unknown=unknown, gold=gold, earlier=None)


def single_panel(votes: Path, *, scope: str = "all", unknown: Policy = "error") -> Panel:
    taxonomy = mhpc.read_taxonomy(votes.parent / "taxonomy.csv")
    return mhpc.encode(mhpc.read_votes(votes, scope=scope), taxonomy, unknown=unknown)


def assert_same(actual: Panel, expected: Panel) -> None:
    assert actual.instances.ids == expected.instances.ids
    assert actual.sources.ids == expected.sources.ids
    assert actual.taxonomy.labels.ids == expected.taxonomy.labels.ids
    assert actual.instance.tolist() == expected.instance.tolist()
    assert actual.source.tolist() == expected.source.tolist()
    assert_equal(actual.raw, expected.raw)
    assert_equal(actual.augmented, expected.augmented)
    assert_equal(actual.scope, expected.scope)
    assert (actual.gold is None) == (expected.gold is None)
    if actual.gold is not None and expected.gold is not None:
        assert actual.gold.rows.tolist() == expected.gold.rows.tolist()
        assert_equal(actual.gold.closed, expected.gold.closed)
    for name in ("abstained", "denials"):
        parts = [getattr(panel, name) for panel in (actual, expected)]
        assert [part is None for part in parts] in ([True, True], [False, False])
        if parts[0] is not None:
            columns = [[column.tolist() for column in vars(part).values()] for part in parts]
            assert columns[0] == columns[1]


def assert_equal(actual: Sparse | None, expected: Sparse | None) -> None:
    assert (actual is None) == (expected is None)
    if actual is not None and expected is not None:
        assert np.array_equal(actual.toarray(), expected.toarray())


@pytest.mark.parametrize("count", [1, 5, 70])
@pytest.mark.parametrize("scope", ["all", "used"])
def test_joined_partitions_are_the_same_as_one_panel(count: int, scope: str, votes: Path) -> None:
    planned = plan(votes, count=count, scope=scope)
    joined = join_partitions([load_partition(planned, index) for index in range(count)])
    assert_same(joined, single_panel(votes, scope=scope))


def test_gold_labels_are_a_source_in_every_partition(votes: Path) -> None:
    gold = mhpc.read_truth({"instance": ["i3", "i5", "i8"], "label": ["a/x/1", "b/y/2", None]})
    planned = plan(votes, gold=gold, count=9)
    parts = [load_partition(planned, index) for index in range(9)]
    assert {part.panel.sources.ids[-1] for part in parts} == {"gold"}
    panel = single_panel(votes)
    expected = append_gold_source(panel, encode_truth(gold, panel.taxonomy, panel.instances))
    assert_same(join_partitions(parts), expected)


def test_gold_labels_of_an_unknown_instance_are_refused_with_the_same_error(votes: Path) -> None:
    gold = mhpc.read_truth({"instance": ["i3", "i600"], "label": ["a/x/1", "b/y/2"]})
    panel = single_panel(votes)
    with pytest.raises(UnknownInstanceError) as expected:
        encode_truth(gold, panel.taxonomy, panel.instances)
    with pytest.raises(UnknownInstanceError) as error:
        plan(votes, gold=gold)
    assert str(error.value) == str(expected.value)


def test_an_unknown_label_is_refused_with_the_same_error(votes: Path) -> None:
    votes.write_text(votes.read_text() + "i3,s1,a/x/9\ni4,s2,z\n")
    with pytest.raises(UnknownLabelError) as expected:
        single_panel(votes)
    with pytest.raises(UnknownLabelError) as error:
        plan(votes)
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize("unknown", ["drop", "graft"])
def test_unknown_labels_are_reported_once(unknown: Unknown, votes: Path) -> None:
    votes.write_text(votes.read_text() + "i3,s99,a/x/9\ni4,s99,z\n")
    with pytest.warns(MhpcWarning, match="2 labels not in the taxonomy") as reported:
        planned = plan(votes, unknown=unknown)
    assert len(reported) == 1
    joined = join_partitions([load_partition(planned, index) for index in range(5)])
    with pytest.warns(MhpcWarning):
        expected = single_panel(votes, unknown=unknown)
    assert_same(joined, expected)


@pytest.mark.parametrize("unknown", ["nearest", "ancestor"])
def test_labels_that_are_almost_right_are_understood_as_in_one_panel(
    unknown: Unknown, votes: Path
) -> None:
    votes.write_text(
        f"{votes.read_text()}i3,s99,A > X > 1\ni4,s99,idk\ni5,s99,None\ni6,s99,a/x/new\n"
        "i7,s99,dunno\n"
    )
    policy = LabelPolicy(unknown, ("dunno",))
    with pytest.warns(MhpcWarning):
        planned = plan(votes, unknown=policy)
    joined = join_partitions([load_partition(planned, index) for index in range(5)])
    with pytest.warns(MhpcWarning):
        expected = single_panel(votes, unknown=policy)
    assert_same(joined, expected)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("size", [1, 17, 59])
def test_a_sample_does_not_depend_on_how_votes_are_divided(
    count: int, size: int, votes: Path
) -> None:
    gold = mhpc.read_truth({"instance": ["i3", "i5"], "label": ["a/x/1", "b/y/2"]})
    planned = plan(votes, gold=gold, count=count)
    parts = [load_partition(planned, index) for index in range(count)]
    lots, first_rows = (
        np.concatenate(arrays) for arrays in zip(*(draw_lots(p, size) for p in parts), strict=True)
    )
    last = np.lexsort((first_rows, lots))[size - 1]
    bound = (int(lots[last]), int(first_rows[last]))
    samples = [select_up_to(part, bound) for part in parts]
    panel = single_panel(votes)
    panel = append_gold_source(panel, encode_truth(gold, panel.taxonomy, panel.instances))
    assert_same(
        join_partitions([sample for sample in samples if sample is not None]),
        SinglePartition(panel).sample(size),
    )


@pytest.mark.parametrize("scope", ["all", "used"])
def test_partitions_have_the_abstentions_and_negative_votes_of_the_panel(
    scope: str, tmp_path: Path
) -> None:
    write_votes(tmp_path, instances=60, denied=0.3)
    votes = tmp_path / "votes.csv"
    # A negative vote without a label says nothing.
    votes.write_text(votes.read_text() + "i3,new,,true\ni60,new,,true\n")
    planned = plan(votes, count=7, scope=scope)
    assert make_template(planned).denials is not None
    parts = [load_partition(planned, index) for index in range(7)]
    expected = single_panel(votes, scope=scope)
    assert expected.abstained is not None
    assert_same(join_partitions(parts), expected)


def test_a_wrong_mark_of_negative_votes_is_refused_with_the_same_error(tmp_path: Path) -> None:
    write_votes(tmp_path, instances=60, denied=0.3)
    votes = tmp_path / "votes.csv"
    votes.write_text(votes.read_text() + "i3,s1,a,perhaps\n")
    with pytest.raises(DataError) as expected:
        single_panel(votes)
    with pytest.raises(DataError) as error:
        plan(votes)
    assert str(error.value) == str(expected.value)
