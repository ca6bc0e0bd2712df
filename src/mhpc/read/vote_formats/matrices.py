"""Tables with one column per label: one row per answer, or one matrix per source.

A matrix is a table of one source, which the file is named after. The cell of a label is 0, 1, a
probability in between, -1 for "unsure", or blank for "not asked".
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import duckdb

from mhpc.errors import (
    DataError,
    MissingColumnError,
    ReadingWarning,
    UnreadableError,
    pluralize,
    quote_list,
    silence_warnings,
    warn,
)
from mhpc.read.archives import source_name
from mhpc.read.columns import ALIASES, TAXONOMY_ALIASES, find_columns, normalize_name
from mhpc.read.files import HEAD_BYTES, LocalFile
from mhpc.read.tables import (
    csv_columns,
    csv_relation,
    csv_sample,
    load_table,
    spreadsheet_columns,
)
from mhpc.read.vote_formats.base import (
    ROWS_PER_FILE,
    SAMPLED_ROWS,
    SCORED_COLUMNS,
    LongTable,
    VotesInput,
    drop_cells,
    replace_cells,
)
from mhpc.read.vote_formats.source_columns import find_score_columns
from mhpc.system.database import identifier, literal, reason

WIDE_ALIASES = {role: ALIASES[role] for role in ("instance", "source")}
"""The roles that a table with one column per label has columns for."""

N_CERTAIN_NAMES = 12
"""So many of the names of the role "label" are never names of labels themselves."""

_CERTAIN_NAMES = frozenset(map(normalize_name, ALIASES["label"][:N_CERTAIN_NAMES]))

MIN_OTHER_LABELS = 3
"""Columns of 0 and 1 beside one called like the role "label", for it to be a label itself."""

_KINDS = ("csv", "parquet", "spreadsheet")
"""The kinds of files that a matrix can be."""

MOST_SELECTS = 500
"""The most columns of labels that are selected one after the other."""

UNSURE_SCORE = 0.5
"""The score of a cell with -1: the source says neither yes nor no."""

_NOT_A_NUMBER = 2.0
"""Stands for a cell that is not a number; as a score it is out of range."""


class WideFormat:
    """One row per answer and one column per label, as in GoEmotions and ConvAbuse."""

    name = "wide"

    def matches(self, votes: VotesInput) -> bool:
        """Look for an instance, a source, no label, but columns of 0 and 1."""
        if len(votes.files) > 1 or _has_nested_fields(votes):
            return False
        roles = votes.find_columns(ALIASES, required=(), chosen={})
        if not {"instance", "source"} <= roles.keys() or _holds_labels(roles):
            return False
        labels = _find_label_columns(votes, votes.only_file, _columns_without_role(votes, {}))
        return _are_labels(_drop_scores(labels, votes.header), roles)

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label that an answer marks."""
        chosen = {role: name for role, name in columns.items() if role in WIDE_ALIASES}
        candidates = _columns_without_role(votes, chosen)
        if pattern := columns.get("label"):
            labels = [name for name in candidates if fnmatchcase(name, pattern)]
        else:
            labels = _find_label_columns(votes, votes.only_file, candidates)
        if not labels:
            raise MissingColumnError(
                f"{votes.origin}: no column of 0 and 1 for a label; "
                f"it has {quote_list(votes.header)}"
            )
        roles = _find_wide_roles(votes, chosen)
        selected = ", ".join(
            f"CAST({identifier(roles[role])} AS VARCHAR) AS {role}" for role in WIDE_ALIASES
        )
        _load_scores(votes, votes.only_file, "answers", selected, labels)
        numbered = "(SELECT rowid + 1 AS number, * FROM answers)"
        _check_label_columns(votes, numbered, labels)
        if "label" not in columns:
            others = [name for name in candidates if name not in labels]
            _warn_of_others(votes.origin, labels, others)
        _warn_of_unsure(votes.origin, _count_unsure(votes, numbered, labels))
        replace_cells(votes, _long_rows_sql(numbered, labels))
        return LongTable(SCORED_COLUMNS)


def is_indicator(cell: str) -> bool:
    """Return whether a cell is 0, 1, a probability or -1, as that of a label."""
    try:
        return 0 <= float(cell) <= 1 or float(cell) == -1
    except ValueError:
        return False


def _has_nested_fields(votes: VotesInput) -> bool:
    """Return whether records are more than rows of a table, which are not loaded as one then."""
    return any(isinstance(cell, dict | list) for cell in votes.first_record.values())


def _find_wide_roles(votes: VotesInput, chosen: Mapping[str, str]) -> dict[str, str]:
    return votes.find_columns(WIDE_ALIASES, required=("instance", "source"), chosen=chosen)


def _columns_without_role(votes: VotesInput, chosen: Mapping[str, str]) -> list[str]:
    taken = set(_find_wide_roles(votes, chosen).values())
    return [column for column in votes.header if column not in taken]


class Matrices:
    """One matrix per source with one row per instance and one column per label, as in CheXpert.

    The file is named after the source. Columns may be in a different order in every file, and a
    source may lack some of them: those labels, and labels it always leaves blank, are out of its
    scope.
    """

    name = "matrices"
    reads_several = True

    def matches(self, votes: VotesInput) -> bool:
        """Look for tables without a source and a label, but with columns of 0 and 1."""
        if not votes.files or any(file.format not in _KINDS for file in votes.files):
            return False
        return all(_is_matrix(votes, file) for file in votes.files)

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label that a matrix marks."""
        votes.require_files(self.name)
        scope: dict[str, tuple[str, ...]] = {}
        unsure, others = 0, dict[str, None]()
        for number, file in enumerate(votes.files):
            labels, left_out = _load_matrix(votes, file, columns)
            others |= dict.fromkeys(left_out)
            numbered = f"(SELECT {number * ROWS_PER_FILE + 1} + rowid AS number, * FROM matrix)"
            _check_label_columns(votes, numbered, labels)
            unsure += _count_unsure(votes, numbered, labels)
            scope[source_name(file)] = tuple(_labels_in_use(votes, "matrix", labels))
            target = "INSERT INTO votes" if number else "CREATE TEMP TABLE votes AS"
            votes.connection.execute(f"{target} {_long_rows_sql(numbered, labels)}")
        all_labels = dict.fromkeys(label for labels in scope.values() for label in labels)
        # A column that is blank in one file and not in another is one of labels.
        _warn_of_others(
            votes.origin, [*all_labels], [name for name in others if name not in all_labels]
        )
        _warn_of_unsure(votes.origin, unsure)
        drop_cells(votes)
        votes.connection.execute("CREATE TEMP VIEW cells AS SELECT * FROM votes")
        same_scope = all(len(labels) == len(all_labels) for labels in scope.values())
        return LongTable(SCORED_COLUMNS, scope="all" if same_scope else scope)


def _is_matrix(votes: VotesInput, file: LocalFile) -> bool:
    """Return whether a file has columns of labels, and no column that names labels or sources."""
    if file.format == "parquet":
        # One Parquet file may be anything; among several, it is what the others are.
        return len(votes.files) > 1
    cells = _peek_sheet(votes, file) if file.format == "spreadsheet" else None
    present = csv_columns(file) if cells is None else list(cells)
    instance = _find_matrix_instance(present, {})
    candidates = [column for column in present if column != instance]
    roles = find_columns(
        candidates, {**ALIASES, "parent": TAXONOMY_ALIASES["parent"]}, required=(), origin=""
    )
    if _holds_labels(roles):
        return False
    if cells is None:
        labels = _find_label_columns(votes, file, candidates)
    else:
        labels = [name for name in candidates if _are_mostly_indicators(cells[name])]
    labels = _drop_scores(labels, present)
    if len(votes.files) == 1 and len(labels) < 2:
        # A single column of 0 and 1 may be one of labels that are numbers, such as grades.
        return False
    is_other_table = {roles.get("source"), roles.get("parent")} - {None, *labels}
    return not is_other_table and _are_labels(labels, roles)


def _peek_sheet(votes: VotesInput, file: LocalFile) -> dict[str, list[str]]:
    """Return the filled cells of a sheet by column."""
    if votes.only_file is not None:
        return votes.sample()
    with silence_warnings():
        # Reading the sheet will say which one it is.
        columns = spreadsheet_columns(file)
    return {
        name: [str(cell) for cell in cells if cell is not None] for name, cells in columns.items()
    }


def _drop_scores(labels: Sequence[str], present: Sequence[str]) -> list[str]:
    """Return columns of numbers that are no scores of another: ``gpt_score`` is that of ``gpt``.

    A table with such columns has one column per source.
    """
    others = set(present).difference(labels)
    scores = set(find_score_columns([name for name in present if name in others], present).values())
    return [name for name in labels if name not in scores]


def _are_labels(columns: Sequence[str], roles: Mapping[str, str]) -> bool:
    """Return whether columns of 0 and 1 are labels, although one of them may be called like a role.

    A column ``label`` of zeros and ones holds labels. A column ``species`` among many others of
    zeros and ones is itself a label.
    """
    others = [
        column for column in columns if column not in (roles.get("label"), roles.get("score"))
    ]
    if "label" not in roles:
        return bool(others)
    return (
        not _holds_labels(roles) and roles["label"] in columns and len(others) >= MIN_OTHER_LABELS
    )


def _holds_labels(roles: Mapping[str, str]) -> bool:
    """Return whether a column holds labels for certain, so that its cells need not be looked at."""
    return "label" in roles and normalize_name(roles["label"]) in _CERTAIN_NAMES


def _load_matrix(
    votes: VotesInput, file: LocalFile, columns: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Load one file into the table ``matrix``, and return its columns of labels, and others."""
    if file.format == "csv":
        present: Sequence[str] = csv_columns(file)
    elif votes.only_file is not None:
        present = votes.columns
    else:
        drop_cells(votes)
        present = load_table(votes.connection, file, file.name)
    chosen = {role: name for role, name in columns.items() if role == "instance"}
    instance = _find_matrix_instance(present, chosen)
    candidates = [column for column in present if column != instance]
    labels = _find_label_columns(votes, file, candidates)
    if not labels:
        raise MissingColumnError(
            f"{file.name}: no column of 0, 1 or scores for a label; it has {quote_list(present)}"
        )
    selected = (
        f"CAST({identifier(instance)} AS VARCHAR) AS instance, "
        f"{literal(source_name(file))} AS source"
    )
    _load_scores(votes, file, "matrix", selected, labels)
    return labels, [name for name in candidates if name not in labels]


def _find_matrix_instance(present: Sequence[str], chosen: Mapping[str, str]) -> str:
    """Return the column of instances: one with a usual name, or else the first."""
    roles = find_columns(
        present, {"instance": ALIASES["instance"]}, required=(), chosen=chosen, origin="the matrix"
    )
    return roles.get("instance", present[0])


def _find_label_columns(
    votes: VotesInput,
    file: LocalFile | None,
    columns: Sequence[str],
    *,
    sampled_rows: int = SAMPLED_ROWS,
    few_rows: int = 20,
) -> list[str]:
    """Return the columns in which most cells are 0, 1, a probability or -1.

    The head of a CSV file decides if it has a complete row, otherwise the first rows of the table.
    """
    if not columns:
        return []
    if file is not None and file.format == "csv":
        header, rows = csv_columns(file), csv_sample(file)
        if len(file.head.encode()) >= HEAD_BYTES and all(len(row) < len(header) for row in rows):
            first = votes.connection.execute(
                f"FROM {csv_relation(file)} LIMIT {few_rows}"
            ).fetchall()
            rows = [[cell or "" for cell in row] for row in first]
        position = {name: place for place, name in enumerate(header)}
        places = {name: position[name] for name in columns}
        # A row may be too short; the error comes when all rows are read.
        return [
            name
            for name, place in places.items()
            if _are_mostly_indicators(row[place] for row in rows if place < len(row))
        ]
    majorities = ", ".join(
        f"count(*) FILTER ({_is_indicator_sql(_score_sql(name))}) > count({_score_sql(name)}) / 2"
        for name in columns
    )
    kept = ", ".join(map(identifier, columns))
    row = votes.connection.execute(
        f"SELECT {majorities} FROM (SELECT {kept} FROM cells LIMIT {sampled_rows})"
    ).fetchone()
    return [column for column, is_label in zip(columns, row or (), strict=True) if is_label]


def _are_mostly_indicators(cells: Iterable[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return sum(map(is_indicator, filled)) > len(filled) / 2


def _is_indicator_sql(score: str) -> str:
    return f"({score} BETWEEN 0 AND 1 OR {score} = -1)"


def _score_sql(column: str) -> str:
    """Return SQL for a cell as a number; the most common ones are not parsed."""
    text = f"CAST({identifier(column)} AS VARCHAR)"
    return (
        f"CASE {text} WHEN '0' THEN 0.0 WHEN '1' THEN 1.0 WHEN '' THEN NULL WHEN '0.0' THEN 0.0 "
        f"WHEN '1.0' THEN 1.0 ELSE CASE WHEN trim({text}) = '' THEN NULL WHEN "
        f"{identifier(column)} IS NOT NULL THEN "
        f"coalesce(TRY_CAST({text} AS DOUBLE), {_NOT_A_NUMBER}) END "
        "END::DOUBLE"
    )


def _load_scores(
    votes: VotesInput, file: LocalFile | None, name: str, selected: str, labels: Sequence[str]
) -> None:
    """Create a table of `selected` (SQL) and one score per label, NULL where a cell is blank."""
    if file is not None and file.format == "csv":
        scores, cells = ", ".join(map(identifier, labels)), csv_relation(file, labels)
    else:
        scores = ", ".join(f"{_score_sql(label)} AS {identifier(label)}" for label in labels)
        cells = "cells"
    try:
        votes.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {selected}, {scores} FROM {cells}"
        )
    except duckdb.Error as error:
        if file is None:
            raise
        raise UnreadableError(f"{file.name}{reason(error)}") from None


def _check_label_columns(votes: VotesInput, relation: str, labels: Sequence[str]) -> None:
    """Raise an error about the first cell of a label that is not a valid score."""
    invalid = [f"NOT {_is_indicator_sql(identifier(name))}" for name in labels]
    (number,) = votes.connection.execute(
        f"SELECT min(number) FROM {relation} WHERE {' OR '.join(invalid)}"
    ).fetchone() or (None,)
    if number is None:
        return
    row = votes.connection.execute(
        f"SELECT {', '.join(invalid)} FROM {relation} WHERE number = {number}"
    ).fetchone()
    name = next(name for name, is_invalid in zip(labels, row or (), strict=True) if is_invalid)
    raise DataError(
        f"{votes.locate(number)}: column {name!r} has something other than 0, 1, a score in "
        "between, -1 for unsure, or nothing"
    )


def _warn_of_others(origin: str, labels: Sequence[str], others: Sequence[str]) -> None:
    if others:
        warn(
            f"{origin}: read with one column per label, {quote_list(labels, most=3)}; "
            f"{quote_list(others)} left out",
            ReadingWarning,
            stacklevel=5,
        )


def _count_unsure(votes: VotesInput, relation: str, labels: Sequence[str]) -> int:
    counts = ", ".join(f"count(*) FILTER ({identifier(name)} = -1)" for name in labels)
    return sum(votes.connection.execute(f"SELECT {counts} FROM {relation}").fetchone() or ())


def _warn_of_unsure(origin: str, count: int) -> None:
    if count:
        cells = pluralize(count, "cell")
        warn(
            f"{origin}: {cells} with -1 (unsure) read as a score of {UNSURE_SCORE}",
            ReadingWarning,
            stacklevel=5,
        )


def _long_rows_sql(
    relation: str, labels: Sequence[str], *, most_selects: int = MOST_SELECTS
) -> str:
    """Return SQL for one row per marked label, or one without a label if all filled cells are 0.

    Blank cells mean "not asked", so a row of blanks is not an answer. Selecting one column after
    the other skips the zeros, which are most of the cells; but planning that takes time that grows
    with the square of the number of columns, so many columns are unnested.
    """
    if len(labels) > most_selects:
        parts = [_select_sql(_unnest_sql(relation, labels), "label", *_mark_sql("score"))]
    else:
        parts = [
            _select_sql(relation, literal(label), *_mark_sql(identifier(label))) for label in labels
        ]
    scores = ", ".join(map(identifier, labels))
    all_zero = f"{scores} = 0"
    if len(labels) > 1:
        all_zero = f"greatest({scores}) = 0 AND least({scores}) = 0"
    parts.append(_select_sql(relation, "NULL", "1.0", all_zero))
    return " UNION ALL ".join(parts) + " ORDER BY number"


def _mark_sql(score: str) -> tuple[str, str]:
    """Return SQL for the score of a vote, and for whether there is one."""
    return f"CASE {score} WHEN -1 THEN {UNSURE_SCORE} ELSE {score} END", (
        f"({score} > 0 OR {score} = -1)"
    )


def _unnest_sql(relation: str, labels: Sequence[str]) -> str:
    names, scores = ", ".join(map(literal, labels)), ", ".join(map(identifier, labels))
    return (
        f"(SELECT number, instance, source, unnest([{names}]) AS label, "
        f"unnest([{scores}]) AS score FROM {relation})"
    )


def _select_sql(relation: str, label: str, score: str, where: str) -> str:
    return (
        f"SELECT number, instance, source, {label} AS label, {score} AS score FROM {relation} "
        f"WHERE {where}"
    )


def _labels_in_use(votes: VotesInput, relation: str, labels: Sequence[str]) -> list[str]:
    """Return the labels whose columns are not blank everywhere."""
    filled = ", ".join(f"count({identifier(name)}) > 0" for name in labels)
    row = votes.connection.execute(f"SELECT {filled} FROM {relation}").fetchone() or ()
    return [label for label, is_filled in zip(labels, row, strict=True) if is_filled]
