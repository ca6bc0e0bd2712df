import numpy as np

from mhpc.data.panel import SinglePartition
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.methods.scope import infer_scope, with_inferred_scope
from mhpc.numerics.arrays import dense
from mhpc.read.truth import read_truth
from tests.fixtures.build import GARDEN, panel_of


def rows(count: int) -> list[tuple[str, str, str]]:
    """ann and bob give oak and finch in turn; cid never gives finch."""
    return [
        (f"i{i}", source, "oak" if i % 2 or source == "cid" else "finch")
        for i in range(count)
        for source in ("ann", "bob", "cid")
    ]


def test_a_common_label_that_a_source_never_gives_is_outside_its_scope() -> None:
    panel = with_inferred_scope(panel_of(rows(40)))
    assert panel.scope is not None
    scope = dense(panel.scope)
    cid, finch = panel.sources.positions["cid"], GARDEN.labels.positions["finch"]
    assert scope[cid, finch] == 0
    assert scope[panel.sources.positions["ann"]].all()
    assert scope[cid, GARDEN.labels.positions["oak"]] == 1


def test_few_answers_show_no_scope() -> None:
    assert with_inferred_scope(panel_of(rows(6))).scope is None


def test_gold_labels_show_no_scope() -> None:
    panel = panel_of(rows(40))
    gold = read_truth({"instance": [f"i{i}" for i in range(40)], "label": ["monarda"] * 40})
    with_gold = append_gold_source(panel, encode_truth(gold, GARDEN, panel.instances))
    before, after = (infer_scope(SinglePartition(each)) for each in (panel, with_gold))
    assert before is not None
    assert after is not None
    np.testing.assert_array_equal(dense(after)[:-1], dense(before))
    assert dense(after)[-1].all()


def test_a_declared_scope_is_kept() -> None:
    panel = panel_of(rows(40), scope="used")
    assert with_inferred_scope(panel) is panel


def test_sources_with_scores_need_no_scope() -> None:
    scored = [(*row, 0.9) for row in rows(40)]
    assert with_inferred_scope(panel_of(scored)).scope is None


def test_the_scope_does_not_depend_on_the_partitions() -> None:
    panel = panel_of(rows(40))
    single = infer_scope(SinglePartition(panel))
    divided = infer_scope(SinglePartition(panel, max_instances=7))
    assert single is not None
    np.testing.assert_array_equal(dense(divided), dense(single))


def test_no_scope_is_inferred_beyond_a_number_of_cells() -> None:
    assert infer_scope(SinglePartition(panel_of(rows(40))), max_cells=20) is None


def test_a_label_that_a_source_denies_is_in_its_scope() -> None:
    panel = with_inferred_scope(panel_of(rows(40), denied=[("i0", "cid", "finch")]))
    assert panel.scope is None
    other = with_inferred_scope(panel_of(rows(40), denied=[("i0", "bob", "oak")]))
    assert other.scope is not None
