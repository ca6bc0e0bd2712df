"""Tables as CSV, TSV, JSON Lines, Parquet, or CSV that is safe to open in a spreadsheet."""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from mhpc.data.decision import LabelledScores
from mhpc.data.disagreement import Disagreements
from mhpc.data.items import Items
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Votes
from mhpc.errors import DataError
from mhpc.system.database import database, identifier, literal, writing
from mhpc.system.files import temporary_folder
from mhpc.system.memory import database_memory, memory_budget
from mhpc.write.formats import RUN_CONTENTS, Content, WriteFormat, as_text
from mhpc.write.tables import OutputTable, make_table, write_rows

_SQL_TYPES = {"text": "VARCHAR", "number": "DOUBLE", "count": "BIGINT", "flag": "BOOLEAN"}

FORMULA_MARK = "'"
"""What tells a spreadsheet that a cell is text."""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - intended
"""How a text begins that some spreadsheet takes for a formula."""


class Csv(WriteFormat):
    """Cells separated by commas, quoted where necessary."""

    name: ClassVar[str] = "csv"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)
    delimiter: ClassVar[str] = ","

    def write(self, file: BinaryIO, data: Any, content: Content) -> None:
        """Write a table."""
        table = make_table(data, content)
        with as_text(file) as text:
            write_rows(text, tuple(table.columns), table.rows(), delimiter=self.delimiter)


class Tsv(Csv):
    """Cells separated by tabs."""

    name: ClassVar[str] = "tsv"
    delimiter: ClassVar[str] = "\t"


class JsonLines(WriteFormat):
    """One JSON object per line with one key per column; null if a cell is empty.

    The label of an answer "none of these" is an empty text: null would mean "did not know".
    """

    name: ClassVar[str] = "jsonl"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)

    def write(self, file: BinaryIO, data: Any, content: Content) -> None:
        """Write a table."""
        table = make_table(data, content)
        names = tuple(table.columns)
        with as_text(file) as text:
            for row in table.rows():
                object_ = dict(zip(names, row, strict=True))
                if content == "votes" and object_["label"] is None:
                    object_["label"] = ""
                text.write(json.dumps(object_, ensure_ascii=False, allow_nan=False) + "\n")


class Parquet(WriteFormat):
    """Columns, compressed with zstd."""

    name: ClassVar[str] = "parquet"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)

    def write(self, file: BinaryIO, data: Any, content: Content) -> None:
        """Write a table, on disk first because DuckDB cannot write to an open file."""
        with temporary_folder("mhpc-") as folder, writing(folder):
            path = _copy_to_parquet(make_table(data, content), folder)
            with path.open("rb") as parquet:
                shutil.copyfileobj(parquet, file, 1 << 20)


def _copy_to_parquet(table: OutputTable, folder: Path) -> Path:
    _check_column_names(table.columns)
    path = folder / "table.parquet"
    columns = ", ".join(
        f"{identifier(name)} {_SQL_TYPES[kind]}" for name, kind in table.columns.items()
    )
    block_names = [f"c{number}" for number in range(len(table.columns))]
    cells = ", ".join(
        f"if(isnan({name}), NULL, {name})" if kind == "number" else name
        for name, kind in zip(block_names, table.columns.values(), strict=True)
    )
    memory = database_memory(memory_budget() // 4)
    with database() as connection:
        connection.execute(f"SET memory_limit = '{memory}B'")
        connection.execute(f"SET temp_directory = {literal(str(folder))}")
        connection.execute(f"CREATE TABLE output ({columns})")
        for block in table.blocks():
            connection.register("block", dict(zip(block_names, block, strict=True)))
            connection.execute(f"INSERT INTO output SELECT {cells} FROM block")
            connection.unregister("block")
        connection.execute(
            f"COPY output TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)"
        )
    return path


def _check_column_names(columns: Iterable[str]) -> None:
    """Raise an error for names that differ only in case, as ids of labels may."""
    first_with: dict[str, str] = {}
    for column in columns:
        if (other := first_with.setdefault(column.lower(), column)) != column:
            raise DataError(
                f"columns {other!r} and {column!r} differ only in case, which Parquet cannot hold "
                "here; write jsonl"
            )


class Spreadsheet(WriteFormat):
    """CSV that is safe to open in a spreadsheet, and that opens there as UTF-8.

    A text that begins like a formula or with an apostrophe gets an apostrophe in front, so removing
    one from every text that begins with it restores the original texts.
    """

    name: ClassVar[str] = "spreadsheet"
    writes: ClassVar[tuple[Content, ...]] = ("votes", "taxonomy", *RUN_CONTENTS)

    def write(self, file: BinaryIO, data: Any, content: Content) -> None:
        """Write a table in which no cell, not even in the header, is a formula."""
        table = make_table(data, content)
        # Spreadsheets recognize UTF-8 by the byte order mark.
        with as_text(file, encoding="utf-8-sig") as text:
            write_rows(text, [escape_formula(name) for name in table.columns], _escape_rows(table))


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return FORMULA_MARK + text if text.startswith((*_FORMULA_STARTS, FORMULA_MARK)) else text


def formulas_in(data: Any) -> list[str]:
    """Return the ids in data to be written that a spreadsheet would take for formulas."""
    return [id_ for ids in _ids_in(data) for id_ in ids if id_.startswith(_FORMULA_STARTS)]


def _ids_in(data: Any) -> Iterator[Iterable[str]]:
    if isinstance(data, Votes):
        yield from (data.instances, data.sources, data.labels)
    elif isinstance(data, Taxonomy):
        yield from (data.labels, data.names)
    elif isinstance(data, LabelledScores):
        yield from (data.instances, data.taxonomy.labels)
    elif isinstance(data, Items):
        yield from (data.instance, data.labels, data.path)
    elif isinstance(data, Disagreements):
        yield (case.instance for case in data.instances)
        yield (dispute.label for case in data.instances for dispute in case.disputed)
        yield data.names.values()
    else:
        yield (profile.source for profile in data)


def _escape_rows(table: OutputTable) -> Iterator[list[Any]]:
    for row in table.rows():
        yield [escape_formula(cell) if isinstance(cell, str) else cell for cell in row]
