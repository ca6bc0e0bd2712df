"""Tables: any file or frame as text columns in DuckDB."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import narwhals as nw
import numpy as np

from mhpc.errors import DataError, UnreadableError
from mhpc.read.files import LocalFile, local_file

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
def open_table(source: TableSource) -> Iterator[Table]:
    """Open a table for as long as it is read; its rows keep their order."""
    with duckdb.connect() as connection:
        if isinstance(source, str | Path):
            with local_file(source) as file:
                yield _from_file(connection, file)
        else:
            yield _from_frame(connection, source)


def text_of(table: Table, column: str) -> str:
    """Return SQL for a column as text, so that the id 7 is '7' whatever file it came from.

    A column of whole floats is one of integers with gaps, as dataframes make them: 7.0 is '7'.
    """
    quoted = _identifier(column)
    kind = str(table.connection.table("cells").select(quoted).types[0])
    if kind in ("FLOAT", "DOUBLE"):
        return (
            f"CASE WHEN isnan({quoted}) THEN NULL WHEN {quoted} = trunc({quoted}) "
            f"AND abs({quoted}) < 1e15 THEN CAST(CAST({quoted} AS BIGINT) AS VARCHAR) "
            f"ELSE CAST({quoted} AS VARCHAR) END"
        )
    return f"CAST({quoted} AS VARCHAR)"


def _from_file(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Table:
    readers = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet, "arrow": _arrow, "arff": _arff}
    try:
        columns = readers[file.format](connection, file)
    except duckdb.Error as error:
        raise UnreadableError(f"{file.name}{_reason(error)}") from None
    return Table(connection, tuple(columns), file.name)


def _csv(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> list[str]:
    # The header is read here and DuckDB told all about the dialect: its own guess may take
    # '#' for a comment or a date for an id.
    first = next(line for line in file.head.splitlines() if line.strip())
    delimiter = max(_DELIMITERS, key=first.count)
    columns = [name.strip() for name in next(csv.reader([first], delimiter=delimiter))]
    _require_unique(columns, file.name)
    types = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in columns)
    connection.execute(
        "CREATE TEMP TABLE cells AS SELECT * FROM read_csv("
        f"{_literal(str(file.path))}, auto_detect=false, header=true, delim={_literal(delimiter)}, "
        f"quote='\"', escape='\"', compression='{file.compression}', columns={{{types}}})"
    )
    return columns


def _jsonl(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> list[str]:
    compression = {"none": "uncompressed"}.get(file.compression, file.compression)
    connection.execute(
        "CREATE TEMP TABLE objects AS SELECT json FROM read_ndjson_objects("
        f"{_literal(str(file.path))}, compression='{compression}')"
    )
    keys = connection.execute(
        "SELECT key, min(place) FROM (SELECT unnest(json_keys(json)) AS key, "
        "generate_subscripts(json_keys(json), 1) AS place FROM objects) "
        "GROUP BY key ORDER BY 2, 1"
    ).fetchall()
    columns = [key for key, _ in keys]
    # ->> gives text for numbers and strings alike, with no guess at dates.
    cells = ", ".join(f"json ->> {_literal(_pointer(k))} AS {_identifier(k)}" for k in columns)
    connection.execute(f"CREATE TEMP TABLE cells AS SELECT {cells} FROM objects")
    return columns


def _parquet(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> list[str]:
    path = _literal(str(file.path))
    connection.execute(f"CREATE TEMP VIEW cells AS SELECT * FROM read_parquet({path})")
    return list(connection.table("cells").columns)


def _arrow(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> list[str]:
    try:
        from pyarrow import ipc
    except ImportError:
        raise UnreadableError(
            f"{file.name} is an Arrow file; pip install 'mhpc[arrow]' to read it"
        ) from None
    frame = ipc.open_file(str(file.path)).read_all()
    return list(_from_frame(connection, frame, origin=file.name).columns)


def _arff(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> list[str]:
    raise UnreadableError(
        f"{file.name} is an ARFF file, which holds a truth and its taxonomy, not a table of votes"
    )


def _from_frame(
    connection: duckdb.DuckDBPyConnection, source: Any, *, origin: str = "the table"
) -> Table:
    columns = _columns_of(source)
    if not columns:
        raise DataError(f"{origin} has no columns")
    connection.register("frame", columns)
    connection.execute("CREATE TEMP TABLE cells AS SELECT * FROM frame")
    connection.unregister("frame")
    return Table(connection, tuple(columns), origin)


def _columns_of(source: Any) -> dict[str, Any]:
    """Return columns as arrays that DuckDB takes, with None where a cell is empty."""
    if isinstance(source, Mapping):
        return {str(name): _objects(cells) for name, cells in source.items()}
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        if not all(isinstance(row, Mapping) for row in source):
            raise DataError("rows of a table must be mappings such as {'instance': …}")
        names = dict.fromkeys(name for row in source for name in row)
        return {str(name): _objects([row.get(name) for row in source]) for name in names}
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise DataError(
            f"cannot read votes from {type(source).__name__}; give a path, a dataframe, "
            "a mapping of columns or a list of mappings"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return {name: _objects(frame[name].to_list()) for name in frame.columns}


def _objects(cells: Any) -> Any:
    """Numbers stay numbers if all are; anything else is text."""
    values = [None if cell is None or cell != cell else cell for cell in cells]
    if values and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return np.array(values)
    return np.array([None if v is None else _text(v) for v in values], dtype=object)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _require_unique(columns: Sequence[str], name: str) -> None:
    twice = next((c for at, c in enumerate(columns) if c in columns[:at]), None)
    if twice is not None:
        raise DataError(f"{name}: the header names column {twice!r} twice; rename one")


def _reason(error: duckdb.Error) -> str:
    """Boil DuckDB's report down to where and what."""
    text = str(error)
    line = re.search(r"on Line: (\d+)", text)
    where = f", line {line[1]}" if line else ""
    if "unicode" in text.lower() or "utf" in text.lower():
        return f"{where}: not UTF-8 text; save the file as UTF-8"
    if "Maximum line size" in text or "maximum_object_size" in text:
        return f"{where}: a line is longer than can be read; is a quote left open?"
    if "quote" in text.lower():
        return f"{where}: a quote is opened and not closed"
    columns = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if columns:
        return f"{where}: {columns[2]} columns where the header has {columns[1]}"
    said = [part for part in text.splitlines() if part and not part.startswith("Original")]
    return f"{where}: {' '.join(said[1:2] or said[:1])[:200]}"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")
