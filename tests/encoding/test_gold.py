"""A truth is encoded, gold labels are added as a source, and sources are aligned with a run."""

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.index import Index
from mhpc.encoding.gold import append_gold_source, clamp_gold, encode_truth
from mhpc.errors import MhpcWarning, UnknownInstanceError, UnknownLabelError
from mhpc.numerics.arrays import dense
from mhpc.read.truth import read_truth
from tests.fixtures.build import DAG, GARDEN, panel_of

INSTANCES = Index(("x", "y", "z"))


def test_closed_truth_has_all_ancestors_and_specific_only_the_deepest() -> None:
    truth = read_truth({"instance": ["z", "z", "x"], "label": ["b", "c", "e"]})
    encoded = encode_truth(truth, DAG, INSTANCES)
    assert encoded.rows.tolist() == [0, 2]
    assert dense(encoded.closed).tolist() == [[1, 0, 0, 0, 1], [1, 1, 1, 0, 0]]
    assert dense(encoded.specific).tolist() == [[0, 0, 0, 0, 1], [0, 0, 1, 0, 0]]


def test_an_instance_known_to_have_no_label_counts() -> None:
    truth = read_truth({"instance": ["x", "y"], "label": ["e", None]})
    encoded = encode_truth(truth, DAG, INSTANCES)
    assert encoded.rows.tolist() == [0, 1]
    assert encoded.closed[[1]].nnz == 0


def test_a_truth_of_an_unknown_instance_is_refused_or_dropped() -> None:
    truth = read_truth({"instance": ["x", "xx"], "label": ["e", "e"]})
    with pytest.raises(UnknownInstanceError, match="'xx' has no votes"):
        encode_truth(truth, DAG, INSTANCES)
    with pytest.warns(MhpcWarning, match="1 instance without votes"):
        encoded = encode_truth(truth, DAG, INSTANCES, unknown="drop")
    assert encoded.rows.tolist() == [0]


def test_a_truth_that_shares_no_instance_is_refused_whatever_the_policy() -> None:
    truth = read_truth({"instance": ["1"], "label": ["e"]})
    with pytest.raises(UnknownInstanceError, match="none of its instances has votes"):
        encode_truth(truth, DAG, INSTANCES, unknown="drop")


def test_an_unknown_label_in_a_truth_is_refused() -> None:
    truth = read_truth({"instance": ["x"], "label": ["f"]})
    with pytest.raises(UnknownLabelError, match="'f'"):
        encode_truth(truth, DAG, INSTANCES)


@pytest.mark.filterwarnings("ignore::mhpc.errors.MhpcWarning")
def test_an_instance_whose_labels_are_all_dropped_is_dropped() -> None:
    truth = read_truth({"instance": ["x", "y", "z"], "label": ["f", "e", None]})
    encoded = encode_truth(truth, DAG, INSTANCES, unknown="drop")
    assert encoded.rows.tolist() == [1, 2]
    with pytest.raises(UnknownLabelError, match="nothing can be measured"):
        encode_truth(
            read_truth({"instance": ["x"], "label": ["f"]}), DAG, INSTANCES, unknown="drop"
        )


@pytest.mark.filterwarnings("ignore::mhpc.errors.MhpcWarning")
def test_labels_of_a_truth_are_understood_as_those_of_votes_are() -> None:
    truth = read_truth({"instance": ["x", "y", "z"], "label": ["Monarda ", "none", "unknown"]})
    encoded = encode_truth(truth, GARDEN, INSTANCES)
    monarda, flower = (GARDEN.labels.positions[label] for label in ("monarda", "flower"))
    # "none" is an answer, "unknown" is not.
    assert encoded.rows.tolist() == [0, 1]
    assert encoded.specific.nonzero()[1].tolist() == [monarda]
    truth = read_truth({"instance": ["x", "y"], "label": ["monrada", "flower > rose"]})
    nearest = encode_truth(truth, GARDEN, INSTANCES, unknown="nearest")
    assert (nearest.rows.tolist(), nearest.specific.indices.tolist()) == ([0], [monarda])
    ancestor = encode_truth(truth, GARDEN, INSTANCES, unknown="ancestor")
    assert (ancestor.rows.tolist(), ancestor.specific.indices.tolist()) == ([1], [flower])


ROWS = [("x", "ann", "oak"), ("x", "bob", "finch"), ("y", "ann", "flower"), ("z", "bob", "oak")]


def gold_of(panel: mhpc.Panel, **labels: str | None) -> mhpc.Panel:
    truth = read_truth({"instance": list(labels), "label": list(labels.values())})
    return append_gold_source(panel, encode_truth(truth, panel.taxonomy, panel.instances))


def test_gold_is_the_last_source_and_gives_the_gold_labels() -> None:
    panel = gold_of(panel_of(ROWS), x="oak", z="monarda")
    assert panel.sources.ids == ("ann", "bob", "gold")
    gold_rows = np.flatnonzero(panel.is_gold)
    assert [panel.instances[i] for i in panel.instance[gold_rows]] == ["x", "z"]
    oak = GARDEN.labels.positions["oak"]
    assert dense(panel.raw[gold_rows])[0].nonzero()[0].tolist() == [oak]
    assert dense(panel.augmented[gold_rows])[0].sum() == 3
    assert (np.diff(panel.instance) >= 0).all()


def test_a_source_that_is_called_gold_keeps_its_name() -> None:
    panel = gold_of(panel_of([("x", "gold", "oak")]), x="finch")
    assert panel.sources.ids == ("gold", "gold*")


def test_all_labels_are_in_the_scope_of_gold() -> None:
    panel = gold_of(panel_of(ROWS, scope="used"), x="oak")
    assert panel.scope is not None
    assert dense(panel.scope)[-1].all()


def test_instances_with_gold_labels_keep_them_whatever_the_method() -> None:
    panel = gold_of(panel_of(ROWS), x="finch", y=None)
    consolidation = mhpc.SA().consolidate(panel)
    for matrix in (dense(consolidation.score), sparse.csr_array(consolidation.score)):
        fixed = clamp_gold(
            mhpc.Consolidation(GARDEN, panel.instances, matrix, matrix, "sa"), panel.gold
        )
        score, specific = dense(fixed.score), dense(fixed.specific)
        labels = [GARDEN.labels[k] for k in score[0].nonzero()[0]]
        assert labels == ["animal", "bird", "finch"]
        assert specific[0].sum() == 1
        assert score[1].sum() == 0
        np.testing.assert_array_equal(score[2], dense(consolidation.score)[2])


def test_methods_learn_from_gold_labels_which_sources_are_right() -> None:
    # Two against two on every instance: only gold shows which sources are wrong.
    rows = [
        (f"i{i}", source, "oak" if (i % 2 == 0) == (source in "ab") else "finch")
        for i in range(40)
        for source in "abcd"
    ]
    panel = panel_of(rows)
    gold_labels = {f"i{i}": "oak" if i % 2 == 0 else "finch" for i in range(20)}
    consolidation = mhpc.OneTruth().consolidate(gold_of(panel, **gold_labels))
    best = [GARDEN.labels[k] for k in dense(consolidation.specific).argmax(axis=1)]
    right = [
        best[panel.instances.positions[f"i{i}"]] == ("oak" if i % 2 == 0 else "finch")
        for i in range(20, 40)
    ]
    assert all(right)


def test_a_run_with_gold_reports_its_gain() -> None:
    data = mhpc.load_garden()
    names = data.truth.instances.ids[:60]
    is_gold = [i in set(range(60)) for i in data.truth.instance]
    gold = mhpc.Truth(
        instances=data.truth.instances,
        labels=data.truth.labels,
        instance=data.truth.instance[is_gold],
        label=data.truth.label[is_gold],
    )
    result = mhpc.consolidate(data.votes, data.taxonomy, gold=gold)
    combination = result.consolidation.combination
    assert combination is not None
    assert combination.gold is not None
    assert combination.gold.instances == len(names)
    assert combination.gold.after < combination.gold.before
    assert [facts.source for facts in result.sources] == list(data.votes.sources)
    assert mhpc.evaluate(result, gold)["ranking_loss"] == 0.0


def test_one_truth_trusts_gold_labels_against_all_sources() -> None:
    rows = [(f"x{n}", source, "oak") for n in range(4) for source in ("ann", "bob", "cid")]
    panel = gold_of(panel_of(rows), x0="finch")
    specific = dense(mhpc.OneTruth().consolidate(panel).specific)
    labels = GARDEN.labels.positions
    assert specific[0, labels["finch"]] > 0.99
    assert specific[0, labels["oak"]] < 0.01
    assert specific[1, labels["oak"]] > specific[1, labels["finch"]]
