"""Tables: any file or frame as text columns in DuckDB."""

import csv
import io
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb

from mhpc.errors import DataError, UnreadableError
from mhpc.read.files import LocalFile, local_file
from mhpc.read.frames import WHOLE_BELOW, columns_of, plain_frame, plain_native
from mhpc.read.json_xml import keys_of_records, load_array, load_lines
from mhpc.system.database import database, identifier, literal, one_file, reason, some_files
from mhpc.system.files import temporary_folder

TableSource: TypeAlias = Any
"""A path, ``-``, any dataframe, a mapping of columns, or a list of rows as mappings."""

MAX_CELL = 10_000
"""Characters of the longest id that is believed; a longer one is a broken quote, not an id."""

_DELIMITERS = (",", "\t", ";", "|")
_NO_TABLES = {
    "arff": "an ARFF file, which holds a truth and its taxonomy",
    "xml": "an XML file",
    "zip": "a zip archive",
}


@dataclass(frozen=True, eq=False)
class Table:
    """A relation ``cells`` in a DuckDB connection, and what it was made from."""

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    origin: str


@contextmanager
def open_table(source: TableSource, *, name: str = "the table") -> Iterator[Table]:
    """Open a table for as long as it is read; its rows keep their order.

    `name` is what messages call a table that is no file.
    """
    if isinstance(source, str | Path):
        with local_file(source) as file, open_table(file) as table:
            yield table
        return
    origin = source.name if isinstance(source, LocalFile) else name
    with database() as connection:
        try:
            yield Table(connection, tuple(load_table(connection, source, origin)), origin)
        except duckdb.Error as error:
            # Parquet is read as it is asked for, so its errors come late: here, not in _parquet.
            raise UnreadableError(f"{origin}{reason(error)}") from None


def text_of(table: Table, column: str) -> str:
    """Return SQL for a column as text, so that the id 7 is '7' whatever file it came from.

    A column of whole floats is one of integers with gaps, as dataframes make them: 7.0 is '7'.
    """
    name = identifier(column)
    kind = str(table.connection.table("cells").select(name).types[0])
    if kind in ("FLOAT", "DOUBLE"):
        return (
            f"CASE WHEN isnan({name}) THEN NULL WHEN {name} = trunc({name}) "
            f"AND abs({name}) < {WHOLE_BELOW:.0f} THEN CAST(CAST({name} AS BIGINT) AS VARCHAR) "
            f"ELSE CAST({name} AS VARCHAR) END"
        )
    return f"CAST({name} AS VARCHAR)"


def load_table(
    connection: duckdb.DuckDBPyConnection, source: LocalFile | Any, origin: str
) -> Sequence[str]:
    """Make ``cells`` of a file or of what is in memory, and return its columns."""
    if not isinstance(source, LocalFile):
        return _from_frame(connection, source, origin)
    readers = {
        "csv": _csv, "jsonl": _jsonl, "json": _json, "parquet": _parquet, "arrow": _arrow,
    }  # fmt: skip
    return readers.get(source.format, _no_table)(connection, source)


def _csv(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    columns = csv_columns(file)
    # Where there is one column, a blank line reads as an empty cell; with several it is no row.
    rows = f" WHERE {identifier(columns[0])} IS NOT NULL" if len(columns) == 1 else ""
    connection.execute(f"CREATE TEMP TABLE cells AS SELECT * FROM {csv_relation(file)}{rows}")
    return columns


def csv_columns(file: LocalFile) -> list[str]:
    """Return the columns that the header of a CSV file names."""
    lines, delimiter, blank = _dialect(file)
    return _named(next(csv.reader(lines[blank:], delimiter=delimiter)), file.name)


def csv_sample(file: LocalFile) -> list[list[str]]:
    """Return the rows of a CSV file that its head holds whole."""
    lines, delimiter, blank = _dialect(file)
    return list(csv.reader(lines[blank + 1 : -1] or lines[blank + 1 :], delimiter=delimiter))


def csv_relation(file: LocalFile, numbers: Collection[str] = ()) -> str:
    """Return SQL for the cells of a CSV file as text, those of some columns as numbers.

    DuckDB is told all about the dialect: its own guess may take '#' for a comment or a date for an
    id.
    """
    _, delimiter, blank = _dialect(file)
    types = ", ".join(
        f"{literal(column)}: '{'DOUBLE' if column in numbers else 'VARCHAR'}'"
        for column in csv_columns(file)
    )
    return (
        f"read_csv({one_file(file.path)}, auto_detect=false, header=true, skip={blank}, "
        f"delim={literal(delimiter)}, quote='\"', escape='\"', compression='{file.compression}', "
        f"hive_partitioning=false, columns={{{types}}})"
    )


def _dialect(file: LocalFile) -> tuple[list[str], str, int]:
    """Return the lines of the head, what separates cells, and how many blank lines come first."""
    lines = io.StringIO(file.head, newline="").readlines()
    blank = next(at for at, line in enumerate(lines) if line.strip())
    return lines, max(_DELIMITERS, key=lines[blank].count), blank


def _jsonl(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    load_lines(connection, file)
    return cells_of_records(connection, file.name)


def _json(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    load_array(connection, file)
    return cells_of_records(connection, file.name)


def cells_of_records(connection: duckdb.DuckDBPyConnection, origin: str) -> Sequence[str]:
    """Make ``cells`` of ``records``, a column a key, and return the columns."""
    keys = keys_of_records(connection)
    columns = _named(keys, origin)
    # Text for numbers and strings alike, with no guess at dates; all keys in one look.
    shape = json.dumps(dict.fromkeys(keys, "VARCHAR"), ensure_ascii=False)
    cells = ", ".join(
        f"found.{identifier(key)} AS {identifier(column)}"
        for key, column in zip(keys, columns, strict=True)
    )
    connection.execute(
        f"CREATE TEMP TABLE cells AS SELECT {cells} FROM "
        f"(SELECT from_json(json, {literal(shape)}) AS found FROM records)"
    )
    return columns


def _parquet(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    # A folder called label=bee would otherwise give every row the label bee.
    table = f"read_parquet({some_files(file.parts or (file.path,))}, hive_partitioning=false)"
    connection.execute(f"CREATE TEMP VIEW cells AS SELECT * FROM {table}")
    try:
        return connection.table("cells").columns
    except RuntimeError:
        # What DuckDB's binding says of names that are no text.
        raise UnreadableError(
            f"{file.name}: its columns' names are not UTF-8; write it anew"
        ) from None


def _arrow(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    try:
        from pyarrow import ArrowException, ipc
    except ImportError:
        raise UnreadableError(
            f"{file.name} is an Arrow file; pip install 'mhpc[arrow]' to read it"
        ) from None
    try:
        frame = ipc.open_file(str(file.path)).read_all()
    except (ArrowException, OSError) as error:
        raise UnreadableError(f"{file.name} is a damaged Arrow file: {error}") from None
    return _from_frame(connection, frame, file.name)


def _no_table(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    raise UnreadableError(f"{file.name} is {_NO_TABLES[file.format]}, not a table")


def _from_frame(connection: duckdb.DuckDBPyConnection, source: Any, origin: str) -> Sequence[str]:
    if isinstance(source, duckdb.DuckDBPyRelation):
        return _from_relation(connection, source, origin)
    source = plain_frame(source, origin)
    if (native := plain_native(source, origin)) is not None:
        return _from_native(connection, native, origin)
    given = columns_of(source, origin)
    columns = _named([name for name, _ in given], origin)
    cells = [column for _, column in given]
    lengths = dict.fromkeys(map(len, cells))
    if len(lengths) > 1:
        raise DataError(f"{origin}: its columns differ in length: {', '.join(map(str, lengths))}")
    connection.register("frame", dict(zip(columns, cells, strict=True)))
    connection.execute("CREATE TEMP TABLE cells AS SELECT * FROM frame")
    connection.unregister("frame")
    return columns


def _from_native(connection: duckdb.DuckDBPyConnection, native: Any, origin: str) -> Sequence[str]:
    connection.register("frame", native)
    columns = _named(connection.table("frame").columns, origin)
    named = ", ".join(map(identifier, columns))
    # Arrow is as quick to read as a table of DuckDB; frames of Python's texts are read but once.
    arrow = type(native).__module__.startswith("pyarrow")
    connection.execute(
        f"CREATE TEMP {'VIEW' if arrow else 'TABLE'} cells AS SELECT * FROM frame AS given({named})"
    )
    return columns


def _from_relation(
    connection: duckdb.DuckDBPyConnection, source: duckdb.DuckDBPyRelation, origin: str
) -> Sequence[str]:
    """Take over what lives in another connection, by a file: no text passes through Python."""
    columns = _named(source.columns, origin)
    # Parquet has no integers of 128 bits, and would round them.
    kept = ", ".join(
        f"CAST({identifier(name)} AS VARCHAR)" if "HUGEINT" in str(kind) else identifier(name)
        for name, kind in zip(source.columns, source.types, strict=True)
    )
    named = ", ".join(map(identifier, columns))
    with temporary_folder("mhpc-") as folder:
        path = folder / "relation.parquet"
        source.project(kept).to_parquet(str(path), compression="uncompressed")
        connection.execute(
            f"CREATE TEMP TABLE cells AS SELECT * FROM read_parquet({one_file(path)}, "
            f"hive_partitioning=false) AS given({named})"
        )
    return columns


def _named(header: Sequence[str], origin: str) -> list[str]:
    """Return column names that tell columns apart, case aside; row numbers often have none."""
    columns = [name.strip() or f"column {at}" for at, name in enumerate(header, start=1)]
    if not columns:
        raise DataError(f"{origin}: no columns; give a header and rows")
    seen: set[str] = set()
    for column in columns:
        if column.lower() in seen:
            raise DataError(f"{origin}: the header names column {column!r} twice; rename one")
        seen.add(column.lower())
    return columns
