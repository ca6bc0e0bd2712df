"""Csv, tsv, jsonl, parquet, spreadsheet."""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Votes
from mhpc.errors import DataError
from mhpc.system.database import database, writing
from mhpc.system.files import temporary_folder
from mhpc.system.memory import MIN_DATABASE_MEMORY, memory_budget
from mhpc.write.formats import RUN_CONTENTS, Content, Format, as_text
from mhpc.write.tables import Table, make_table, write_rows


class Csv(Format):
    """Cells between commas, quoted where they must be."""

    name: ClassVar[str] = "csv"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)
    delimiter: ClassVar[str] = ","

    def write(self, file: BinaryIO, subject: Any, what: Content) -> None:
        """Write a table."""
        table = make_table(subject, what)
        with as_text(file) as text:
            write_rows(text, tuple(table.columns), table.rows(), delimiter=self.delimiter)


class Tsv(Csv):
    """Cells between tabs."""

    name: ClassVar[str] = "tsv"
    delimiter: ClassVar[str] = "\t"


class JsonLines(Format):
    """An object a line, a key a column; null where a cell is empty."""

    name: ClassVar[str] = "jsonl"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)

    def write(self, file: BinaryIO, subject: Any, what: Content) -> None:
        """Write a table."""
        table = make_table(subject, what)
        names = tuple(table.columns)
        with as_text(file) as text:
            for row in table.rows():
                object_ = dict(zip(names, row, strict=True))
                text.write(json.dumps(object_, ensure_ascii=False, allow_nan=False) + "\n")


_TYPES = {"text": "VARCHAR", "number": "DOUBLE", "flag": "TINYINT"}


class Parquet(Format):
    """Columns, packed with zstd."""

    name: ClassVar[str] = "parquet"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)

    def write(self, file: BinaryIO, subject: Any, what: Content) -> None:
        """Write a table; what does not fit in memory waits on disk."""
        with temporary_folder("mhpc-") as folder, writing(folder):
            _copy(make_table(subject, what), folder)
            with (folder / "whole").open("rb") as whole:
                shutil.copyfileobj(whole, file, 1 << 20)


def _copy(table: Table, folder: Path) -> None:
    _check_distinct(table.columns)
    place = str(folder).replace("'", "''")
    columns = ", ".join(f"{_name(name)} {_TYPES[kind]}" for name, kind in table.columns.items())
    numbered = [f"c{at}" for at in range(len(table.columns))]
    with database() as connection:
        connection.execute(
            f"SET memory_limit = '{max(MIN_DATABASE_MEMORY, memory_budget() // 4)}B'"
        )
        connection.execute(f"SET temp_directory = '{place}'")
        connection.execute(f"CREATE TABLE whole ({columns})")
        for block in table.blocks():
            connection.register("block", dict(zip(numbered, block, strict=True)))
            connection.execute("INSERT INTO whole SELECT * FROM block")
            connection.unregister("block")
        connection.execute(f"COPY whole TO '{place}/whole' (FORMAT parquet, COMPRESSION zstd)")


def _check_distinct(columns: Iterable[str]) -> None:
    """Refuse names that differ in case alone, as ids of labels may."""
    seen: dict[str, str] = {}
    for column in columns:
        if (other := seen.setdefault(column.lower(), column)) != column:
            raise DataError(
                f"columns {other!r} and {column!r} differ in case alone, which Parquet cannot "
                "hold here; write jsonl"
            )


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


MARK = "'"
"""What tells a spreadsheet that a cell is text."""

_RUN = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - those are meant
"""How a text begins that some spreadsheet takes for a formula."""


class Spreadsheet(Format):
    """CSV that is safe to open in a spreadsheet, and opens there as UTF-8.

    A text that begins like a formula, or with the mark itself, gets an apostrophe in front, so
    that taking one away from every text that begins with it gives the texts back.
    """

    name: ClassVar[str] = "spreadsheet"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)

    def write(self, file: BinaryIO, subject: Any, what: Content) -> None:
        """Write a table, its header included, with no cell that can be run."""
        table = make_table(subject, what)
        # The mark of byte order is how spreadsheets know UTF-8.
        with as_text(file, encoding="utf-8-sig") as text:
            write_rows(text, [guarded(name) for name in table.columns], _guarded_rows(table))


def guarded(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return MARK + text if text.startswith((*_RUN, MARK)) else text


def unguarded(text: str) -> str:
    """Return the text that was guarded."""
    return text.removeprefix(MARK)


def formulas_in(subject: Any) -> list[str]:
    """Return the ids of what is written that a spreadsheet would take for formulas."""
    return [text for axis in _axes(subject) for text in axis if text.startswith(_RUN)]


def _axes(subject: Any) -> Iterator[Iterable[str]]:
    if isinstance(subject, Votes):
        yield from (subject.instances, subject.sources, subject.labels)
    elif isinstance(subject, Taxonomy):
        yield from (subject.labels, subject.names)
    else:
        yield from (subject.instances, subject.taxonomy.labels)


def _guarded_rows(table: Table) -> Iterator[list[Any]]:
    for row in table.rows():
        yield [guarded(cell) if isinstance(cell, str) else cell for cell in row]
