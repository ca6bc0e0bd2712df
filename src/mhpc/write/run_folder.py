"""Scores and labels out, block by block, so that memory does not grow with the instances."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np

from mhpc.data.index import Index
from mhpc.data.scores import ScoredCells
from mhpc.errors import UnwritableError
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.system.database import database, writing
from mhpc.system.memory import MIN_DATABASE_MEMORY, memory_budget

AddScores: TypeAlias = Callable[[ScoredCells], None]
AddLabels: TypeAlias = Callable[[IntArray, IntArray, FloatArray], None]


_ROWS = 1 << 19

_CELLS = "instance VARCHAR, label VARCHAR, score DOUBLE, specific DOUBLE"


@contextmanager
def scores_stream(path: Path, instances: Index, labels: Index) -> Iterator[AddScores]:
    """Take blocks of cells, each after those of earlier instances, for ``scores.parquet``.

    The best of each instance come first. The file is there once the stream is closed, and not
    at all if something goes wrong meanwhile.
    """
    with writing(path), _hidden_folder(path) as folder, database() as connection:
        connection.execute(
            f"SET memory_limit = '{max(MIN_DATABASE_MEMORY, memory_budget() // 4)}B'"
        )
        connection.execute(f"SET temp_directory = {_literal(folder)}")
        connection.execute(f"CREATE TABLE cells ({_CELLS})")
        instance_ids, label_ids = (np.array(each.ids, dtype=object) for each in (instances, labels))

        def insert(row: IntArray, label: IntArray, score: FloatArray, specific: FloatArray) -> None:
            ids = {"instance": instance_ids[row], "label": label_ids[label]}
            connection.register("block", {**ids, "score": score, "specific": specific})
            connection.execute("INSERT INTO cells SELECT * FROM block")
            connection.unregister("block")

        batch = _Batch(insert)

        def add(cells: ScoredCells) -> None:
            order = best_first(cells)
            columns = (cells.row, cells.label, cells.score, cells.specific)
            batch.add(*(column[order] for column in columns))

        yield add
        batch.flush()
        beside = folder / path.name
        connection.execute(f"COPY cells TO {_literal(beside)} (FORMAT parquet, COMPRESSION zstd)")
        beside.replace(path)


@contextmanager
def labels_stream(path: Path, instances: Index, labels: Index) -> Iterator[AddLabels]:
    """Take rows of ``labels.csv``, block by block: positions of instances and labels, scores.

    The text is that of `write_csv`, written by DuckDB, whose floats read as Python's do; ids
    are quoted here, once each.
    """
    instance_ids, label_ids = _quoted(instances.ids), _quoted(labels.ids)
    with writing(path), _hidden_folder(path) as folder, database() as connection:
        part, beside = folder / "part", folder / path.name
        with beside.open("wb") as file:
            file.write(b"instance,label,score\n")

            def append(row: IntArray, label: IntArray, score: FloatArray) -> None:
                ids = {"instance": instance_ids[row], "label": label_ids[label]}
                _copy_lines(connection, part, {**ids, "score": score})
                with part.open("rb") as lines:
                    shutil.copyfileobj(lines, file, 1 << 20)

            batch = _Batch(append)
            yield batch.add
            batch.flush()
        beside.replace(path)


@dataclass(eq=False)
class _Batch:
    """Columns of several blocks, which are passed on together: a query costs something too."""

    write: Callable[..., None]
    blocks: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    rows: int = 0

    def add(self, *columns: np.ndarray) -> None:
        if len(columns[0]):
            self.blocks.append(columns)
            self.rows += len(columns[0])
        if self.rows >= _ROWS:
            self.flush()

    def flush(self) -> None:
        if self.blocks:
            self.write(*map(np.concatenate, zip(*self.blocks, strict=True)))
        self.blocks, self.rows = [], 0


@contextmanager
def _hidden_folder(path: Path) -> Iterator[Path]:
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise UnwritableError(f"{path} cannot be written: {error.strerror}") from None
    with folder as name:
        yield Path(name)


def best_first(cells: ScoredCells) -> IntArray:
    """Return the order of cells by row, then score and specific, the highest first, then label.

    Cells come in order of row and label. Sorting by one number is several times faster than by
    four; what it cannot tell apart is then put in order, if there is anything.
    """
    if not len(cells.row):
        return np.zeros(0, dtype=np.int64)
    width = float(np.ptp(cells.score)) + 1.0
    order = np.argsort((cells.row - cells.row[0]) * width - cells.score, kind="stable")
    row, score = cells.row[order], cells.score[order]
    same_row, step = row[1:] == row[:-1], np.diff(score)
    if (same_row & (step > 0)).any() or not (np.diff(row) >= 0).all():
        return np.lexsort((cells.label, -cells.specific, -cells.score, cells.row))
    tied = same_row & (step == 0)
    if tied.any():
        at = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
        run = np.cumsum(np.append(True, ~tied))[at]
        some = order[at]
        order[at] = some[np.lexsort((cells.label[some], -cells.specific[some], run))]
    return order


def _copy_lines(
    connection: duckdb.DuckDBPyConnection, path: Path, columns: dict[str, np.ndarray]
) -> None:
    connection.register("block", columns)
    connection.execute(
        "COPY (SELECT instance, label, if(isnan(score), NULL, score) FROM block) "
        f"TO {_literal(path)} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '')"
    )
    connection.unregister("block")


def _quoted(ids: Sequence[str]) -> np.ndarray:
    """Return ids as cells of CSV."""
    special = re.compile(r'[,"\r\n]')
    if special.search("".join(ids)):
        ids = [_quote(id_) if special.search(id_) else id_ for id_ in ids]
    return np.array(ids, dtype=object)


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
