"""Given: what votes are read from, looked at as far as a format asks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import duckdb

from mhpc.core.database import database
from mhpc.core.votes import Scope
from mhpc.errors import UnreadableError
from mhpc.read.files import LocalFile
from mhpc.read.records import first_record, load_array, load_lines, load_mappings
from mhpc.read.several import are_paths, local_files
from mhpc.read.sql import reason
from mhpc.read.table import cells_of_records, csv_columns, load_table


@dataclass(frozen=True, eq=False)
class Given:
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
        kinds = {"jsonl": "line", "json": "record"}
        return kinds.get(self.files[0].format, "row") if self.files else "record"

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
class Flat:
    """What a format made: the table ``cells``, and what else it knows.

    Attributes
    ----------
    columns : mapping of role to column
        Where instance, source, label and, if there is one, score are.
    numbered : bool
        Whether ``cells`` has a column ``number``, which `Given.place` can tell.
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

    def detects(self, given: Given) -> bool:
        """Tell by its content whether something is in this format."""

    def read(self, given: Given, columns: Mapping[str, str]) -> Flat:
        """Make the table ``cells``, a row a vote, and ``gold`` if some truth is known."""


@contextmanager
def opened(source: Any, *, name: str) -> Iterator[Given]:
    """Open what is given; `name` is what messages call it if it is no file."""
    with database() as connection:
        if isinstance(source, LocalFile):
            with _said_plainly(source.name):
                yield Given(connection, source.name, (source,))
        elif isinstance(source, str | Path) or are_paths(source):
            with local_files(source) as files:
                origin = files[0].name if len(files) == 1 else _joint_name(source)
                with _said_plainly(origin):
                    yield Given(connection, origin, files)
        else:
            with _said_plainly(name):
                yield Given(connection, name, value=source)


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
