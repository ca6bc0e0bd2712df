"""Votes from whatever holds them, as a long table in DuckDB."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mhpc.data.votes import Scope
from mhpc.errors import DataError
from mhpc.read.columns import no_rows
from mhpc.read.files import LocalFile
from mhpc.read.tables import MAX_CELL, Table
from mhpc.read.vote_formats import format_of
from mhpc.read.vote_formats.base import LongTable, VotesInput, open_votes_input


@dataclass(frozen=True, eq=False)
class VoteTable:
    """A table of votes, which of its columns plays which role, and what else was told.

    Attributes
    ----------
    table : Table
        The votes.
    columns : mapping of role to column
        Where the roles are.
    files : tuple of LocalFile
        What they were read from, if from files.
    plain : bool
        Whether the table is as it was given.
    gold : Table, optional
        A table instance, label of what is known, ``gold`` in the same connection.
    scope : Scope
        What sources can speak about, as the format tells.
    """

    table: Table
    columns: Mapping[str, str]
    files: tuple[LocalFile, ...]
    plain: bool
    gold: bool
    scope: Scope


@contextmanager
def open_votes(
    source: Any, *, columns: Mapping[str, str] | None = None, format_: str | None = None
) -> Iterator[VoteTable]:
    """Open votes in any format for as long as they are read."""
    with open_votes_input(source, name="the votes") as given:
        flat = format_of(given, format_).read(given, columns or {})
        if flat.numbered:
            _check_values(given, flat)
        table = Table(given.connection, tuple(flat.columns.values()), given.origin)
        yield VoteTable(
            table, flat.columns, given.files, not flat.numbered, _any_gold(given, flat), flat.scope
        )


def _any_gold(given: VotesInput, flat: LongTable) -> bool:
    return flat.gold and bool(given.connection.execute("SELECT 1 FROM gold LIMIT 1").fetchall())


def _check_values(given: VotesInput, flat: LongTable) -> None:
    """Refuse what is wrong, told by its place in the file rather than by its row in the table."""
    checks = {
        "no instance; it needs one": "coalesce(instance, '') = ''",
        "no source; it needs one": "coalesce(source, '') = ''",
        f"an id of more than {MAX_CELL:,} characters": (
            f"greatest(length(instance), length(source), length(label)) > {MAX_CELL}"
        ),
    }
    if "score" in flat.columns:
        checks["a score that is no number from 0 to 1"] = (
            "label IS NOT NULL AND NOT coalesce(TRY_CAST(score AS DOUBLE) BETWEEN 0 AND 1, false)"
        )
    firsts = ", ".join(f"min(number) FILTER ({wrong})" for wrong in checks.values())
    found = given.connection.execute(f"SELECT count(*), {firsts} FROM cells").fetchone()
    assert found is not None  # noqa: S101 - an aggregate has one row
    if not found[0]:
        raise no_rows(given.origin)
    for says, number in zip(checks, found[1:], strict=True):
        if number is not None:
            raise DataError(f"{given.place(number)}: {says}")
