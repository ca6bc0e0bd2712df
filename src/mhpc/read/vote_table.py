"""Votes in any format, opened as a long table in DuckDB."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mhpc.data.votes import Scope
from mhpc.errors import DataError
from mhpc.read.columns import Cells, no_rows_error
from mhpc.read.files import LocalFile
from mhpc.read.formats import choose_format
from mhpc.read.tables import MAX_CELL, Table
from mhpc.read.vote_formats import VOTE_FORMATS
from mhpc.read.vote_formats.base import LongTable, VotesInput, open_votes_input

INVALID_SCORE_SQL = (
    "label IS NOT NULL AND NOT coalesce(TRY_CAST(score AS DOUBLE) BETWEEN 0 AND 1, false)"
)
"""The SQL condition of a vote whose score is not a number from 0 to 1."""


@dataclass(frozen=True, eq=False)
class VoteTable:
    """A long table of votes, with one row per vote.

    Attributes
    ----------
    table : Table
        The votes.
    columns : mapping of role to column
        The columns of instances, sources, labels and, if there are any, scores and marks of
        negative votes.
    files : tuple of LocalFile
        The files that the votes come from; empty for an object in memory.
    is_original : bool
        Whether the table is the one in the input, not one that a format built.
    has_gold : bool
        Whether the connection has a table ``gold`` of instances and known labels.
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
    scope: Scope
    cells: Cells | None


@contextmanager
def open_votes(
    source: Any, *, columns: Mapping[str, str] | None = None, format_: str | None = None
) -> Iterator[VoteTable]:
    """Open votes in any format."""
    with open_votes_input(source, name="the votes") as votes:
        chosen_format = choose_format(VOTE_FORMATS, votes, format_, what="format")
        long_table = chosen_format.read(votes, columns or {})
        if long_table.is_numbered:
            _check_values(votes, long_table)
        yield VoteTable(
            table=Table(votes.connection, tuple(long_table.columns.values()), votes.origin),
            columns=long_table.columns,
            files=votes.files,
            is_original=not long_table.is_numbered,
            has_gold=long_table.has_gold and _has_gold_rows(votes),
            scope=long_table.scope,
            cells=long_table.cells,
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
    if "score" in long_table.columns:
        checks["a score that is not a number from 0 to 1"] = INVALID_SCORE_SQL
    first_numbers = ", ".join(f"min(number) FILTER ({wrong})" for wrong in checks.values())
    row = votes.connection.execute(f"SELECT count(*), {first_numbers} FROM cells").fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    if not row[0]:
        raise no_rows_error(votes.origin)
    for message, number in zip(checks, row[1:], strict=True):
        if number is not None:
            raise DataError(f"{votes.locate(number)}: {message}")
