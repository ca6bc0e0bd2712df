from functools import partial

import numpy as np
import pytest

from mhpc.data.index import hash_ids
from mhpc.data.panel import (
    Panel,
    SinglePartition,
    TransformedPartitions,
    dense_blocks,
    panel_block,
    set_scope,
)
from mhpc.data.votes import EncodedTruth
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, Row, panel_of


def random_panel(instances: int = 25) -> Panel:
    rng = np.random.default_rng(0)
    rows: list[Row] = [
        (f"x{i}", source, str(rng.choice(["a", "b", "d", "e"])))
        for i in range(instances)
        for source in "stu"
        if rng.random() < 0.8
    ]
    return panel_of(rows, DAG, instances=["nobody"])


def count_votes(panel: Panel) -> tuple[FloatArray, int]:
    return panel.occurrences, len(panel.instance)


@pytest.mark.parametrize("instances", [1, 7, 1000])
def test_sums_do_not_depend_on_how_instances_are_divided(
    instances: int,
) -> None:
    panel = random_panel()
    occurrences, answers = SinglePartition(panel, max_instances=instances).sum(count_votes)
    np.testing.assert_allclose(occurrences, panel.occurrences)
    assert answers == len(panel.instance)


def test_blocks_are_contiguous_and_small_if_there_are_many_labels() -> None:
    assert list(dense_blocks(0, 5)) == []
    assert list(dense_blocks(3, 5)) == [slice(0, 3)]
    blocks = list(dense_blocks(100, 1 << 21))
    assert blocks[0] == slice(0, 2)
    assert [block.start for block in blocks[1:]] == [block.stop for block in blocks[:-1]]


def test_selected_instances_keep_their_answers_and_all_sources() -> None:
    panel = random_panel()
    positions = np.array([2, 3, 11])
    part = panel.select_instances(positions)
    assert list(part.instances) == [panel.instances[i] for i in positions]
    assert part.sources is panel.sources
    for kind in ("raw", "augmented"):
        np.testing.assert_array_equal(
            dense(part.mean(kind, "answers")),
            dense(panel.mean(kind, "answers"))[positions],
        )
    assert panel_block(panel, slice(0, len(panel.instances))) is panel


def test_no_instances_can_be_selected() -> None:
    part = random_panel().select_instances(np.zeros(0, dtype=np.int64))
    assert (len(part.instances), len(part.instance), part.raw.shape[0]) == (0, 0, 0)
    assert dense(part.mean("raw", "answers")).shape == (0, len(part.taxonomy))


def test_selected_instances_keep_their_known_labels() -> None:
    panel = random_panel()
    truth = panel.augmented[:3]
    encoded = EncodedTruth(np.array([9, 2, 5]), truth, truth)
    part = encoded.select_instances(np.array([1, 2, 3, 9]))
    assert sorted(part.rows.tolist()) == [1, 3]
    np.testing.assert_array_equal(dense(part.closed), dense(truth[[0, 1]]))


def test_a_sample_depends_on_ids_alone_and_keeps_the_order() -> None:
    panel = random_panel()
    sample = SinglePartition(panel).sample(6)
    assert len(sample.instances) == 6
    positions = panel.instances.locate(sample.instances)
    assert (np.diff(positions) > 0).all()
    later = panel.select_instances(np.arange(10, len(panel.instances)))
    drawn = set(SinglePartition(later).sample(6).instances)
    sampling_order = dict(zip(later.instances, hash_ids(later.instances), strict=True))
    assert drawn == set(sorted(sampling_order, key=sampling_order.__getitem__)[:6])
    assert SinglePartition(panel).sample(1000) is panel


def test_a_scope_applies_to_sums_and_samples() -> None:
    panel = random_panel()
    scope = panel.augmented[:3].astype(bool).astype(float)
    partitions = TransformedPartitions(SinglePartition(panel), partial(set_scope, scope=scope))
    (trials,) = partitions.sum(count_trials)
    expected = np.bincount(panel.source, minlength=3).astype(float) @ dense(scope)
    np.testing.assert_allclose(trials, expected)
    assert partitions.sample(5).scope is scope


def count_trials(panel: Panel) -> tuple[FloatArray]:
    return (panel.answers_per_label,)
