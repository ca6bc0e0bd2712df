"""``mhpc.consolidate`` with an earlier result: new votes scored by it, or learned from with it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mhpc
from mhpc.errors import DataError, MhpcWarning, ParameterError, UnreadableError
from mhpc.numerics.arrays import dense
from mhpc.run import run
from mhpc.settings import RunSettings
from mhpc.write.tables import write_taxonomy, write_votes
from tests.fixtures.build import GARDEN, Row, votes_of

OLD: list[Row] = [
    (f"p{i}", source, ("monarda", "oak", "finch")[(i + (i % 5 == n)) % 3])
    for i in range(12)
    for n, source in enumerate(("ann", "bob", "cid"))
]
NEW: list[Row] = [("q", "ann", "oak"), ("q", "bob", "oak"), ("r", "cid", "finch")]
STRANGER: list[Row] = [*NEW, ("r", "dee", "finch")]


@pytest.fixture(scope="module")
def earlier() -> mhpc.Result:
    return mhpc.consolidate(votes_of(OLD), GARDEN, method="wawa")


def scores(result: mhpc.Result) -> np.ndarray:
    return np.asarray(dense(result.consolidation.score))


def test_an_earlier_result_scores_its_own_votes_as_before(earlier: mhpc.Result) -> None:
    again = mhpc.consolidate(votes_of(OLD), apply=earlier)
    np.testing.assert_allclose(scores(again), scores(earlier))
    assert again.labels == earlier.labels


def test_the_rule_of_the_earlier_result_decides() -> None:
    rule = mhpc.Threshold(threshold=0.9)
    earlier = mhpc.consolidate(votes_of(OLD), GARDEN, method="sa", rule=rule)
    rows: list[Row] = [("q", "ann", "oak"), ("q", "bob", "finch"), ("r", "cid", "finch")]
    result = mhpc.consolidate(votes_of(rows), apply=earlier)
    assert result.decision.parameters["threshold"] == 0.9
    assert result.labels == {"q": [], "r": ["animal", "bird", "finch"]}


def test_new_sources_are_refused_ignored_or_average(earlier: mhpc.Result) -> None:
    with pytest.raises(DataError, match="'dee'"):
        mhpc.consolidate(votes_of(STRANGER), apply=earlier)
    with pytest.warns(MhpcWarning, match="'dee'"):
        ignored = mhpc.consolidate(votes_of(STRANGER), apply=earlier, new_sources="ignore")
    assert ignored.labels == mhpc.consolidate(votes_of(NEW), apply=earlier).labels
    average = mhpc.consolidate(votes_of(STRANGER), apply=earlier, new_sources="prior")
    assert [source.source for source in average.sources] == ["ann", "bob", "cid", "dee"]
    # The result knows the new source, and can be applied in turn.
    again = mhpc.consolidate(votes_of(STRANGER), apply=average)
    np.testing.assert_allclose(scores(again), scores(average))


def test_the_folder_of_a_run_can_be_applied(earlier: mhpc.Result, tmp_path: Path) -> None:
    write_votes(tmp_path / "old.csv", votes_of(OLD))
    write_taxonomy(tmp_path / "tree.csv", GARDEN)
    settings = RunSettings(
        votes=str(tmp_path / "old.csv"), taxonomy=str(tmp_path / "tree.csv"), method="wawa"
    )
    run(settings, output=tmp_path / "out")
    for folder in (tmp_path / "out", str(tmp_path / "out")):
        result = mhpc.consolidate(votes_of(NEW), apply=folder)
        assert result.labels == mhpc.consolidate(votes_of(NEW), apply=earlier).labels


def test_an_update_is_a_run_on_all_votes_together(earlier: mhpc.Result) -> None:
    rows: list[Row] = [*STRANGER, ("p0", "dee", "finch")]
    updated = mhpc.consolidate(votes_of(rows), update=earlier)
    joint = mhpc.consolidate(votes_of([*OLD, *rows]), GARDEN, method="wawa")
    np.testing.assert_array_equal(scores(updated), scores(joint))
    assert updated.labels == joint.labels
    # And so is an update of an update.
    later: list[Row] = [("s", "ann", "oak")]
    joint = mhpc.consolidate(votes_of([*OLD, *rows, *later]), GARDEN, method="wawa")
    assert mhpc.consolidate(votes_of(later), update=updated).labels == joint.labels


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"new_sources": "prior", "taxonomy": GARDEN}, "new_sources can only be given with apply"),
        ({"new_sources": "often", "apply": "x"}, "new_sources = 'often' is not allowed"),
        ({"apply": "x", "method": "sa"}, "method cannot be given with apply"),
        ({"apply": "x", "taxonomy": GARDEN}, "taxonomy cannot be given with apply"),
        ({"apply": "x", "rule": mhpc.ExpectedF()}, "rule cannot be given with apply"),
    ],
)
def test_arguments_that_exclude_each_other_are_refused(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        mhpc.consolidate(votes_of(NEW), **arguments)


def test_apply_and_update_exclude_each_other(earlier: mhpc.Result) -> None:
    with pytest.raises(ParameterError, match="together"):
        mhpc.consolidate(votes_of(NEW), apply=earlier, update=earlier)
    with pytest.raises(ParameterError, match="method cannot be given with update"):
        mhpc.consolidate(votes_of(NEW), update=earlier, method="sa")


def test_a_result_without_its_votes_or_its_rule_is_refused(earlier: mhpc.Result) -> None:
    with pytest.raises(ParameterError, match="update needs the earlier votes"):
        mhpc.consolidate(votes_of(NEW), update=replace(earlier, votes=None))
    with pytest.raises(ParameterError, match="apply needs what was fitted"):
        mhpc.consolidate(votes_of(NEW), apply=replace(earlier, rule=None))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="holds no model.npz"):
        mhpc.consolidate(votes_of(NEW), apply=tmp_path)
