"""Silence on a label that others keep saying is not a no."""

import numpy as np
import pytest

from mhpc.data.panel import SinglePartition
from mhpc.methods import source_weights as silence
from mhpc.methods.source_weights import infer_scope, with_inferred_scope
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, panel_of


def rows(count: int) -> list[tuple[str, str, str]]:
    """ann and bob say oak and finch in turn; cid never says finch."""
    return [
        (f"i{i}", who, "oak" if i % 2 or who == "cid" else "finch")
        for i in range(count)
        for who in ("ann", "bob", "cid")
    ]


def test_a_label_that_a_source_never_says_though_it_would_often_have_is_out_of_its_scope() -> None:
    panel = with_inferred_scope(panel_of(rows(40)))
    assert panel.scope is not None
    scope = dense(panel.scope)
    cid, finch = panel.sources.positions["cid"], GARDEN.labels.positions["finch"]
    assert scope[cid, finch] == 0
    assert scope[panel.sources.positions["ann"]].all()
    assert scope[cid, GARDEN.labels.positions["oak"]] == 1


def test_a_few_answers_prove_nothing() -> None:
    assert with_inferred_scope(panel_of(rows(6))).scope is None


def test_a_scope_that_was_given_stays() -> None:
    panel = panel_of(rows(40), scope="used")
    assert with_inferred_scope(panel) is panel


def test_who_gives_scores_has_spoken() -> None:
    scored = [(*row, 0.9) for row in rows(40)]
    assert with_inferred_scope(panel_of(scored)).scope is None


def test_the_scope_does_not_depend_on_how_instances_are_divided() -> None:
    panel = panel_of(rows(40))
    whole = infer_scope(SinglePartition(panel))
    divided = infer_scope(SinglePartition(panel, max_instances=7))
    assert whole is not None
    np.testing.assert_array_equal(dense(divided), dense(whole))


def test_no_scope_is_made_that_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "_SCOPE_CELLS", 20)
    assert infer_scope(SinglePartition(panel_of(rows(40)))) is None
