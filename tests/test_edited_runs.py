"""Run folders whose files contradict each other are refused; hand-edited label sets are not."""

import csv
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import mhpc
from mhpc.errors import UnreadableError, silence_warnings
from mhpc.read.run_folder import read_labelled_scores, read_run
from tests.fixtures.saved_files import change_arrays

ROWS = [
    (f"i{row}", source, ("bee", "ant", "owl")[(row * step) % 3])
    for row in range(12)
    for step, source in enumerate(("ann", "bob", "cid"), start=1)
]
TAXONOMY = {"insect": ["bee", "ant"], "bird": ["owl"]}
METHODS = ("auto", "mhpc", "wa", "wawa", "cross-source", "dawid-skene")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("runs")
    with silence_warnings():
        for method in METHODS:
            mhpc.consolidate(ROWS, TAXONOMY, method=method).save(home / method)
    return home


def copy(runs: Path, method: str, home: Path) -> Path:
    return Path(shutil.copytree(runs / method, home / "OUT"))


def edit_scores(folder: Path, query: str) -> None:
    file = folder / "scores.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE cells AS SELECT * FROM '{file}'")
        connection.execute(query)
        connection.execute(f"COPY cells TO '{file}' (FORMAT parquet)")


def edit_document(folder: Path, change: Callable[[Any], object]) -> None:
    document = json.loads((folder / "run.json").read_bytes())
    change(document)
    (folder / "run.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("INSERT INTO cells SELECT * REPLACE (0.5 AS score) FROM cells LIMIT 1", "an earlier row"),
        ("UPDATE cells SET specific = -0.25 WHERE rowid = 3", "row 4 has a number below 0"),
        ("DELETE FROM cells WHERE instance = 'i4'", "11 instances, but run.json counts 12"),
        ("INSERT INTO cells VALUES ('new', 'bee', 1, 1)", "13 instances, but run.json counts 12"),
    ],
)
def test_scores_that_contradict_themselves_or_the_run_are_refused(
    query: str, message: str, runs: Path, tmp_path: Path
) -> None:
    folder = copy(runs, "wa", tmp_path)
    edit_scores(folder, query)
    with pytest.raises(UnreadableError, match=message):
        read_run(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda run: run["sources"].append(run["sources"][0]), "lists source 'ann' twice"),
        (lambda run: run["sources"].pop(), "2 sources, but run.json counts 3"),
        (
            lambda run: run["conflicts"]["instances"].append(run["conflicts"]["instances"][0]),
            "lists instance '.*' twice",
        ),
        (lambda run: run["counts"].update(labels=4), "5 labels, but run.json counts 4"),
    ],
)
def test_a_document_that_contradicts_itself_or_the_tables_is_refused(
    change: Callable[[Any], object], message: str, runs: Path, tmp_path: Path
) -> None:
    folder = copy(runs, "wa", tmp_path)
    edit_document(folder, change)
    with pytest.raises(UnreadableError, match=message):
        read_run(folder)


def test_a_row_of_labels_that_is_there_twice_counts_once(runs: Path, tmp_path: Path) -> None:
    folder = copy(runs, "wa", tmp_path)
    expected = read_labelled_scores(folder).chosen
    lines = (folder / "labels.csv").read_text().splitlines(keepends=True)
    (folder / "labels.csv").write_text("".join([*lines, *lines[1:4]]))
    assert (read_labelled_scores(folder).chosen != expected).nnz == 0


def test_an_empty_file_of_labels_is_refused_but_a_header_alone_is_not(
    runs: Path, tmp_path: Path
) -> None:
    folder = copy(runs, "wa", tmp_path)
    (folder / "labels.csv").write_text("instance,label,score\n")
    assert read_labelled_scores(folder).chosen.nnz == 0
    (folder / "labels.csv").write_bytes(b"")
    with pytest.raises(UnreadableError, match=r"labels\.csv is empty"):
        read_labelled_scores(folder)


def test_a_model_of_another_run_is_refused(runs: Path, tmp_path: Path) -> None:
    folder = copy(runs, "wa", tmp_path)
    shutil.copy(runs / "wawa" / "model.npz", folder)
    with pytest.raises(
        UnreadableError, match="a model of 'wawa', but run.json is of a run by 'wa'"
    ):
        mhpc.explain(folder, "i1")


@pytest.mark.parametrize("method", ["wa", "auto"])
def test_a_model_is_not_applied_to_a_taxonomy_in_another_order(
    method: str, runs: Path, tmp_path: Path
) -> None:
    folder = copy(runs, method, tmp_path)
    with (folder / "taxonomy.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    with (folder / "taxonomy.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *sorted(rows)])
    for use in (lambda: mhpc.consolidate(ROWS, apply=folder), lambda: mhpc.explain(folder, "i1")):
        with pytest.raises(UnreadableError, match=r"taxonomy\.csv of the run is not"):
            use()


@pytest.mark.filterwarnings("always::RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0, -1e308])
@pytest.mark.parametrize("method", METHODS)
def test_scores_by_an_edited_model_are_numbers_from_0_or_refused(
    method: str, value: float, runs: Path, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    for number in range(3):
        folder = copy(runs, method, tmp_path / str(number))
        change_arrays(folder / "model.npz", partial(_put, at=number, value=value))
        with silence_warnings():
            try:
                scores = mhpc.consolidate(ROWS, apply=folder).scores
            except UnreadableError:
                continue
        for view in ("score", "specific"):
            assert np.isfinite(scores[view]).all()
            assert np.min(scores[view]) >= 0
    assert not [each for each in recwarn if issubclass(each.category, RuntimeWarning)]


def test_arrays_that_hold_no_real_numbers_are_refused(runs: Path, tmp_path: Path) -> None:
    folder = copy(runs, "mhpc", tmp_path)
    change_arrays(folder / "model.npz", lambda array: array.astype(complex))
    with pytest.raises(UnreadableError, match="an array holds complex128, not numbers"):
        mhpc.explain(folder, "i1")


def _put(array: np.ndarray, at: int, value: float) -> np.ndarray:
    changed = array.copy()
    if changed.dtype.kind == "f" and changed.size:
        changed.reshape(-1)[at % changed.size] = value
    return changed
