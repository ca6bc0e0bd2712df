import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mhpc.data.index import Index
from mhpc.data.items import ITEM_COLUMNS, Items
from mhpc.data.scores import ScoredCells
from mhpc.errors import UnwritableError
from mhpc.write.run_folder import items_stream, labels_stream, scores_stream
from mhpc.write.tables import write_csv

IDS = Index(
    ('say "hi"', "a,b", "two\nlines", "carriage\rreturn", "007", "#", " spaced ", "é", "'", '"')
)
LABELS = Index(("plain", "a, b", "NULL", "\\", "\x01", "-"))


def cells(row: list[int], label: list[int], score: list[float], specific: list[float]) -> Any:
    return ScoredCells(np.array(row), np.array(label), np.array(score), np.array(specific))


def scores_in(path: Path) -> list[tuple[Any, ...]]:
    return duckdb.execute("FROM read_parquet(?)", [str(path)]).fetchall()


def test_scores_are_written_in_blocks_in_the_order_of_their_cells(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    with scores_stream(path, IDS, LABELS) as add:
        add(cells([0, 0, 0, 1], [1, 2, 0, 5], [1, 0.5, 0.5, 0.1], [0, 0.3, 0.2, 0]))
        add(cells([], [], [], []))
        add(cells([2, 2, 2], [0, 3, 4], [0.5, 0.5, 0.5], [0.1, 0.1, 0.1]))
    assert scores_in(path) == [
        ('say "hi"', "a, b", 1.0, 0.0),
        ('say "hi"', "NULL", 0.5, 0.3),
        ('say "hi"', "plain", 0.5, 0.2),
        ("a,b", "-", 0.1, 0.0),
        ("two\nlines", "plain", 0.5, 0.1),
        ("two\nlines", "\\", 0.5, 0.1),
        ("two\nlines", "\x01", 0.5, 0.1),
    ]
    assert os.listdir(tmp_path) == ["scores.parquet"]  # noqa: PTH208 - hidden ones count


def test_many_blocks_of_scores_keep_their_order(tmp_path: Path) -> None:
    count, step = 60_000, 7_000
    ids = Index(tuple(f"i{n * 7919 % 100_003}" for n in range(count)))
    with scores_stream(tmp_path / "scores.parquet", ids, LABELS) as add:
        for start in range(0, count, step):
            row = np.repeat(np.arange(start, min(start + step, count)), 6)
            label = np.tile(np.arange(6), len(row) // 6)
            add(ScoredCells(row, label, label / 6, np.zeros(len(row))))
    rows = scores_in(tmp_path / "scores.parquet")
    assert [row[0] for row in rows] == [id_ for id_ in ids for _ in range(6)]
    assert [row[1] for row in rows] == list(LABELS.ids) * count


def test_a_stream_without_blocks_leaves_a_table_without_rows(tmp_path: Path) -> None:
    with scores_stream(tmp_path / "a", IDS, LABELS), labels_stream(tmp_path / "b", IDS, LABELS):
        pass
    assert scores_in(tmp_path / "a") == []
    assert (tmp_path / "b").read_bytes() == b"instance,label,score\n"


def assert_same_text(folder: Path, instances: Index, labels: Index, rows: list[Any]) -> None:
    texts = [(instances[i], labels[k], score) for i, k, score in rows]
    write_csv(folder / "expected.csv", ("instance", "label", "score"), texts)
    with labels_stream(folder / "labels.csv", instances, labels) as add:
        for start in range(0, len(rows), 3):
            row, label, score = zip(*rows[start : start + 3], strict=True)
            add(np.array(row), np.array(label), np.array(score))
    assert (folder / "labels.csv").read_bytes() == (folder / "expected.csv").read_bytes()


def test_labels_are_quoted_as_the_other_tables_are(tmp_path: Path) -> None:
    rows = [(i, k, 1 / (i + k + 1)) for i in range(len(IDS)) for k in range(len(LABELS))]
    assert_same_text(tmp_path, IDS, LABELS, rows)


TEXTS = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=4, unique=True
)


@settings(deadline=None, max_examples=50)
@given(TEXTS, st.lists(st.floats(), min_size=1, max_size=10))
def test_any_id_and_any_float_reads_as_python_writes_it(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], floats: list[float]
) -> None:
    index = Index(tuple(texts))
    count = len(texts)
    rows = [(n % count, (n // 2) % count, score) for n, score in enumerate(floats)]
    assert_same_text(tmp_path_factory.mktemp("labels"), index, index, rows)


def test_many_floats_read_as_python_writes_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.random(20_000), 10.0 ** rng.uniform(-320, 308, 20_000)])
    zeros = np.zeros(len(scores), dtype=np.int64)
    with labels_stream(tmp_path / "labels.csv", LABELS, LABELS) as add:
        add(zeros, zeros, scores)
    lines = (tmp_path / "labels.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert lines == [f"plain,plain,{score!r}" for score in scores.tolist()]


def items_of(texts: list[str], numbers: list[float]) -> Items:
    column = np.array(texts, dtype=object)
    values = np.array(numbers)
    return Items(column, column[::-1], column, values, values, np.arange(len(texts)), values)


def assert_same_items(folder: Path, items: Items) -> None:
    columns = items.columns
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    write_csv(folder / "expected.csv", tuple(columns), rows)
    with items_stream(folder / "items.csv") as add:
        add(items)
    assert (folder / "items.csv").read_bytes() == (folder / "expected.csv").read_bytes()


def test_items_are_quoted_as_the_other_tables_are(tmp_path: Path) -> None:
    texts = [*IDS, *LABELS, ""]
    assert_same_items(tmp_path, items_of(texts, [1 / (n + 3) for n in range(len(texts))]))
    without_labels = items_of([""], [0.0])
    unknown = np.array([np.nan])
    assert_same_items(tmp_path, replace(without_labels, probability=unknown, agreement=unknown))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=4))
def test_items_with_any_text_read_as_python_writes_them(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    numbers = [len(text) / 7 for text in texts]
    assert_same_items(tmp_path_factory.mktemp("items"), items_of(texts, numbers))


def test_items_are_written_in_blocks_or_not_at_all(tmp_path: Path) -> None:
    items, path = items_of(["a", "b"], [0.5, 0.25]), tmp_path / "items.csv"
    with items_stream(path, batch_rows=3) as add:
        for _ in range(3):
            add(items)
    header, *lines = path.read_text().splitlines()
    assert header == ",".join(ITEM_COLUMNS)
    assert lines == ["a,b,a,0.5,0.5,0,0.5", "b,a,b,0.25,0.25,1,0.25"] * 3

    def fail() -> None:
        with items_stream(tmp_path / "other.csv") as add:
            add(items)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["items.csv"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_error_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        scores, labels = tmp_path / "scores.parquet", tmp_path / "labels.csv"
        with (
            scores_stream(scores, IDS, LABELS) as add_scores,
            labels_stream(labels, IDS, LABELS) as add_labels,
        ):
            add_scores(cells([0], [0], [1], [1]))
            add_labels(np.array([0]), np.array([0]), np.array([1.0]))
            raise error

    with pytest.raises(error):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stream", [scores_stream, labels_stream])
def test_a_stream_into_a_missing_folder_names_the_path(tmp_path: Path, stream: Any) -> None:
    path = tmp_path / "missing" / "table"
    with (
        pytest.raises(UnwritableError, match="table cannot be written"),
        stream(path, IDS, LABELS),
    ):
        pass
