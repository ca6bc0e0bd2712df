"""What is known becomes a source, and stays as it is."""

import numpy as np
from scipy import sparse

import mhpc
from mhpc.encoding.gold import add_gold_labels, clamp_gold, encode_truth
from mhpc.numerics.arrays import dense
from mhpc.read.truth import read_truth
from tests.fixtures.build import GARDEN, panel_of

ROWS = [("x", "ann", "oak"), ("x", "bob", "finch"), ("y", "ann", "flower"), ("z", "bob", "oak")]


def gold_of(panel: mhpc.Panel, **labels: str | None) -> mhpc.Panel:
    truth = read_truth({"instance": list(labels), "label": list(labels.values())})
    return add_gold_labels(panel, encode_truth(truth, panel.taxonomy, panel.instances))


def test_gold_is_the_last_source_and_answers_what_is_known() -> None:
    panel = gold_of(panel_of(ROWS), x="oak", z="monarda")
    assert panel.sources.ids == ("ann", "bob", "gold")
    told = np.flatnonzero(panel.is_gold)
    assert [panel.instances[i] for i in panel.instance[told]] == ["x", "z"]
    oak = GARDEN.labels.positions["oak"]
    assert dense(panel.raw[told])[0].nonzero()[0].tolist() == [oak]
    assert dense(panel.augmented[told])[0].sum() == 3
    assert (np.diff(panel.instance) >= 0).all()


def test_a_source_that_is_called_gold_keeps_its_name() -> None:
    panel = gold_of(panel_of([("x", "gold", "oak")]), x="finch")
    assert panel.sources.ids == ("gold", "gold*")


def test_gold_may_speak_about_everything() -> None:
    panel = gold_of(panel_of(ROWS, scope="used"), x="oak")
    assert panel.scope is not None
    assert dense(panel.scope)[-1].all()


def test_known_instances_are_as_they_are_known_whatever_a_method_says() -> None:
    panel = gold_of(panel_of(ROWS), x="finch", y=None)
    found = mhpc.SA().consolidate(panel)
    for matrix in (dense(found.score), sparse.csr_array(found.score)):
        fixed = clamp_gold(
            mhpc.Consolidation(GARDEN, panel.instances, matrix, matrix, "sa"), panel.gold
        )
        score, specific = dense(fixed.score), dense(fixed.specific)
        labels = [GARDEN.labels[k] for k in score[0].nonzero()[0]]
        assert labels == ["animal", "bird", "finch"]
        assert specific[0].sum() == 1
        assert score[1].sum() == 0
        np.testing.assert_array_equal(score[2], dense(found.score)[2])


def test_gold_teaches_who_is_right() -> None:
    # Two against two on every instance: only gold can tell who errs.
    rows = [
        (f"i{i}", who, "oak" if (i % 2 == 0) == (who in "ab") else "finch")
        for i in range(40)
        for who in "abcd"
    ]
    panel = panel_of(rows)
    known = {f"i{i}": "oak" if i % 2 == 0 else "finch" for i in range(20)}
    append_gold_source = gold_of(panel, **known)
    found = mhpc.OneTruth().consolidate(append_gold_source)
    best = [GARDEN.labels[k] for k in dense(found.specific).argmax(axis=1)]
    right = [
        best[panel.instances.positions[f"i{i}"]] == ("oak" if i % 2 == 0 else "finch")
        for i in range(20, 40)
    ]
    assert all(right)


def test_a_run_with_gold_says_what_it_was_worth() -> None:
    data = mhpc.load_garden()
    names = data.truth.instances.ids[:60]
    some = [i in set(range(60)) for i in data.truth.instance]
    gold = mhpc.Truth(
        instances=data.truth.instances,
        labels=data.truth.labels,
        instance=data.truth.instance[some],
        label=data.truth.label[some],
    )
    result = mhpc.consolidate(data.votes, data.taxonomy, gold=gold)
    choice = result.consolidation.selection
    assert choice is not None
    assert choice.gold is not None
    assert choice.gold.instances == len(names)
    assert choice.gold.after < choice.gold.before
    assert [facts.source for facts in result.sources] == list(data.votes.sources)
    assert mhpc.evaluate(result, gold)["ranking_loss"] == 0.0


def test_one_truth_believes_what_is_known_against_everybody() -> None:
    rows = [(f"x{n}", who, "oak") for n in range(4) for who in ("ann", "bob", "cid")]
    panel = gold_of(panel_of(rows), x0="finch")
    found = dense(mhpc.OneTruth().consolidate(panel).specific)
    labels = GARDEN.labels.positions
    assert found[0, labels["finch"]] > 0.99
    assert found[0, labels["oak"]] < 0.01
    assert found[1, labels["oak"]] > found[1, labels["finch"]]
