"""Any file or dataframe as a DuckDB relation ``cells``, with ids as text."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import duckdb

from mhpc.errors import DataError, MissingExtraError, UnreadableError
from mhpc.read.arrow_files import check_arrow_file
from mhpc.read.files import HEAD_BYTES, MAX_HEADER_BYTES, LocalFile, local_file
from mhpc.read.frames import MAX_EXACT_FLOAT, to_arrow, to_columns, to_native_frame
from mhpc.read.json_xml import keys_of_records, load_array, load_lines
from mhpc.read.spreadsheets import read_sheet
from mhpc.system.database import database, identifier, literal, one_file, reason, some_files
from mhpc.system.files import temporary_folder

TableSource: TypeAlias = Any
"""A path, ``-``, any dataframe, a mapping of columns, or a list of rows as mappings."""

MAX_CELL = 10_000
"""The most characters that an id may have; a longer one is an open quote, not an id."""

MAX_COLUMNS = 20_000
"""The most columns of a table: DuckDB takes about a millisecond for each, and much memory."""

MAX_EMPTY_CELLS = 5_000_000
"""How many cells a table of JSON objects may have if nearly all of them are empty."""

_WIDE = 1_000
"""The number of keys from which tables are checked for that."""

MAX_KEYS = 5_000
"""The most keys that JSON objects may have in all: the time of DuckDB is quadratic in them."""

_DELIMITERS = (",", "\t", ";", "|")
_NOT_TABLES = {
    "arff": "an ARFF file, which contains a truth and its taxonomy",
    "xml": "an XML file",
    "zip": "a zip archive",
}


@dataclass(frozen=True, eq=False)
class Table:
    """A relation ``cells`` in a DuckDB connection.

    Attributes
    ----------
    connection : DuckDBPyConnection
        Where the relation is.
    columns : tuple of str
        The names of its columns.
    origin : str
        How messages refer to what it was loaded from.
    """

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    origin: str


@contextmanager
def open_table(
    source: TableSource, *, name: str = "the table", lazy: bool = False
) -> Iterator[Table]:
    """Open a table, whose rows keep their order.

    Parameters
    ----------
    source : path, "-", LocalFile, dataframe, mapping of columns or list of rows
        What the table is loaded from.
    name : str
        How messages refer to a table that is not a file.
    lazy : bool
        Let each query read a CSV file, which is faster if there is only one; `store_cells` loads
        it if there are more.
    """
    if isinstance(source, str | Path):
        with local_file(source) as file, open_table(file, lazy=lazy) as table:
            yield table
        return
    origin = source.name if isinstance(source, LocalFile) else name
    with database() as connection:
        try:
            columns = load_table(connection, source, origin, lazy=lazy)
            yield Table(connection, tuple(columns), origin)
        except duckdb.Error as error:
            # DuckDB reads Parquet lazily, so its errors come here and not from _load_parquet.
            raise UnreadableError(f"{origin}{reason(error)}") from None


def load_table(
    connection: duckdb.DuckDBPyConnection,
    source: LocalFile | Any,
    origin: str,
    *,
    lazy: bool = False,
) -> Sequence[str]:
    """Load a file or an object in memory into ``cells``, and return its columns."""
    if not isinstance(source, LocalFile):
        return _load_object(connection, source, origin)
    loaders: dict[str, Callable[[duckdb.DuckDBPyConnection, LocalFile], Sequence[str]]] = {
        "csv": partial(_load_csv, lazy=lazy), "jsonl": _load_jsonl, "json": _load_json,
        "parquet": _load_parquet, "arrow": _load_arrow, "spreadsheet": _load_spreadsheet,
    }  # fmt: skip
    if source.format not in loaders:
        raise UnreadableError(f"{source.name} is {_NOT_TABLES[source.format]}, not a table")
    return loaders[source.format](connection, source)


def store_cells(table: Table) -> None:
    """Turn a view ``cells`` into a table, so that further queries do not read the file again."""
    views = "SELECT 1 FROM duckdb_views() WHERE view_name = 'cells'"
    if table.connection.execute(views).fetchone():
        table.connection.execute("CREATE TEMP TABLE stored_cells AS SELECT * FROM cells")
        table.connection.execute("DROP VIEW cells")
        table.connection.execute("ALTER TABLE stored_cells RENAME TO cells")


def text_sql(table: Table, column: str) -> str:
    """Return SQL for a column as text, so that the id 7 is '7' in every kind of file.

    Whole floats are integers in a column with gaps, as dataframes store them: 7.0 is '7'.
    """
    return texts_sql(table, [column])[0]


def texts_sql(table: Table, columns: Sequence[str]) -> list[str]:
    """Return `text_sql` of several columns, whose types are looked up at once."""
    names = [identifier(column) for column in columns]
    types = table.connection.table("cells").select(*names).types
    return [_cast_to_text(name, str(kind)) for name, kind in zip(names, types, strict=True)]


def spreadsheet_columns(file: LocalFile) -> dict[str, list[Any]]:
    """Return the cells of a spreadsheet by the names of their columns."""
    columns = read_sheet(file)
    names = _check_names([name for name, _ in columns], file.name)
    return dict(zip(names, (cells for _, cells in columns), strict=True))


def csv_columns(file: LocalFile, *, check: bool = True) -> list[str]:
    """Return the names in the header of a CSV file, or those that it was given instead of one.

    Without `check`, they are the cells of the first line, whatever these are.
    """
    if file.names:
        return list(file.names)
    lines, delimiter, n_blank = _find_dialect(file)
    header = lines[n_blank]
    if len(file.head.encode()) >= MAX_HEADER_BYTES and not header.endswith(("\n", "\r")):
        raise UnreadableError(
            f"{file.name}: its first line is longer than {MAX_HEADER_BYTES >> 20} MiB, so it is no "
            "header; give a table with a header and rows"
        )
    cells = next(_parse_csv(lines[n_blank:], delimiter, file.name))
    check_width(len(cells), file.name)
    return _check_names(cells, file.name) if check else cells


def csv_sample(file: LocalFile) -> list[list[str]]:
    """Return the rows that the head of a CSV file contains completely."""
    lines, delimiter, n_blank = _find_dialect(file)
    first = n_blank if file.names else n_blank + 1
    is_cut = len(file.head.encode()) >= HEAD_BYTES and not lines[-1].endswith(("\n", "\r"))
    complete = lines[first:-1] if is_cut else lines[first:]
    return list(_parse_csv(complete or lines[first:], delimiter, file.name))


def csv_relation(file: LocalFile, numbers: Collection[str] = ()) -> str:
    """Return SQL for the cells of a CSV file as text, or as numbers in some columns.

    The dialect is spelled out, because DuckDB's own guess may take '#' for a comment or an id for
    a date.
    """
    _, delimiter, n_blank = _find_dialect(file)
    types = ", ".join(
        f"{literal(column)}: '{'DOUBLE' if column in numbers else 'VARCHAR'}'"
        for column in csv_columns(file)
    )
    return (
        f"read_csv({one_file(file.path)}, auto_detect=false, "
        f"header={'false' if file.names else 'true'}, skip={n_blank}, "
        f"delim={literal(delimiter)}, quote='\"', escape='\"', compression='{file.compression}', "
        f"hive_partitioning=false, columns={{{types}}})"
    )


def check_width(width: int, origin: str, *, max_columns: int = MAX_COLUMNS) -> None:
    """Raise an error if a table has so many columns that reading it would seem to last forever."""
    if width > max_columns:
        raise DataError(
            f"{origin} has {width:,} columns, and at most {max_columns:,} are read; give one row "
            "per instance, source and label"
        )


def tabulate_records(
    connection: duckdb.DuckDBPyConnection, origin: str, *, max_keys: int = MAX_KEYS
) -> Sequence[str]:
    """Create ``cells`` from ``records`` with one column per key, and return the columns."""
    keys = keys_of_records(connection)
    if len(keys) > max_keys:
        raise DataError(
            f"{origin}: its objects have {len(keys):,} different keys, and at most {max_keys:,} "
            "are read as columns; give one object per instance, source and label, or CSV"
        )
    _check_density(connection, len(keys), origin)
    columns = _check_names(keys, origin)
    # Numbers and strings both become text, dates are not guessed, and all keys are read at once.
    shape = json.dumps(dict.fromkeys(keys, "VARCHAR"), ensure_ascii=False)
    cells = ", ".join(
        f"record.{identifier(key)} AS {identifier(column)}"
        for key, column in zip(keys, columns, strict=True)
    )
    connection.execute(
        f"CREATE TEMP TABLE cells AS SELECT {cells} FROM "
        f"(SELECT from_json(json, {literal(shape)}) AS record FROM records)"
    )
    return columns


def _check_density(connection: duckdb.DuckDBPyConnection, width: int, origin: str) -> None:
    """Raise an error if a small file would become a huge table of empty cells."""
    if width <= _WIDE:
        return
    answer = connection.execute("SELECT count(*), sum(len(json_keys(json))) FROM records")
    records, filled = answer.fetchone() or (0, 0)
    if records * width > MAX_EMPTY_CELLS and filled * 100 < records * width:
        raise DataError(
            f"{origin}: its {records:,} objects have {width:,} different keys, and each object has "
            "few of them; give one object per instance, source and label"
        )


def _cast_to_text(name: str, kind: str) -> str:
    if kind in ("FLOAT", "DOUBLE"):
        # TRY_CAST, as the cast is also tried on values of a dictionary that fail the condition.
        return (
            f"CASE WHEN isnan({name}) THEN NULL WHEN {name} = trunc({name}) AND "
            f"abs({name}) < {MAX_EXACT_FLOAT:.0f} THEN CAST(TRY_CAST({name} AS BIGINT) AS VARCHAR) "
            f"ELSE CAST({name} AS VARCHAR) END"
        )
    return f"CAST({name} AS VARCHAR)"


def _find_dialect(file: LocalFile) -> tuple[list[str], str, int]:
    """Return the lines of the head, the delimiter, and the number of blank lines at the top."""
    lines = io.StringIO(file.head, newline="").readlines()
    n_blank = next(number for number, line in enumerate(lines) if line.strip())
    return lines, max(_DELIMITERS, key=lines[n_blank].count), n_blank


def _parse_csv(lines: list[str], delimiter: str, origin: str) -> Iterator[list[str]]:
    """Yield the rows of lines; Python refuses cells that are far longer than any id."""
    try:
        yield from csv.reader(lines, delimiter=delimiter)
    except csv.Error as error:
        raise UnreadableError(f"{origin} is not CSV: {error}; is a quote left open?") from None


def _load_csv(
    connection: duckdb.DuckDBPyConnection, file: LocalFile, *, lazy: bool
) -> Sequence[str]:
    columns = csv_columns(file)
    # DuckDB skips blank lines, except in a file with a single column.
    rows = f" WHERE {identifier(columns[0])} IS NOT NULL" if len(columns) == 1 else ""
    connection.execute(
        f"CREATE TEMP {'VIEW' if lazy else 'TABLE'} cells AS "
        f"SELECT * FROM {csv_relation(file)}{rows}"
    )
    return columns


def _load_jsonl(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    load_lines(connection, file)
    return tabulate_records(connection, file.name)


def _load_json(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    load_array(connection, file)
    return tabulate_records(connection, file.name)


def _load_parquet(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    # With hive_partitioning, a folder called label=bee would give every row the label bee.
    table = f"read_parquet({some_files(file.parts or (file.path,))}, hive_partitioning=false)"
    connection.execute(f"CREATE TEMP VIEW cells AS SELECT * FROM {table}")
    try:
        columns: list[str] = connection.table("cells").columns
    except RuntimeError:
        # DuckDB raises this if the names are not text.
        raise UnreadableError(
            f"{file.name}: the names of its columns are not UTF-8; write the file again"
        ) from None
    _check_names(_names_in_parquet(connection, file), file.name)
    return columns


def _names_in_parquet(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> list[str]:
    """Return the names of the columns as they are in the file: DuckDB makes them different."""
    first = some_files((file.parts or (file.path,))[:1])
    _, *rows = connection.execute(
        f"SELECT name, num_children FROM parquet_schema({first})"
    ).fetchall()
    names, skipped = [], 0
    for name, children in rows:
        if not skipped:
            names.append(name)
        skipped += (children or 0) - (1 if skipped else 0)
    return names


def _load_arrow(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    try:
        from pyarrow import ArrowException, ipc
    except ImportError:
        raise MissingExtraError(
            f"{file.name} is an Arrow file; pip install 'mhpc[arrow]' to read it"
        ) from None
    check_arrow_file(file)
    try:
        frame = ipc.open_file(str(file.path)).read_all()
    except (ArrowException, OSError, MemoryError) as error:
        raise UnreadableError(f"{file.name} is a damaged Arrow file: {error}") from None
    return _load_object(connection, frame, file.name)


def _load_spreadsheet(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> Sequence[str]:
    return _load_object(connection, spreadsheet_columns(file), file.name)


def _load_object(connection: duckdb.DuckDBPyConnection, source: Any, origin: str) -> Sequence[str]:
    if isinstance(source, duckdb.DuckDBPyRelation):
        return _load_relation(connection, source, origin)
    source = to_arrow(source, origin)
    if (native := to_native_frame(source, origin)) is not None:
        # DuckDB lacks a few types of Arrow, such as half floats.
        with suppress(duckdb.NotImplementedException):
            return _load_native_frame(connection, native, origin)
    named_columns = to_columns(source, origin)
    columns = _check_names([name for name, _ in named_columns], origin)
    cells = [column for _, column in named_columns]
    lengths = dict.fromkeys(map(len, cells))
    if len(lengths) > 1:
        raise DataError(f"{origin}: its columns differ in length: {', '.join(map(str, lengths))}")
    connection.register("frame", dict(zip(columns, cells, strict=True)))
    connection.execute("CREATE TEMP TABLE cells AS SELECT * FROM frame")
    connection.unregister("frame")
    return columns


def _load_native_frame(
    connection: duckdb.DuckDBPyConnection, frame: Any, origin: str
) -> Sequence[str]:
    connection.register("frame", frame)
    # DuckDB makes names different that are the same but for their case.
    columns = _check_names(list(map(str, getattr(frame, "column_names", frame.columns))), origin)
    names = ", ".join(map(identifier, columns))
    # Arrow is as fast to query as a table of DuckDB; Python texts are better converted once.
    is_arrow = type(frame).__module__.startswith("pyarrow")
    connection.execute(
        f"CREATE TEMP {'VIEW' if is_arrow else 'TABLE'} cells AS "
        f"SELECT * FROM frame AS renamed({names})"
    )
    return columns


def _load_relation(
    connection: duckdb.DuckDBPyConnection, source: duckdb.DuckDBPyRelation, origin: str
) -> Sequence[str]:
    """Copy a relation from another connection through a file, so that no text visits Python."""
    columns = _check_names(source.columns, origin)
    # Parquet has no integers of 128 bits, and would round them.
    selected = ", ".join(
        f"CAST({identifier(name)} AS VARCHAR)" if "HUGEINT" in str(kind) else identifier(name)
        for name, kind in zip(source.columns, source.types, strict=True)
    )
    names = ", ".join(map(identifier, columns))
    with temporary_folder("mhpc-") as folder:
        path = folder / "relation.parquet"
        source.project(selected).to_parquet(str(path), compression="uncompressed")
        connection.execute(
            f"CREATE TEMP TABLE cells AS SELECT * FROM read_parquet({one_file(path)}, "
            f"hive_partitioning=false) AS renamed({names})"
        )
    return columns


def _check_names(header: Sequence[str], origin: str) -> list[str]:
    """Return names that differ in more than case; a column of row numbers often has none."""
    check_width(len(header), origin)
    columns = [name.strip() or f"column {number}" for number, name in enumerate(header, start=1)]
    if not columns:
        raise DataError(f"{origin}: no columns; give a header and rows")
    seen: set[str] = set()
    for column in columns:
        if column.lower() in seen:
            raise DataError(f"{origin}: the header names column {column!r} twice; rename one")
        seen.add(column.lower())
    return columns
