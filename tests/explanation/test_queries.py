from typing import Any

import numpy as np
import pytest

import mhpc
from mhpc.errors import UnknownInstanceError, UnknownLabelError
from mhpc.explanation.queries import explain_some
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN

ROWS = [
    ("p", "ann", "monarda"), ("p", "bob", "fuchsia"), ("p", "cid", "flower"), ("q", "ann", "oak"),
    ("q", "bob", "oak"), ("r", "ann", "finch"), ("r", "cid", "bird"), ("r", "bob", "oak"),
]  # fmt: skip


def result(method: Any = None) -> mhpc.Result:
    columns = zip(*ROWS, strict=True)
    votes = mhpc.read_votes(dict(zip(("instance", "source", "label"), columns, strict=True)))
    return mhpc.consolidate(votes, GARDEN, method=method)


@pytest.mark.parametrize(
    "method", ["sa", "majority", "dawid-skene", "cross-source", "mhpc", "one-truth"]
)
def test_effects_of_a_method_that_learns_are_by_what_it_learnt(method: str) -> None:
    found = result(method)
    (label,) = mhpc.explain(found, "p", "monarda").labels
    assert found.consolidation.fitted is not None
    views, panel = found.consolidation.fitted().views, found.panel
    k = GARDEN.locate(["monarda"])[0]
    for voice in label.voices:
        m = panel.sources.positions[voice.source]
        without = panel.select_answers(~((panel.instance == 0) & (panel.source == m)))
        expected = dense(views(panel).score)[0, k] - dense(views(without).score)[0, k]
        assert voice.effect == pytest.approx(expected, abs=1e-9)


def test_what_auto_chose_is_not_chosen_again() -> None:
    found = result()
    explained = mhpc.explain(found, "r")
    effects = [voice.effect for label in explained.labels for voice in label.voices]
    assert all(effect is not None and np.isfinite(effect) for effect in effects)


def test_conflicts_rank_instances_and_name_confusions() -> None:
    found = mhpc.conflicts(result("sa"), top=1)
    assert found.disputed == 2
    assert len(found.instances) == 1
    assert ("monarda", "fuchsia", 1, "flower") in [
        (each.one, each.other, each.count, each.under)
        for each in mhpc.conflicts(result("sa")).confusions
    ]


def test_what_is_known_is_in_no_dispute() -> None:
    columns = zip(*ROWS, strict=True)
    votes = mhpc.read_votes(dict(zip(("instance", "source", "label"), columns, strict=True)))
    gold = mhpc.read_truth({"instance": ["p"], "label": ["monarda"]})
    found = mhpc.consolidate(votes, GARDEN, method="majority", gold=gold)
    (known,) = [each for each in mhpc.conflicts(found).instances if each.instance == "p"]
    assert known.gain == 0.0
    explained = mhpc.explain(found, "p")
    assert explained.labels[0].score == 1.0
    assert {voice.effect for label in explained.labels for voice in label.voices} == {0.0}


def test_strange_ids_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownInstanceError, match="instance 'pp' has no votes"):
        mhpc.explain(result("sa"), "pp")
    with pytest.raises(UnknownLabelError, match=r"nearest: 'monarda'"):
        mhpc.explain(result("sa"), "p", "monardo")


def test_an_instance_without_votes_and_one_with_a_single_answer_are_explained() -> None:
    votes = mhpc.read_votes({"instance": ["p"], "source": ["ann"], "label": ["oak"]})
    found = mhpc.consolidate(votes, GARDEN, instances=["lonely"])
    assert mhpc.explain(found, "lonely").labels == ()
    for label in mhpc.explain(found, "p").labels:
        # Without its only answer nothing would be known.
        assert label.voices[0].effect == pytest.approx(label.score)


def test_many_instances_are_explained_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found, every = result("majority"), np.arange(3)
    at_once = explain_some(found, every)
    monkeypatch.setattr("mhpc.explanation.queries._CELLS", 10)
    assert explain_some(found, every) == at_once
