"""Wide tables: a row an answer, a column a label, as GoEmotions and ConvAbuse have it."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from mhpc.errors import MissingColumnError, quote_list
from mhpc.read.columns import ALIASES, find_columns
from mhpc.read.files import LocalFile
from mhpc.read.vote_formats.base import CANONICAL, LongTable, VotesInput, remake_cells
from mhpc.read.vote_formats.indicators import (
    check_other_columns,
    indicator_columns,
    load_scores,
    long_rows,
)
from mhpc.system.database import identifier

WIDE_ALIASES = {
    "instance": (*ALIASES["instance"], "example_no", "example_id", "example", "id"),
    "source": (*ALIASES["source"], "user_id", "user"),
}
"""The columns that say who answered what, whose names are less often used for something else."""


def matches(given: VotesInput) -> bool:
    """Tell whether a table has an instance, a source, no label, but columns of indicators."""
    if len(given.files) > 1 or _nested(given):
        return False
    present = {column.strip().lower() for column in given.names}
    if present.intersection(ALIASES["label"]) or not all(
        present.intersection(names) for names in WIDE_ALIASES.values()
    ):
        return False
    return bool(indicator_columns(given.connection, _file(given), _others(given, {})))


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every label that a row marks."""
    chosen = {role: name for role, name in columns.items() if role in WIDE_ALIASES}
    roles = _roles(given, chosen)
    others = _others(given, chosen)
    if word := columns.get("label"):
        labels = [name for name in others if fnmatchcase(name, word)]
    else:
        labels = indicator_columns(given.connection, _file(given), others)
    if not labels:
        raise MissingColumnError(
            f"{given.origin}: no column of 0 and 1 for a label; it has {quote_list(given.names)}"
        )
    said = ", ".join(
        f"CAST({identifier(roles[role])} AS VARCHAR) AS {role}" for role in WIDE_ALIASES
    )
    load_scores(given.connection, _file(given), "answers", said, labels)
    numbered = "(SELECT rowid + 1 AS number, * FROM answers)"
    check_other_columns(given, numbered, labels)
    remake_cells(given, long_rows(numbered, labels))
    return LongTable(CANONICAL)


def _file(given: VotesInput) -> LocalFile | None:
    return given.files[0] if given.files else None


def _roles(given: VotesInput, chosen: Mapping[str, str]) -> dict[str, str]:
    return find_columns(
        given.names, WIDE_ALIASES, required=("instance", "source"), chosen=chosen,
        origin=given.origin, cure="say which is meant with --column ROLE=NAME",
    )  # fmt: skip


def _others(given: VotesInput, chosen: Mapping[str, str]) -> list[str]:
    taken = set(_roles(given, chosen).values())
    return [column for column in given.names if column not in taken]


def _nested(given: VotesInput) -> bool:
    """Tell whether records are more than rows of a table: their cells would only be in the way."""
    return any(isinstance(cell, dict | list) for cell in given.first.values())
