import numpy as np
import pytest

from mhpc.data.panel import Panel
from mhpc.methods.pairs import affirmed_pairs, split_panel
from mhpc.numerics.arrays import dense
from tests.fixtures.build import DAG, Row, panel_of


def random_panel() -> Panel:
    rng = np.random.default_rng(3)
    rows: list[Row] = [
        (
            f"i{i}",
            f"s{s}",
            str(rng.choice(["b", "c", "d", *"ae"[: 2 * (s < 3)]])),
            float(rng.choice([0.5, 1.0])),
        )
        for i in range(12)
        for s in range(4)
        if rng.random() < 0.7
    ]
    return panel_of(rows, DAG, scope={"s3": ("b", "c", "d")}, instances=["unanswered"])


def test_pairs_are_all_affirmed_labels_beside_all_answers_with_the_label_in_scope() -> None:
    panel = random_panel()
    pairs, votes = affirmed_pairs(panel), dense(panel.augmented)
    assert panel.scope is not None
    scope = dense(panel.scope)
    affirmed = np.zeros((len(panel.instances), len(DAG)), dtype=bool)
    for answer, instance in enumerate(panel.instance):
        affirmed[instance] |= votes[answer] > 0
    np.testing.assert_array_equal(np.stack([pairs.instance, pairs.label]), affirmed.nonzero())
    for answer, (instance, source) in enumerate(zip(panel.instance, panel.source, strict=True)):
        is_of_instance = pairs.instance == instance
        np.testing.assert_array_equal(
            dense(pairs.votes)[answer], is_of_instance * votes[answer, pairs.label]
        )
        np.testing.assert_array_equal(
            dense(pairs.asked)[answer], is_of_instance * scope[source, pairs.label]
        )


def test_pairs_are_the_same_by_table_and_by_sorting() -> None:
    by_table, by_sorting = (affirmed_pairs(random_panel(), max_table=cells) for cells in (1000, 0))
    np.testing.assert_array_equal(by_sorting.label, by_table.label)
    np.testing.assert_array_equal(dense(by_sorting.votes), dense(by_table.votes))


@pytest.mark.parametrize("limit", [1, 20, 1000])
def test_blocks_contain_every_instance_once_and_at_most_the_limit(limit: int) -> None:
    panel = random_panel()
    blocks = list(split_panel(panel, limit=limit))
    assert [i for block in blocks for i in block.instances] == list(panel.instances)
    for block in blocks:
        assert len(block.instances) == 1 or affirmed_pairs(block).asked.nnz <= limit
    assert len(blocks) == 1 or limit < 1000


def test_a_panel_without_instances_is_one_empty_block() -> None:
    empty = random_panel().select_answers(np.zeros(len(random_panel().instance), dtype=bool))
    (block,) = split_panel(empty)
    assert affirmed_pairs(block).label.tolist() == []
