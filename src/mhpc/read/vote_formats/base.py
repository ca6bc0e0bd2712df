"""VoteFormat protocol, VotesInput, LongTable, SQL for nested cells."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import duckdb

from mhpc.data.taxonomy import PATH_SEPARATOR
from mhpc.data.votes import Scope
from mhpc.errors import DataError, MissingColumnError, UnreadableError, quote_list, suggest
from mhpc.read.archives import are_paths, local_files
from mhpc.read.files import LocalFile
from mhpc.read.json_xml import first_record, load_array, load_lines, load_mappings, pointer
from mhpc.read.tables import cells_of_records, csv_columns, load_table
from mhpc.system.database import database, literal, reason


@dataclass(frozen=True, eq=False)
class VotesInput:
    """Files, or something in memory, and a DuckDB connection to read them into.

    Attributes
    ----------
    connection : DuckDBPyConnection
        Where relations are made.
    origin : str
        What messages call it.
    files : tuple of LocalFile
        In order of their names; none where it is in memory.
    value : object
        What is in memory; None where there are files.
    """

    connection: duckdb.DuckDBPyConnection
    origin: str
    files: tuple[LocalFile, ...] = ()
    value: Any = None

    @property
    def head(self) -> str:
        """How the first file begins, where that is text."""
        return self.files[0].head if self.files else ""

    @property
    def unit(self) -> str:
        """What messages count in the only file: lines of JSON Lines, else records or rows."""
        relate_labels = {"jsonl": "line", "json": "record"}
        return relate_labels.get(self.files[0].format, "row") if self.files else "record"

    @cached_property
    def has_records(self) -> bool:
        """Whether there are JSON objects, which then are in ``records``."""
        if len(self.files) > 1:
            return False
        if self.files:
            loaders = {"jsonl": load_lines, "json": load_array}
            if load := loaders.get(self.files[0].format):
                load(self.connection, self.files[0])
            return self.files[0].format in loaders
        if not _are_mappings(self.value) or not _any_nested(self.value):
            return False
        load_mappings(self.connection, self.value, self.origin)
        return True

    def require_records(self, name: str) -> None:
        """Make ``records``, or say that a format which needs them was asked for in vain."""
        if not self.has_records:
            raise UnreadableError(f"{self.origin} holds no JSON objects, which format {name!r} has")

    def require_files(self, name: str) -> None:
        """Refuse what is in memory where a format has the source in the name of a file."""
        if not self.files:
            raise UnreadableError(f"{self.origin}: format {name!r} is read from files")

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """The first JSON object; nothing where there is none."""
        return first_record(self.connection) if self.has_records else {}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table ``cells``, which is made of what is given."""
        if self.has_records:
            return tuple(cells_of_records(self.connection, self.origin))
        source = self.files[0] if self.files else self.value
        return tuple(load_table(self.connection, source, self.origin))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns, without the table where the header of a CSV file tells them."""
        if len(self.files) == 1 and self.files[0].format == "csv":
            return tuple(csv_columns(self.files[0]))
        return self.columns

    def place(self, number: int) -> str:
        """Return where a record is, for messages."""
        if len(self.files) > 1:
            file, number = divmod(number, EACH)
            return f"{self.files[file].name}, line {number:,}"
        return f"{self.origin}, {self.unit} {number:,}"


@dataclass(frozen=True, eq=False)
class LongTable:
    """What a format made: the table ``cells``, and what else it knows.

    Attributes
    ----------
    columns : mapping of role to column
        Where instance, source, label and, if there is one, score are.
    numbered : bool
        Whether ``cells`` has a column ``number``, which `VotesInput.place` can tell.
    gold : bool
        Whether there is a table ``gold`` of instance and label.
    scope : mapping of source to labels, optional
        What sources can speak about, where the format says it.
    """

    columns: Mapping[str, str]
    numbered: bool = True
    gold: bool = False
    scope: Scope = "all"


EACH = 1 << 40
"""Of several files, the first numbers its records from here times 0, the second times 1, …"""

CANONICAL = {role: role for role in ("instance", "source", "label", "score")}
"""The columns of a table that a format makes anew."""

UNGRADED = {role: role for role in ("instance", "source", "label")}
"""The same where nobody gives scores."""


class VoteFormat(Protocol):
    """A format is a module with these two functions; `columns` is the user's word."""

    def matches(self, given: VotesInput) -> bool:
        """Tell by its content whether something is in this format."""

    def read(self, given: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make the table ``cells``, a row a vote, and ``gold`` if some truth is known."""


@contextmanager
def open_votes_input(source: Any, *, name: str) -> Iterator[VotesInput]:
    """Open what is given; `name` is what messages call it if it is no file."""
    with database() as connection:
        if isinstance(source, LocalFile):
            with _said_plainly(source.name):
                yield VotesInput(connection, source.name, (source,))
        elif isinstance(source, str | Path) or are_paths(source):
            with local_files(source) as files:
                origin = files[0].name if len(files) == 1 else _joint_name(source)
                with _said_plainly(origin):
                    yield VotesInput(connection, origin, files)
        else:
            with _said_plainly(name):
                yield VotesInput(connection, name, value=source)


@contextmanager
def _said_plainly(origin: str) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        # Parquet is read as it is asked for, so its errors come late.
        raise UnreadableError(f"{origin}{reason(error)}") from None


def _joint_name(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else f"{source[0]} and others"


def _are_mappings(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and bool(value)
        and not isinstance(value, str | bytes)
        and all(isinstance(row, Mapping) for row in value)
    )


def _any_nested(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether rows are more than a table: some cell of the first is a list or a mapping."""
    return any(isinstance(cell, Mapping | list | tuple) for cell in rows[0].values())


def path_of(steps: str) -> str:
    """Return SQL for a list of steps as a path."""
    return f"array_to_string({steps}, {literal(PATH_SEPARATOR)})"


def labels_of(value: str) -> str:
    """Return SQL for the labels of a JSON value: a text, or a list of texts or of paths.

    How the value begins tells which; DuckDB writes JSON without blanks.
    """
    text = f"CAST({value} AS VARCHAR)"
    path = path_of("""from_json(each, '["VARCHAR"]')""")
    paths = (
        f"""list_transform(from_json({value}, '["JSON"]'), lambda each: """
        f"""CASE json_type(each) WHEN 'ARRAY' THEN {path} ELSE each ->> '$' END)"""
    )
    return (
        f"CASE WHEN starts_with({text}, '[[') THEN {paths} WHEN starts_with({text}, '[') THEN "
        f"""from_json({value}, '["VARCHAR"]') WHEN {text} = 'null' THEN NULL """
        f"ELSE [{value} ->> '$'] END"
    )


def is_no_label(value: str) -> str:
    """Return SQL that tells an object, or a list of them, from labels."""
    text = f"CAST({value} AS VARCHAR)"
    return f"(starts_with({text}, '{{') OR starts_with({text}, '[{{'))"


def rows_of(labels: str) -> str:
    """Return SQL that makes a row of every label, and one without where there is none."""
    return f"unnest(CASE WHEN len({labels}) > 0 THEN {labels} ELSE [NULL] END)"


def field(record: str, name: str) -> str:
    """Return SQL for a field as text; ``meta.id`` is the field id of meta, if no key has dots."""
    if "." not in name:
        return f"({record} ->> {literal(pointer(name))})"
    nested = "/" + "/".join(pointer(part)[1:] for part in name.split("."))
    return f"coalesce({record} ->> {literal(pointer(name))}, {record} ->> {literal(nested)})"


def chosen_controls(
    given: VotesInput, present: Sequence[str], columns: Mapping[str, str], *, what: str
) -> list[str]:
    """Return which of several controls, questions or tasks gives the labels.

    The user's word may be a pattern: names of repeated controls carry an index.
    """
    if not present:
        raise MissingColumnError(f"{given.origin}: no {what} that gives labels; is it another one?")
    word = columns.get("label")
    if word is None:
        if len(present) > 1:
            raise DataError(
                f"{given.origin}: labels come from {len(present)} {what}s, {quote_list(present)}; "
                f"say which is meant with --column label=NAME"
            )
        return list(present)
    found = [name for name in present if fnmatchcase(name, word)]
    if not found:
        raise MissingColumnError(
            f"{given.origin}: no {what} {word!r}{suggest(word, present)}; it has {quote_list(present)}"
        )
    return found


def listed(names: Sequence[str]) -> str:
    """Return SQL for a list of texts."""
    return f"({', '.join(map(literal, names))})"


def refuse(given: VotesInput, relation: str, where: str, says: str) -> None:
    """Refuse the first of some rows with a number; `says` is SQL for what is wrong with it."""
    found = given.connection.execute(
        f"SELECT number, {says} FROM {relation} WHERE {where} ORDER BY number LIMIT 1"
    ).fetchone()
    if found:
        raise DataError(f"{given.place(found[0])}: {found[1]}")


def numbers(given: VotesInput) -> str:
    """Return SQL for the number of a row of ``cells``, from 1."""
    # The rows of a table have numbers already; to number those of a view takes turns.
    return "row_number() OVER ()" if _kind(given) == "VIEW" else "rowid + 1"


def remake_cells(given: VotesInput, query: str | None) -> None:
    """Make the table ``cells`` anew, whatever it was, or none at all."""
    if query is not None:
        given.connection.execute(f"CREATE TEMP TABLE remade AS {query}")
    if kind := _kind(given):
        given.connection.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} cells")
    if query is not None:
        given.connection.execute("ALTER TABLE remade RENAME TO cells")


def _kind(given: VotesInput) -> str | None:
    found = given.connection.execute(
        "SELECT table_type FROM information_schema.tables WHERE table_name = 'cells'"
    ).fetchone()
    return found[0] if found else None
