"""mhpc.explain and mhpc.conflicts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mhpc
from mhpc.errors import UnknownInstanceError, UnknownLabelError
from mhpc.explanation.queries import explain_instances
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN

ROWS = [
    ("p", "ann", "monarda"), ("p", "bob", "fuchsia"), ("p", "cid", "flower"), ("q", "ann", "oak"),
    ("q", "bob", "oak"), ("r", "ann", "finch"), ("r", "cid", "bird"), ("r", "bob", "oak"),
]  # fmt: skip


def read_rows() -> mhpc.Votes:
    columns = zip(*ROWS, strict=True)
    return mhpc.read_votes(dict(zip(("instance", "source", "label"), columns, strict=True)))


def consolidate(method: Any = None) -> mhpc.Result:
    return mhpc.consolidate(read_rows(), GARDEN, method=method)


@pytest.mark.parametrize(
    "method", ["sa", "majority", "dawid-skene", "cross-source", "mhpc", "one-truth"]
)
def test_effects_are_those_of_the_fitted_model(method: str) -> None:
    result = consolidate(method)
    (label,) = mhpc.explain(result, "p", "monarda").labels
    assert result.consolidation.fitted is not None
    predict, panel = result.consolidation.fitted().predict, result.panel
    position = GARDEN.locate(["monarda"])[0]
    for stance in label.stances:
        source = panel.sources.positions[stance.source]
        without = panel.select_answers(~((panel.instance == 0) & (panel.source == source)))
        score, reduced = (
            dense(predict(answers).score)[0, position] for answers in (panel, without)
        )
        assert stance.effect == pytest.approx(score - reduced, abs=1e-9)


def test_effects_without_a_model_are_not_known() -> None:
    result = consolidate("sa")
    result = replace(result, consolidation=replace(result.consolidation, fitted=None))
    explanation = mhpc.explain(result, "p", "monarda")
    assert {stance.effect for stance in explanation.labels[0].stances} == {None}
    assert "no model" in explanation.effects


def test_effects_of_the_default_method_are_finite() -> None:
    explanation = mhpc.explain(consolidate(), "r")
    effects = [stance.effect for label in explanation.labels for stance in label.stances]
    assert all(effect is not None and np.isfinite(effect) for effect in effects)


def test_conflicts_rank_instances_and_name_confused_labels() -> None:
    conflicts = mhpc.conflicts(consolidate("sa"), top=1)
    assert conflicts.disputed == 2
    assert len(conflicts.instances) == 1
    assert ("monarda", "fuchsia", 1, "flower") in [
        (pair.first, pair.second, pair.count, pair.under)
        for pair in mhpc.conflicts(consolidate("sa")).confusions
    ]


def test_answers_have_no_effect_on_gold_instances() -> None:
    gold = mhpc.read_truth({"instance": ["p"], "label": ["monarda"]})
    result = mhpc.consolidate(read_rows(), GARDEN, method="majority", gold=gold)
    (conflict,) = [
        candidate for candidate in mhpc.conflicts(result).instances if candidate.instance == "p"
    ]
    assert conflict.gain == 0.0
    explanation = mhpc.explain(result, "p")
    assert explanation.labels[0].score == 1.0
    effects = {stance.effect for label in explanation.labels for stance in label.stances}
    assert effects == {0.0}


def test_unknown_ids_are_refused_with_the_nearest_ones() -> None:
    with pytest.raises(UnknownInstanceError, match="instance 'pp' has no votes"):
        mhpc.explain(consolidate("sa"), "pp")
    with pytest.raises(UnknownLabelError, match=r"nearest: 'monarda'"):
        mhpc.explain(consolidate("sa"), "p", "monardo")


def test_instances_without_votes_and_with_one_answer_are_explained() -> None:
    votes = mhpc.read_votes({"instance": ["p"], "source": ["ann"], "label": ["oak"]})
    result = mhpc.consolidate(votes, GARDEN, instances=["unanswered"])
    assert mhpc.explain(result, "unanswered").labels == ()
    for label in mhpc.explain(result, "p").labels:
        # Without its only answer every score is 0.
        assert label.stances[0].effect == pytest.approx(label.score)


def test_explanations_do_not_depend_on_the_size_of_blocks() -> None:
    result, instances = consolidate("majority"), np.arange(3)
    arguments = (result.panel, result.consolidation, result.decision, instances)
    in_blocks = explain_instances(*arguments, cells_per_block=10)
    assert in_blocks == explain_instances(*arguments)
