"""A result becomes a folder that all commands read, and the folder becomes the result again."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mhpc
from mhpc.errors import DataError, OutputExistsError
from mhpc.numerics.arrays import dense
from mhpc.result import Result
from tests.fixtures.build import GARDEN

VOTES = [
    ("1", "ann", "oak"), ("1", "bob", "tree"), ("1", "cid", "bird"),
    ("2", "bob", "finch"), ("2", "ann", "bird"), ("2", "cid", ["finch", "oak"]),
    ("3", "cid", None), ("3", "ann", "monarda"), ("3", "bob", "flower"),
]  # fmt: skip

FILES = {
    "items.csv", "labels.csv", "scores.parquet", "sources.csv", "taxonomy.csv", "model.npz",
    "run.json", "votes.parquet",
}  # fmt: skip


def consolidate(**settings: Any) -> Result:
    return mhpc.consolidate(VOTES, GARDEN, **{"method": "majority", **settings})


def assert_same(loaded: Result, result: Result) -> None:
    assert loaded.labels == result.labels
    assert loaded.panel.sources.ids == result.panel.sources.ids
    assert loaded.panel.instances.ids == result.panel.instances.ids
    for name in ("raw", "scope"):
        before, after = (getattr(each.panel, name) for each in (result, loaded))
        assert (before is None) == (after is None)
        assert before is None or (before != after).nnz == 0
    assert repr(loaded.sources) == repr(result.sources)
    assert loaded.decision.parameters == result.decision.parameters
    for name in ("score", "specific"):
        before, after = (dense(getattr(each.consolidation, name)[:]) for each in (result, loaded))
        np.testing.assert_allclose(after, before)
    assert mhpc.conflicts(loaded) == mhpc.conflicts(result)
    for instance in result.panel.instances:
        assert mhpc.explain(loaded, instance) == mhpc.explain(result, instance)


RESULTS: dict[str, Callable[[], Result]] = {
    "majority": consolidate,
    "auto": lambda: consolidate(method=None),
    "one path": lambda: consolidate(method="one-truth", rule="one-path"),
    "two paths": lambda: consolidate(rule=mhpc.TopPaths(paths=2, depth_bias=1)),
    "threshold": lambda: consolidate(rule=mhpc.Threshold(threshold=0.4, depth_bias=0.5)),
    "min probability": lambda: consolidate(rule=mhpc.MinProbability(threshold=0.4)),
    "gold": lambda: consolidate(gold={"1": ["oak", "finch"], "3": []}, method="dawid-skene"),
    "scope": lambda: mhpc.consolidate(
        mhpc.read_votes(VOTES, scope={"bob": ["tree", "finch", "flower"]}), GARDEN, method="sa"
    ),
    "used": lambda: mhpc.consolidate(mhpc.read_votes(VOTES, scope="used"), GARDEN, method="sa"),
    "unanswered": lambda: consolidate(instances=["9", "8"]),
    "scores": lambda: mhpc.consolidate([(*row, 0.3) for row in VOTES], GARDEN, method="channel"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_saved_result_is_loaded_as_it_was(name: str, tmp_path: Path) -> None:
    result = RESULTS[name]()
    result.save(tmp_path / "OUT")
    extra = {"gold": {"gold.csv"}, "scope": {"scope.csv"}}.get(name, set())
    assert {path.name for path in (tmp_path / "OUT").iterdir()} == FILES | extra
    # Nothing in the folder depends on where it is.
    shutil.move(tmp_path / "OUT", tmp_path / "moved")
    loaded = mhpc.load_run(str(tmp_path / "moved"))
    assert_same(loaded, result)
    loaded.save(tmp_path / "again")
    for file in FILES | extra:
        first, second = ((tmp_path / folder / file).read_bytes() for folder in ("moved", "again"))
        assert first == second, file


@pytest.mark.parametrize("unknown", ["drop", "graft"])
@pytest.mark.filterwarnings("ignore:.*not in the taxonomy")
def test_a_result_with_unknown_labels_is_loaded_as_it_was(unknown: Any, tmp_path: Path) -> None:
    votes = [*VOTES, ("1", "dan", "tree > palm"), ("2", "dan", "weed")]
    result = mhpc.consolidate(votes, GARDEN, method="majority", unknown=unknown)
    result.save(tmp_path / "OUT")
    assert_same(mhpc.load_run(tmp_path / "OUT"), result)


def test_an_existing_folder_is_replaced_only_by_force(tmp_path: Path) -> None:
    result = consolidate()
    result.save(tmp_path / "OUT")
    with pytest.raises(OutputExistsError, match="force=True"):
        result.save(tmp_path / "OUT")
    consolidate(method="sa").save(tmp_path / "OUT", force=True)
    assert mhpc.load_run(tmp_path / "OUT").consolidation.method == "sa"


def test_top_limits_the_scores_that_are_kept(tmp_path: Path) -> None:
    consolidate().save(tmp_path / "OUT", top=1)
    assert json.loads((tmp_path / "OUT/run.json").read_text())["settings"]["top"] == 1
    scores = mhpc.load_run(tmp_path / "OUT").scores["label"]
    assert len(scores) < len(consolidate().scores["label"])


def test_a_result_without_votes_is_not_saved(tmp_path: Path) -> None:
    result = consolidate()
    bare = Result(result.panel, result.consolidation, result.decision, result.sources)
    with pytest.raises(DataError, match="does not have its votes"):
        bare.save(tmp_path / "OUT")
    assert not (tmp_path / "OUT").exists()


def test_a_result_writes_its_report(tmp_path: Path) -> None:
    result = consolidate()
    result.report(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert page.startswith("<!doctype html>")
    result.save(tmp_path / "OUT")
    mhpc.load_run(tmp_path / "OUT").report(tmp_path / "y.html")
    assert (tmp_path / "y.html").stat().st_size > 10_000


def test_questions_may_be_asked_of_a_folder(tmp_path: Path) -> None:
    result = consolidate()
    result.save(tmp_path / "OUT", top="all")
    folder = tmp_path / "OUT"
    assert mhpc.explain(str(folder), "1", "oak") == mhpc.explain(result, "1", "oak")
    assert mhpc.conflicts(folder) == mhpc.conflicts(result)
    truth = {"1": "oak", "2": "finch"}
    assert mhpc.evaluate(folder, truth) == mhpc.evaluate(result, truth)
