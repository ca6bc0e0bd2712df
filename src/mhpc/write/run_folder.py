"""Write the items, labels and scores of a run block by block, in memory that does not grow."""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from mhpc.data.index import Index
from mhpc.data.items import ITEM_COLUMNS, Items
from mhpc.data.scores import ScoredCells
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.system.database import database, literal, writing
from mhpc.system.files import atomic_path
from mhpc.system.memory import database_memory, memory_budget

AddScores: TypeAlias = Callable[[ScoredCells], None]
AddLabels: TypeAlias = Callable[[IntArray, IntArray, FloatArray], None]
AddItems: TypeAlias = Callable[[Items], None]


BATCH_ROWS = 1 << 19
"""Rows that are passed to DuckDB at a time."""

ITEM_ROWS = 1 << 17
"""The same for items, whose texts are long."""

_CELLS = "instance VARCHAR, label VARCHAR, score DOUBLE, specific DOUBLE"
"""The columns. Labels as an ENUM would be written faster, but with other bytes every time."""

SCORES_FORMAT = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1"
"""Scores hardly shrink, whatever the effort: the next level takes longer for 2 % less."""


@contextmanager
def scores_stream(
    path: Path, instances: Index, labels: Index, *, batch_rows: int = BATCH_ROWS
) -> Iterator[AddScores]:
    """Write ``scores.parquet`` block by block, in the order in which the cells come.

    The file appears when the stream is closed, and not at all if something goes wrong.
    """
    with writing(path), atomic_path(path) as unfinished, database() as connection:
        connection.execute(f"SET memory_limit = '{database_memory(memory_budget() // 4)}B'")
        connection.execute(f"SET temp_directory = {literal(str(unfinished.parent))}")
        instance_ids, label_ids = (
            np.array(index.ids, dtype=object) for index in (instances, labels)
        )
        connection.execute(f"CREATE TABLE cells ({_CELLS})")

        def insert(row: IntArray, label: IntArray, score: FloatArray, specific: FloatArray) -> None:
            ids = {"instance": instance_ids[row], "label": label_ids[label]}
            connection.register("block", {**ids, "score": score, "specific": specific})
            connection.execute("INSERT INTO cells SELECT * FROM block")
            connection.unregister("block")

        batch = _Batch(insert, batch_rows)

        def add(cells: ScoredCells) -> None:
            batch.add(cells.row, cells.label, cells.score, cells.specific)

        yield add
        batch.flush()
        target = literal(str(unfinished))
        connection.execute(f"COPY cells TO {target} ({SCORES_FORMAT})")


@contextmanager
def labels_stream(
    path: Path, instances: Index, labels: Index, *, batch_rows: int = BATCH_ROWS
) -> Iterator[AddLabels]:
    """Write ``labels.csv`` block by block: positions of instances and labels, and scores.

    DuckDB writes the rows, with numbers as Python writes them; ids are quoted here, once each.
    """
    instance_ids, label_ids = _quote_cells(instances.ids), _quote_cells(labels.ids)
    columns = {"instance": "instance", "label": "label", "score": _not_nan("score")}
    with _lines_stream(path, columns, batch_rows=batch_rows) as add_lines:

        def add(row: IntArray, label: IntArray, score: FloatArray) -> None:
            add_lines(instance_ids[row], label_ids[label], score)

        yield add


@contextmanager
def items_stream(path: Path, *, batch_rows: int = ITEM_ROWS) -> Iterator[AddItems]:
    """Write ``items.csv`` block by block, one row per instance.

    DuckDB quotes the texts as well, since hardly any two are equal.
    """
    columns = {name: name for name in ITEM_COLUMNS}
    columns |= {name: _quoted(name) for name in ("instance", "labels", "path")}
    columns |= {name: _not_nan(name) for name in ("probability", "agreement")}
    with _lines_stream(path, columns, batch_rows=batch_rows) as add_lines:
        yield lambda items: add_lines(*items.columns.values())


@contextmanager
def _lines_stream(
    path: Path, columns: Mapping[str, str], *, batch_rows: int
) -> Iterator[Callable[..., None]]:
    """Write a CSV file block by block, given its columns and SQL for the cells of each.

    The function that is given takes one array per column.
    """
    with writing(path), atomic_path(path) as unfinished, database() as connection:
        part = unfinished.with_name("part")
        with unfinished.open("wb") as file:
            file.write(f"{','.join(columns)}\n".encode())

            def append(*values: np.ndarray) -> None:
                connection.register("block", dict(zip(columns, values, strict=True)))
                connection.execute(
                    f"COPY (SELECT {', '.join(columns.values())} FROM block) "
                    f"TO {literal(str(part))} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '')"
                )
                connection.unregister("block")
                with part.open("rb") as lines:
                    shutil.copyfileobj(lines, file, 1 << 20)

            batch = _Batch(append, batch_rows)
            yield batch.add
            batch.flush()


@dataclass(eq=False)
class _Batch:
    """Collects the columns of several blocks, since every query has a cost of its own."""

    write: Callable[..., None]
    max_rows: int
    blocks: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    rows: int = 0

    def add(self, *columns: np.ndarray) -> None:
        if len(columns[0]):
            self.blocks.append(columns)
            self.rows += len(columns[0])
        if self.rows >= self.max_rows:
            self.flush()

    def flush(self) -> None:
        if self.blocks:
            self.write(*map(np.concatenate, zip(*self.blocks, strict=True)))
        self.blocks, self.rows = [], 0


def _quote_cells(ids: Sequence[str]) -> np.ndarray:
    """Return ids as cells of a CSV file."""
    special = re.compile(r'[,"\r\n]')
    if special.search("".join(ids)):
        ids = [_quote(id_) if special.search(id_) else id_ for id_ in ids]
    return np.array(ids, dtype=object)


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _quoted(column: str) -> str:
    """Return SQL for texts as cells of a CSV file, as `_quote_cells` returns them."""
    quoted = f"""'"' || replace({column}, '"', '""') || '"'"""
    return f"""if(regexp_matches({column}, '[,"\r\n]'), {quoted}, {column})"""


def _not_nan(column: str) -> str:
    """Return SQL for numbers of which nan becomes an empty cell."""
    return f"if(isnan({column}), NULL, {column})"
