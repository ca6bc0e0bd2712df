"""Votes in any format, from one or several files, opened as one long table in DuckDB."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mhpc.data.votes import Scope
from mhpc.errors import DataError
from mhpc.read.archives import source_name
from mhpc.read.columns import Cells, no_rows_error
from mhpc.read.files import LocalFile
from mhpc.read.formats import choose_format
from mhpc.read.options import ReadOptions
from mhpc.read.tables import MAX_CELL, Table, text_sql
from mhpc.read.vote_formats import VOTE_FORMATS
from mhpc.read.vote_formats.base import (
    ROWS_PER_FILE,
    LongTable,
    VotesInput,
    drop_temporary,
    open_votes_input,
    row_number_sql,
    translate_errors,
)
from mhpc.read.vote_formats.matrices import is_indicator
from mhpc.read.vote_values import interpret_values
from mhpc.system.database import identifier

ROLES = ("instance", "source", "label", "score", "negative")
"""The roles of the columns of a long table; the last two may be absent."""


@dataclass(frozen=True, eq=False)
class VoteTable:
    """A long table of votes, with one row per vote and scores from 0 to 1.

    Attributes
    ----------
    table : Table
        The votes.
    columns : mapping of role to column
        The columns of instances, sources, labels and, if there are any, scores and negative votes.
    files : tuple of LocalFile
        The files that the votes come from; empty for an object in memory.
    is_original : bool
        Whether the table is the one in the input, not one that was built from it.
    has_gold : bool
        Whether the connection has a table ``gold`` of instances and known labels.
    models : tuple of str
        The sources that are models, beside people, if the format says so.
    scope : Scope
        Which labels each source can give, according to the format.
    cells : Cells, optional
        The votes as positions, if the format has them anyway.
    """

    table: Table
    columns: Mapping[str, str]
    files: tuple[LocalFile, ...]
    is_original: bool
    has_gold: bool
    models: tuple[str, ...]
    scope: Scope
    cells: Cells | None


@contextmanager
def open_votes(
    source: Any,
    options: ReadOptions | None = None,
    *,
    name: str = "the votes",
    default_source: str | None = None,
) -> Iterator[VoteTable]:
    """Open votes in any format.

    Parameters
    ----------
    source : paths or an object in memory
        As `mhpc.read_votes` takes it.
    options : ReadOptions, optional
        How to read it.
    name : str
        How messages refer to an object in memory.
    default_source : str, optional
        The source of a table that names none.
    """
    options = options or ReadOptions()
    with open_votes_input(
        source,
        name=name,
        default_source=default_source,
        usual_columns=options.usual_columns,
        table=options.table,
    ) as votes:
        long_table = interpret_values(votes, _read_long(votes, options), options)
        if long_table.is_numbered:
            _check_values(votes, long_table)
        yield VoteTable(
            table=Table(votes.connection, tuple(long_table.columns.values()), votes.origin),
            columns=long_table.columns,
            files=votes.files,
            is_original=not long_table.is_numbered,
            has_gold=long_table.has_gold and _has_gold_rows(votes),
            models=long_table.models,
            scope=long_table.scope,
            cells=long_table.cells,
        )


def _read_long(votes: VotesInput, options: ReadOptions) -> LongTable:
    """Read all files together if their format does so, else one after the other."""
    name = options.format
    if len(votes.files) > 1:
        together = {
            format_.name: format_
            for format_ in VOTE_FORMATS.values()
            if getattr(format_, "reads_several", False)
        }
        matching = [name] if name in together else []
        if name is None:
            matching = [key for key, format_ in together.items() if format_.matches(votes)]
        if not matching:
            return _read_each(votes, options)
        name = matching[0]
    elif name is None and _names_several_columns(votes, options.columns.get("source")):
        name = "source-columns"
    format_ = choose_format(VOTE_FORMATS, votes, name, what="format")
    if name is None and _names_labels(votes, format_.name, options):
        format_ = VOTE_FORMATS["long"]
    return format_.read(votes, options.columns)


def _names_labels(votes: VotesInput, format_name: str, options: ReadOptions) -> bool:
    """Return whether the user names a column that holds labels which look like scores: grades.

    In a table with a column of sources, a name chooses one of several columns of 0 and 1.
    """
    label = options.columns.get("label") or options.usual_columns.get("label")
    # Only of a table is there a header to look at.
    if format_name not in ("matrices", "wide") or label not in votes.header:
        return False
    return format_name == "matrices" or not all(map(is_indicator, votes.sample()[label]))


def _names_several_columns(votes: VotesInput, source: str | None) -> bool:
    """Return whether the user names several columns of sources, or a pattern of their names."""
    if source is None or not set(source) & {",", "*", "?"}:
        return False
    return source not in votes.header


def _read_each(votes: VotesInput, options: ReadOptions) -> LongTable:
    """Read files one by one, each in its own format, into one table.

    A file without sources is named after its source. Where only some files have scores, the votes
    of the others have none, which `interpret_values` understands.
    """
    scope: dict[str, tuple[str, ...]] = {}
    models: dict[str, None] = {}
    has_gold = has_score = has_negative = False
    for number, file in enumerate(votes.files):
        one = replace(votes, origin=file.name, files=(file,), default_source=source_name(file))
        with translate_errors(file.name):
            long_table = _read_long(one, options)
            _append_votes(one, long_table, number)
            if long_table.has_gold:
                target = "INSERT INTO all_gold" if has_gold else "CREATE TEMP TABLE all_gold AS"
                one.connection.execute(f"{target} SELECT instance, label FROM gold")
            drop_temporary(one, keep=("all_votes", "all_gold"))
        has_gold |= long_table.has_gold
        models.update(dict.fromkeys(long_table.models))
        has_score |= "score" in long_table.columns
        has_negative |= "negative" in long_table.columns
        if isinstance(long_table.scope, Mapping):
            scope.update(long_table.scope)
    votes.connection.execute("ALTER TABLE all_votes RENAME TO cells")
    if has_gold:
        votes.connection.execute("ALTER TABLE all_gold RENAME TO gold")
    absent = {"score": not has_score, "negative": not has_negative}
    columns = {role: role for role in ROLES if not absent.get(role, False)}
    return LongTable(columns, has_gold=has_gold, models=tuple(models), scope=scope or "all")


def _append_votes(votes: VotesInput, long_table: LongTable, number: int) -> None:
    """Add ``cells`` to ``all_votes``, with numbers that tell `VotesInput.locate` the file."""
    table = Table(votes.connection, tuple(long_table.columns.values()), votes.origin)
    selected = ", ".join(
        f"{text_sql(table, long_table.columns[role])} AS {role}"
        if role in long_table.columns
        else f"NULL::VARCHAR AS {role}"
        for role in ROLES
    )
    row = identifier("number") if long_table.is_numbered else row_number_sql(votes)
    target = "INSERT INTO all_votes" if number else "CREATE TEMP TABLE all_votes AS"
    votes.connection.execute(
        f"{target} SELECT {number * ROWS_PER_FILE} + {row} AS number, {selected} FROM cells"
    )


def _has_gold_rows(votes: VotesInput) -> bool:
    return bool(votes.connection.execute("SELECT 1 FROM gold LIMIT 1").fetchall())


def _check_values(votes: VotesInput, long_table: LongTable) -> None:
    """Raise errors that name the place in the file, which is not the row of the long table."""
    checks = {
        "no instance; it needs one": "coalesce(instance, '') = ''",
        "no source; it needs one": "coalesce(source, '') = ''",
        f"an id of more than {MAX_CELL:,} characters": (
            f"greatest(length(instance), length(source), length(label)) > {MAX_CELL}"
        ),
    }
    first_numbers = ", ".join(f"min(number) FILTER ({wrong})" for wrong in checks.values())
    row = votes.connection.execute(f"SELECT count(*), {first_numbers} FROM cells").fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    if not row[0]:
        raise no_rows_error(votes.origin)
    for message, number in zip(checks, row[1:], strict=True):
        if number is not None:
            raise DataError(f"{votes.locate(number)}: {message}")
