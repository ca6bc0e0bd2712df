"""Tables: any file or frame as text columns in DuckDB."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb

from mhpc.errors import DataError, UnreadableError, quoted
from mhpc.read.files import LocalFile, local_file
from mhpc.read.frames import WHOLE_BELOW, columns_of, texts
from mhpc.read.sql import identifier, literal, one_file, reason, some_files, text_lines

TableSource: TypeAlias = Any
"""A path, ``-``, any dataframe, a mapping of columns, or a list of rows as mappings."""

MAX_CELL = 10_000
"""Characters of the longest id that is believed; a longer one is a broken quote, not an id."""

_DELIMITERS = (",", "\t", ";", "|")


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
    read = _from_file if isinstance(source, LocalFile) else _from_frame
    with duckdb.connect() as connection:
        try:
            yield Table(connection, tuple(read(connection, source, origin)), origin)
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


def _from_file(
    connection: duckdb.DuckDBPyConnection, file: LocalFile, origin: str
) -> Sequence[str]:
    readers = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet, "arrow": _arrow, "arff": _arff}
    return readers[file.format](connection, file)


def _csv(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    # The header is read here and DuckDB told all about the dialect: its own guess may take
    # '#' for a comment or a date for an id.
    lines = io.StringIO(file.head, newline="").readlines()
    blank = next(at for at, line in enumerate(lines) if line.strip())
    delimiter = max(_DELIMITERS, key=lines[blank].count)
    header = next(csv.reader(lines[blank:], delimiter=delimiter))
    columns = _named(header, file.name)
    types = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in columns)
    # Where there is one column, a blank line reads as an empty cell; with several it is no row.
    rows = f" WHERE {identifier(columns[0])} IS NOT NULL" if len(columns) == 1 else ""
    connection.execute(
        "CREATE TEMP TABLE cells AS SELECT * FROM read_csv("
        f"{one_file(file.path)}, auto_detect=false, header=true, skip={blank}, "
        f"delim={literal(delimiter)}, quote='\"', escape='\"', compression='{file.compression}', "
        f"hive_partitioning=false, columns={{{types}}}){rows}"
    )
    return columns


def _jsonl(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    connection.execute(
        "CREATE TEMP TABLE objects AS SELECT number, line, TRY_CAST(line AS JSON) AS json FROM "
        f"(SELECT row_number() OVER () AS number, line "
        f"FROM {text_lines(file.path, file.compression)}) WHERE trim(line) <> ''"
    )
    wrong = connection.execute(
        "SELECT number, line FROM objects WHERE coalesce(json_type(json), '') <> 'OBJECT' "
        "ORDER BY number LIMIT 1"
    ).fetchone()
    if wrong:
        raise UnreadableError(
            f"{file.name}, line {wrong[0]:,}: {quoted([wrong[1]])} is not a JSON object; "
            "give one a line"
        )
    keys = connection.execute(
        "SELECT key FROM (SELECT number, unnest(json_keys(json)) AS key, "
        "generate_subscripts(json_keys(json), 1) AS place FROM objects) "
        "GROUP BY key ORDER BY min((number, place))"
    ).fetchall()
    columns = _named([key for (key,) in keys], file.name)
    # ->> gives text for numbers and strings alike, with no guess at dates.
    cells = ", ".join(
        f"json ->> {literal(_pointer(key))} AS {identifier(column)}"
        for (key,), column in zip(keys, columns, strict=True)
    )
    connection.execute(f"CREATE TEMP TABLE cells AS SELECT {cells} FROM objects ORDER BY number")
    return columns


def _parquet(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    # A folder called label=bee would otherwise give every row the label bee.
    table = f"read_parquet({some_files(file.parts or (file.path,))}, hive_partitioning=false)"
    connection.execute(f"CREATE TEMP VIEW cells AS SELECT * FROM {table}")
    return connection.table("cells").columns


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


def _arff(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    raise UnreadableError(
        f"{file.name} is an ARFF file, which holds a truth and its taxonomy, not a table of votes"
    )


def _from_frame(connection: duckdb.DuckDBPyConnection, source: Any, origin: str) -> Sequence[str]:
    given = columns_of(source, origin)
    columns = _named([name for name, _ in given], origin)
    cells = [texts(column) for _, column in given]
    lengths = dict.fromkeys(map(len, cells))
    if len(lengths) > 1:
        raise DataError(f"{origin}: its columns differ in length: {', '.join(map(str, lengths))}")
    connection.register("frame", dict(zip(columns, cells, strict=True)))
    connection.execute("CREATE TEMP TABLE cells AS SELECT * FROM frame")
    connection.unregister("frame")
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


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")
