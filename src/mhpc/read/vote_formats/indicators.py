"""Indicator columns: a column a label, its cells 0, 1, a probability, -1 for unsure, or blank."""

from collections.abc import Iterable, Sequence

import duckdb

from mhpc.errors import DataError, UnreadableError
from mhpc.read.files import LocalFile
from mhpc.read.tables import csv_columns, csv_relation, csv_sample
from mhpc.read.vote_formats.base import VotesInput
from mhpc.system.database import identifier, literal, reason

UNSURE = 0.5
"""The score of -1: the source would not say yes, nor no."""

_LOOKED_AT = 20_000
"""Rows by which columns of labels are told from others."""

_WRONG = 2.0
"""Stands for what is no number, and is out of range itself."""


def indicator_columns(
    connection: duckdb.DuckDBPyConnection, file: LocalFile | None, columns: Sequence[str]
) -> list[str]:
    """Return those columns most of whose first cells are indicators; others are not looked at.

    The head of a CSV file is looked at, else the first rows of ``cells``.
    """
    if not columns:
        return []
    if file is not None and file.format == "csv":
        header, rows = csv_columns(file), csv_sample(file)
        places = {name: header.index(name) for name in columns}
        # A row may be too short, which is told when all are read.
        return [
            name for name, at in places.items() if _mostly(row[at] for row in rows if at < len(row))
        ]
    counts = ", ".join(
        f"count(*) FILTER ({_is_indicator(_score(name))}) > count({_score(name)}) / 2"
        for name in columns
    )
    kept = ", ".join(map(identifier, columns))
    found = connection.execute(
        f"SELECT {counts} FROM (SELECT {kept} FROM cells LIMIT {_LOOKED_AT})"
    ).fetchone()
    return [column for column, mostly in zip(columns, found or (), strict=True) if mostly]


def load_scores(
    connection: duckdb.DuckDBPyConnection,
    file: LocalFile | None,
    name: str,
    roles: str,
    labels: Sequence[str],
) -> None:
    """Make a table of roles, which are SQL, and of scores, NULL where a cell is blank."""
    if file is not None and file.format == "csv":
        scores, cells = ", ".join(map(identifier, labels)), csv_relation(file, labels)
    else:
        scores = ", ".join(f"{_score(label)} AS {identifier(label)}" for label in labels)
        cells = "cells"
    try:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {roles}, {scores} FROM {cells}"
        )
    except duckdb.Error as error:
        if file is None:
            raise
        raise UnreadableError(f"{file.name}{reason(error)}") from None


def check_other_columns(given: VotesInput, relation: str, labels: Sequence[str]) -> None:
    """Refuse the first score of a label's column that is none."""
    odd = [f"NOT {_is_indicator(identifier(name))}" for name in labels]
    (wrong,) = given.connection.execute(
        f"SELECT min(number) FROM {relation} WHERE {' OR '.join(odd)}"
    ).fetchone() or (None,)
    if wrong is None:
        return
    row = given.connection.execute(
        f"SELECT {', '.join(odd)} FROM {relation} WHERE number = {wrong}"
    ).fetchone()
    name = next(name for name, is_odd in zip(labels, row or (), strict=True) if is_odd)
    raise DataError(
        f"{given.place(wrong)}: column {name!r} has something else than 0, 1, a score between, -1 "
        "for unsure, or nothing"
    )


def long_rows(relation: str, labels: Sequence[str]) -> str:
    """Return SQL for a row a vote: of labels above 0, or one without where all that is told is 0.

    What is blank was not asked, a row of blanks nothing at all. A look at one column after the
    other leaves alone what is 0, which is most.
    """
    said = [
        _rows(relation, literal(name), _graded(identifier(name)), _marked(identifier(name)))
        for name in labels
    ]
    told = ", ".join(map(identifier, labels))
    nothing = f"greatest({told}) = 0 AND least({told}) = 0" if len(labels) > 1 else f"{told} = 0"
    return " UNION ALL ".join([*said, _rows(relation, "NULL", "1.0", nothing)]) + " ORDER BY number"


def _rows(relation: str, label: str, score: str, where: str) -> str:
    return (
        f"SELECT number, instance, source, {label} AS label, {score} AS score FROM {relation} "
        f"WHERE {where}"
    )


def _graded(score: str) -> str:
    return f"CASE {score} WHEN -1 THEN {UNSURE} ELSE {score} END"


def _marked(score: str) -> str:
    return f"({score} > 0 OR {score} = -1)"


def told_labels(given: VotesInput, relation: str, labels: Sequence[str]) -> list[str]:
    """Return the labels that a relation tells anything about."""
    counts = ", ".join(f"count({identifier(name)}) > 0" for name in labels)
    found = given.connection.execute(f"SELECT {counts} FROM {relation}").fetchone() or ()
    return [label for label, some in zip(labels, found, strict=True) if some]


def _mostly(cells: Iterable[str]) -> bool:
    told = [cell for cell in cells if cell.strip()]
    return sum(map(_good, told)) > len(told) / 2


def _good(cell: str) -> bool:
    try:
        return 0 <= float(cell) <= 1 or float(cell) == -1
    except ValueError:
        return False


def _is_indicator(score: str) -> str:
    return f"({score} BETWEEN 0 AND 1 OR {score} = -1)"


def _score(column: str) -> str:
    """Return SQL for a cell as a number; the commonest ones need no look at their characters."""
    text = f"CAST({identifier(column)} AS VARCHAR)"
    return (
        f"CASE {text} WHEN '0' THEN 0.0 WHEN '1' THEN 1.0 WHEN '' THEN NULL WHEN '0.0' THEN 0.0 "
        f"WHEN '1.0' THEN 1.0 ELSE CASE WHEN trim({text}) = '' THEN NULL WHEN "
        f"{identifier(column)} IS NOT NULL THEN coalesce(TRY_CAST({text} AS DOUBLE), {_WRONG}) END "
        "END::DOUBLE"
    )
