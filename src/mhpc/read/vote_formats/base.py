"""What a vote format is, what it reads from and what it produces, and SQL that formats share."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import duckdb

from mhpc.data.taxonomy import PATH_SEPARATOR
from mhpc.data.votes import Scope
from mhpc.errors import (
    DataError,
    MissingColumnError,
    UnreadableError,
    option,
    pluralize,
    quote_list,
    suggest,
)
from mhpc.read.archives import are_paths, local_files
from mhpc.read.columns import ALIASES, Cells, find_columns
from mhpc.read.files import LocalFile
from mhpc.read.headers import name_columns
from mhpc.read.json_xml import (
    count_records,
    find_repeated_key,
    first_record,
    load_array,
    load_lines,
    load_mappings,
    pointer,
    unwrap_records,
)
from mhpc.read.tables import (
    Table,
    csv_columns,
    csv_sample,
    load_table,
    tabulate_records,
    texts_sql,
)
from mhpc.system.caching import cached_property
from mhpc.system.database import database, identifier, literal, reason

ROWS_PER_FILE = 1 << 40
"""Where there are several files, file n numbers its records from n times this number."""

SCORED_COLUMNS = {role: role for role in ("instance", "source", "label", "score")}
"""The columns of a long table that a format builds itself, by role."""

SAMPLED_ROWS = 20_000
"""How many rows decide what the columns of a table hold."""

UNSCORED_COLUMNS = {role: role for role in ("instance", "source", "label")}
"""The same for formats without scores."""


class VoteFormat(Protocol):
    """One way of storing votes. The formats are listed in `mhpc.read.vote_formats`."""

    @property
    def name(self) -> str:
        """The name by which users choose the format."""

    def matches(self, votes: "VotesInput", /) -> bool:
        """Return whether the content of an input is in this format."""

    def read(self, votes: "VotesInput", columns: Mapping[str, str], /) -> "LongTable":
        """Create the table ``cells`` with one row per vote, and ``gold`` if there are known labels.

        `columns` maps roles to the columns or controls that the user chose for them. A format that
        reads several files together, in which a file is named after a source, has an attribute
        ``reads_several``; all others read one file at a time.
        """


@dataclass(frozen=True, eq=False)
class VotesInput:
    """Files or an object in memory, and the DuckDB connection that they are loaded into.

    Attributes
    ----------
    connection : DuckDBPyConnection
        Where formats create their tables.
    origin : str
        How messages refer to the input.
    files : tuple of LocalFile
        The files in order of their names; empty for an object in memory.
    value : object
        The object in memory; None if there are files.
    default_source : str, optional
        The source of a table that names none: one of several files, or a truth.
    usual_columns : mapping of role to column
        Column names to look for before the usual ones.
    table : str
        What options call the table, if it is not that of the votes.
    """

    connection: duckdb.DuckDBPyConnection
    origin: str
    files: tuple[LocalFile, ...] = ()
    value: Any = None
    default_source: str | None = None
    usual_columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    table: str = ""

    @property
    def only_file(self) -> LocalFile | None:
        """The file, if there is exactly one."""
        return self.files[0] if len(self.files) == 1 else None

    @property
    def head(self) -> str:
        """The beginning of the first file, if it is text."""
        return self.files[0].head if self.files else ""

    @cached_property
    def has_records(self) -> bool:
        """Whether the input consists of JSON objects; if so, they are loaded into ``records``."""
        if len(self.files) > 1:
            return False
        if self.files:
            loaders = {"jsonl": load_lines, "json": load_array}
            if load := loaders.get(self.files[0].format):
                load(self.connection, self.files[0])
                self._unwrap_records()
                self._check_keys()
            return self.files[0].format in loaders
        if not _are_mappings(self.value) or not _has_nested_cells(self.value):
            return False
        load_mappings(self.connection, self.value, self.origin)
        return True

    def _check_keys(self) -> None:
        """Raise an error if an object has a key twice: readers differ in which of them counts."""
        if repeated := find_repeated_key(self.connection):
            number, key = repeated
            raise UnreadableError(
                f"{self.locate(number)}: key {quote_list([key])} is given twice; correct it"
            )

    def _unwrap_records(self) -> None:
        """Replace a single object around a list, such as ``{"results": […]}``, by that list.

        An object that names an instance is itself a record.
        """
        record = first_record(self.connection)
        lists = [key for key, value in record.items() if _are_mappings(value)]
        roles = find_columns(list(record), ALIASES, required=(), origin=self.origin)
        if len(lists) == 1 and "instance" not in roles and count_records(self.connection) == 1:
            unwrap_records(self.connection, lists[0])

    @cached_property
    def first_record(self) -> Mapping[str, Any]:
        """The first JSON object; empty if there is none."""
        return first_record(self.connection) if self.has_records else {}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table ``cells``, which is loaded from the input."""
        if self.has_records:
            return tuple(tabulate_records(self.connection, self.origin))
        source = self.files[0] if self.files else self.value
        return tuple(load_table(self.connection, source, self.origin))

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The names of the columns, without loading the table if a CSV header has them."""
        if self.only_file is not None and self.only_file.format == "csv":
            return tuple(csv_columns(self.only_file))
        return self.columns

    def sample(self, *, rows: int = SAMPLED_ROWS) -> dict[str, list[str]]:
        """Return the filled cells of the first rows as texts, by column."""
        header = self.header
        if self.only_file is not None and self.only_file.format == "csv":
            sampled = csv_sample(self.only_file)
            cells = [tuple(row) for row in sampled if len(row) == len(header)]
        else:
            table = Table(self.connection, header, self.origin)
            texts = ", ".join(texts_sql(table, header))
            cells = self.connection.execute(f"SELECT {texts} FROM cells LIMIT {rows}").fetchall()
        return {
            name: [row[place] for row in cells if row[place] and row[place].strip()]
            for place, name in enumerate(header)
        }

    def find_columns(
        self,
        aliases: Mapping[str, tuple[str, ...]],
        *,
        required: Sequence[str],
        chosen: Mapping[str, str],
        cure: str | None = None,
    ) -> dict[str, str]:
        """Return the column of each role that the table has, as `mhpc.read.columns` finds it."""
        usual = {
            role: name
            for role, name in self.usual_columns.items()
            if role in aliases and name in self.header
        }
        return find_columns(
            self.header, aliases, required=required, chosen={**usual, **chosen},
            origin=self.origin, cure=cure or f"choose it with {self.choose_column('ROLE')}",
        )  # fmt: skip

    def choose_column(self, role: str) -> str:
        """Return the option that chooses the column of a role, for messages."""
        return option("columns", {f"{self.table}.{role}" if self.table else role: "NAME"})

    def require_records(self, format_name: str) -> None:
        """Load ``records``, or raise an error that names the format that needs them."""
        if not self.has_records:
            raise UnreadableError(
                f"{self.origin} contains no JSON objects, which format {format_name!r} needs"
            )

    def require_files(self, format_name: str) -> None:
        """Raise an error for objects in memory if a format takes sources from file names."""
        if not self.files:
            raise UnreadableError(f"{self.origin}: format {format_name!r} is read from files")

    def locate(self, number: int) -> str:
        """Return where the record with a number is, for messages."""
        if len(self.files) > 1:
            file, number = divmod(number, ROWS_PER_FILE)
            return f"{self.files[file].name}, line {number:,}"
        return f"{self.origin}, {self._record_noun} {number:,}"

    @property
    def _record_noun(self) -> str:
        if not self.files:
            return "record"
        return {"jsonl": "line", "json": "record"}.get(self.files[0].format, "row")


@dataclass(frozen=True, eq=False)
class LongTable:
    """What reading a format yields: the table ``cells``, described by these attributes.

    Attributes
    ----------
    columns : mapping of role to column
        The columns of instances, sources, labels and, if there are any, scores and marks of
        negative votes.
    is_numbered : bool
        Whether ``cells`` has a column ``number`` that `VotesInput.locate` understands.
    has_gold : bool
        Whether there is also a table ``gold`` with the columns instance and label.
    models : tuple of str
        The sources that are models, beside people, if the format says so.
    scope : mapping of source to labels, optional
        Which labels each source can give, if the format says so.
    cells : Cells, optional
        The same table as positions, if the format has them anyway.
    """

    columns: Mapping[str, str]
    is_numbered: bool = True
    has_gold: bool = False
    models: tuple[str, ...] = ()
    scope: Scope = "all"
    cells: Cells | None = None


@contextmanager
def open_votes_input(
    source: Any,
    *,
    name: str,
    default_source: str | None = None,
    usual_columns: Mapping[str, str] = MappingProxyType({}),
    table: str = "",
) -> Iterator[VotesInput]:
    """Open paths or an object in memory, which messages refer to as `name`."""
    with ExitStack() as stack:
        connection = stack.enter_context(database())
        files: tuple[LocalFile, ...] = ()
        value, origin = source, name
        if isinstance(source, LocalFile):
            files, value, origin = (source,), None, source.name
        elif isinstance(source, str | Path) or are_paths(source):
            files, value = stack.enter_context(local_files(source)), None
            origin = files[0].name if len(files) == 1 else _joint_name(source)
        one_source = default_source is not None or len(files) > 1
        files = tuple(name_columns(file, one_source=one_source) for file in files)
        with translate_errors(origin):
            yield VotesInput(connection, origin, files, value, default_source, usual_columns, table)


@contextmanager
def translate_errors(origin: str) -> Iterator[None]:
    """Raise errors of DuckDB as errors about a file."""
    try:
        yield
    except duckdb.Error as error:
        # DuckDB reads Parquet lazily, so its errors may come from any later query.
        raise UnreadableError(f"{origin}{reason(error)}") from None


def _joint_name(source: Any) -> str:
    if isinstance(source, str | Path) or len(source) == 1:
        return str(source if isinstance(source, str | Path) else source[0])
    return f"{source[0]} and {pluralize(len(source) - 1, 'other')}"


def _are_mappings(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and bool(value)
        and not isinstance(value, str | bytes)
        and all(isinstance(row, Mapping) for row in value)
    )


def _has_nested_cells(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the first row has a list or a mapping in it, and so is not a table row."""
    return any(isinstance(cell, Mapping | list | tuple) for cell in rows[0].values())


def choose_controls(
    votes: VotesInput, present: Sequence[str], columns: Mapping[str, str], *, what: str
) -> list[str]:
    """Return which of several controls, questions or tasks the labels come from.

    The user's choice may be a pattern, because names of repeated controls carry an index.
    """
    if not present:
        raise MissingColumnError(
            f"{votes.origin}: no {what} in it contains labels; is it the right export?"
        )
    pattern = columns.get("label")
    if pattern is None:
        if len(present) > 1:
            raise DataError(
                f"{votes.origin}: {len(present)} {what}s contain labels, {quote_list(present)}; "
                f"choose one with {option('columns', {'label': 'NAME'})}"
            )
        return list(present)
    matching = [name for name in present if fnmatchcase(name, pattern)]
    if not matching:
        raise MissingColumnError(
            f"{votes.origin}: no {what} {pattern!r}{suggest(pattern, present)}; "
            f"it has {quote_list(present)}"
        )
    return matching


def check_rows(votes: VotesInput, relation: str, *, wrong: str, message: str) -> None:
    """Raise an error about the first row that is wrong.

    Parameters
    ----------
    relation : str
        A table or view with a column ``number``.
    wrong : str
        The SQL condition of a row that is wrong.
    message : str
        An SQL expression for what is wrong with it.
    """
    row = votes.connection.execute(
        f"SELECT number, {message} FROM {relation} WHERE {wrong} ORDER BY number LIMIT 1"
    ).fetchone()
    if row:
        raise DataError(f"{votes.locate(row[0])}: {row[1]}")


def drop_cells(votes: VotesInput) -> None:
    """Drop the table or view ``cells`` if there is one."""
    if kind := _cells_kind(votes):
        votes.connection.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} cells")


def replace_cells(votes: VotesInput, query: str) -> None:
    """Replace ``cells`` by the result of a query, which may read from it."""
    votes.connection.execute(f"CREATE TEMP TABLE new_cells AS {query}")
    drop_cells(votes)
    votes.connection.execute("ALTER TABLE new_cells RENAME TO cells")


def columns_of_cells(votes: VotesInput) -> dict[str, str]:
    """Return the columns of ``cells``, without that of the scores if all of them are 1.

    Otherwise the votes of other files, which have no scores, would seem to lack theirs.
    """
    row = votes.connection.execute("SELECT bool_or(score <> 1) FROM cells").fetchone()
    return SCORED_COLUMNS if row is not None and row[0] else UNSCORED_COLUMNS


def drop_temporary(votes: VotesInput, *, keep: Sequence[str]) -> None:
    """Drop all tables and views but some, so that another file can be read."""
    rows = votes.connection.execute(
        "SELECT table_name, table_type FROM information_schema.tables"
    ).fetchall()
    for name, kind in rows:
        if name not in keep:
            kind = "VIEW" if kind == "VIEW" else "TABLE"
            votes.connection.execute(f"DROP {kind} IF EXISTS {identifier(name)} CASCADE")


def row_number_sql(votes: VotesInput) -> str:
    """Return SQL for the number of a row of ``cells``, counted from 1."""
    # The rows of a table have numbers already; numbering those of a view is not parallel.
    return "row_number() OVER ()" if _cells_kind(votes) == "VIEW" else "rowid + 1"


def _cells_kind(votes: VotesInput) -> str | None:
    row = votes.connection.execute(
        "SELECT table_type FROM information_schema.tables WHERE table_name = 'cells'"
    ).fetchone()
    return row[0] if row else None


def path_sql(steps: str) -> str:
    """Return SQL that joins a list of steps into a path."""
    return f"array_to_string({steps}, {literal(PATH_SEPARATOR)})"


def labels_sql(value: str) -> str:
    """Return SQL for the list of labels in a JSON value: a text, or a list of texts or paths.

    The first characters decide which it is; DuckDB writes JSON without blanks.
    """
    text = f"CAST({value} AS VARCHAR)"
    path = path_sql("""from_json(item, '["VARCHAR"]')""")
    paths = (
        f"""list_transform(from_json({value}, '["JSON"]'), lambda item: """
        f"""CASE json_type(item) WHEN 'ARRAY' THEN {path} ELSE item ->> '$' END)"""
    )
    return (
        f"CASE WHEN starts_with({text}, '[[') THEN {paths} WHEN starts_with({text}, '[') THEN "
        f"""from_json({value}, '["VARCHAR"]') WHEN {text} = 'null' THEN NULL """
        f"ELSE [{value} ->> '$'] END"
    )


def is_object_sql(value: str) -> str:
    """Return the SQL condition that a JSON value is an object or a list of objects, not labels."""
    text = f"CAST({value} AS VARCHAR)"
    return f"(starts_with({text}, '{{') OR starts_with({text}, '[{{'))"


def unnest_labels_sql(labels: str) -> str:
    """Return SQL that makes one row per label, and one without a label if the list is empty."""
    return f"unnest(CASE WHEN len({labels}) > 0 THEN {labels} ELSE [NULL] END)"


def field_sql(record: str, name: str) -> str:
    """Return SQL for a field as text; ``meta.id`` is the field id in meta unless a key has dots."""
    if "." not in name:
        return f"({record} ->> {literal(pointer(name))})"
    nested = "/" + "/".join(pointer(part)[1:] for part in name.split("."))
    return f"coalesce({record} ->> {literal(pointer(name))}, {record} ->> {literal(nested)})"


def list_sql(texts: Sequence[str]) -> str:
    """Return SQL for a list of texts, to be used after IN."""
    return f"({', '.join(map(literal, texts))})"
