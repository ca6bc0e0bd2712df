import numpy as np
import pytest

from mhpc.data.panel import (
    Panel,
    SinglePartition,
    WithScope,
    dense_blocks,
    hash_ids,
    panel_block,
)
from mhpc.data.votes import EncodedTruth
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, Row, panel_of


def some_panel(instances: int = 25) -> Panel:
    rng = np.random.default_rng(0)
    rows: list[Row] = [
        (f"x{i}", source, str(rng.choice(["a", "b", "d", "e"])))
        for i in range(instances)
        for source in "stu"
        if rng.random() < 0.8
    ]
    return panel_of(rows, DAG, instances=["nobody"])


def said(panel: Panel) -> tuple[FloatArray, int]:
    return panel.occurrences, len(panel.instance)


@pytest.mark.parametrize("instances", [1, 7, 1000])
def test_sums_do_not_depend_on_how_instances_are_divided(
    instances: int,
) -> None:
    panel = some_panel()
    occurrences, answers = SinglePartition(panel, max_instances=instances).sum(said)
    np.testing.assert_allclose(occurrences, panel.occurrences)
    assert answers == len(panel.instance)


def test_blocks_follow_each_other_and_are_small_where_labels_are_many() -> None:
    assert list(dense_blocks(0, 5)) == []
    assert list(dense_blocks(3, 5)) == [slice(0, 3)]
    many = list(dense_blocks(100, 1 << 21))
    assert many[0] == slice(0, 2)
    assert [span.start for span in many[1:]] == [span.stop for span in many[:-1]]


def test_a_part_has_the_answers_to_its_instances_and_all_sources() -> None:
    panel = some_panel()
    at = np.array([2, 3, 11])
    part = panel.select_instances(at)
    assert list(part.instances) == [panel.instances[i] for i in at]
    assert part.sources is panel.sources
    for kind in ("raw", "augmented"):
        np.testing.assert_array_equal(
            dense(part.mean(kind, "answers")),
            dense(panel.mean(kind, "answers"))[at],
        )
    assert panel_block(panel, slice(0, len(panel.instances))) is panel


def test_a_part_knows_what_is_known_of_its_instances() -> None:
    panel = some_panel()
    truth = panel.augmented[:3]
    known = EncodedTruth(np.array([9, 2, 5]), truth, truth)
    part = known.select_instances(np.array([1, 2, 3, 9]))
    assert sorted(part.rows.tolist()) == [1, 3]
    np.testing.assert_array_equal(dense(part.closed), dense(truth[[0, 1]]))


def test_a_sample_depends_on_ids_alone_and_keeps_their_order() -> None:
    panel = some_panel()
    few = SinglePartition(panel).sample(6)
    assert len(few.instances) == 6
    place = panel.instances.locate(few.instances)
    assert (np.diff(place) > 0).all()
    backwards = panel.select_instances(np.arange(10, len(panel.instances)))
    drawn = set(SinglePartition(backwards).sample(6).instances)
    sampling_order = dict(zip(backwards.instances, hash_ids(backwards.instances), strict=True))
    assert drawn == set(sorted(sampling_order, key=sampling_order.__getitem__)[:6])
    assert SinglePartition(panel).sample(1000) is panel


def test_scoped_parts_have_the_scope_in_sums_and_samples() -> None:
    panel = some_panel()
    scope = panel.augmented[:3].astype(bool).astype(float)
    parts = WithScope(SinglePartition(panel), scope)
    (trials,) = parts.sum(trials_of)
    expected = np.bincount(panel.source, minlength=3).astype(float) @ dense(scope)
    np.testing.assert_allclose(trials, expected)
    assert parts.sample(5).scope is scope


def trials_of(panel: Panel) -> tuple[FloatArray]:
    return (panel.answers_per_label,)
