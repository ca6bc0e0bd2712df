"""Tables of votes: long, wide, or one matrix of labels per source.

A long table has one row per vote; a wide table one row per answer and one column per label; a
matrix is a wide table of one source, which the file is named after. In wide tables and matrices the
cell of a label is 0, 1, a probability in between, -1 for "unsure", or blank for "not asked".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import duckdb

from mhpc.errors import DataError, MissingColumnError, UnreadableError, quote_list
from mhpc.read.archives import source_name
from mhpc.read.columns import ALIASES, find_columns
from mhpc.read.files import LocalFile
from mhpc.read.tables import Table, csv_columns, csv_relation, csv_sample, load_table, text_sql
from mhpc.read.vote_formats.base import (
    ROWS_PER_FILE,
    SCORED_COLUMNS,
    LongTable,
    VotesInput,
    drop_cells,
    replace_cells,
    row_number_sql,
    unnest_labels_sql,
)
from mhpc.system.database import identifier, literal, reason

WIDE_ALIASES = {
    "instance": (*ALIASES["instance"], "example_no", "example_id", "example", "id"),
    "source": (*ALIASES["source"], "user_id", "user"),
}
"""Column names of wide tables; here "id" and "user" are less often used for something else."""

MATRIX_INSTANCE = (*WIDE_ALIASES["instance"], "study", "path", "image", "filename", "file")
"""Names of the column of instances in a matrix."""

UNSURE_SCORE = 0.5
"""The score of a cell with -1: the source says neither yes nor no."""

SAMPLED_ROWS = 20_000
"""How many rows decide which columns are labels."""

_NOT_A_NUMBER = 2.0
"""Stands for a cell that is not a number; as a score it is out of range."""


class LongFormat:
    """One row per vote: instance, source, label and, if there are any, score and negative.

    A cell may hold several labels: as a list, as crowd-kit stores them, or as the text of a JSON
    list.
    """

    name = "long"

    def matches(self, votes: VotesInput) -> bool:
        """Accept whatever no other format matches; reading it says what is missing."""
        return True

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Use the table as it is, except that lists of labels become several rows."""
        if len(votes.files) > 1:
            raise UnreadableError(
                f"{votes.origin} is a directory; give a file in it, a folder of Parquet files, or "
                "a folder with one file per source in a format that names sources by their files"
            )
        roles = find_columns(
            votes.columns, ALIASES, required=("instance", "source", "label"), chosen=columns,
            origin=votes.origin, cure="rename one, or choose it with --column ROLE=NAME",
        )  # fmt: skip
        table = Table(votes.connection, votes.columns, votes.origin)
        if not _has_lists(table, roles["label"]):
            return LongTable(roles, is_numbered=False)
        _unnest_lists(votes, table, roles)
        return LongTable({role: role for role in ALIASES if role in roles})


def _has_lists(table: Table, column: str) -> bool:
    name = identifier(column)
    if _is_list_column(table, name):
        return True
    text = f"CAST({name} AS VARCHAR)"
    first = table.connection.execute(
        f"SELECT {text} FROM cells WHERE {text} <> '' LIMIT 1"
    ).fetchall()
    if not first or not first[0][0].startswith("["):
        return False
    # A label may begin with a bracket, but it is unlikely that all of them are JSON lists.
    no_list = f"{text} <> '' AND coalesce(json_type(TRY_CAST({text} AS JSON)), '') <> 'ARRAY'"
    return not table.connection.execute(f"SELECT 1 FROM cells WHERE {no_list} LIMIT 1").fetchall()


def _is_list_column(table: Table, name: str) -> bool:
    return str(table.connection.table("cells").select(name).types[0]).endswith("[]")


def _unnest_lists(votes: VotesInput, table: Table, roles: Mapping[str, str]) -> None:
    kept = ", ".join(
        f"{text_sql(table, roles[role])} AS {role}"
        for role in ("instance", "source", "score", "negative")
        if role in roles
    )
    name = identifier(roles["label"])
    if _is_list_column(table, name):
        labels = f"CAST({name} AS VARCHAR[])"
    else:
        labels = f"""from_json({name}, '["VARCHAR"]')"""
    others = "".join(f", {role}" for role in ("score", "negative") if role in roles)
    replace_cells(
        votes,
        f"SELECT number, instance, source, {unnest_labels_sql('labels')} AS label{others} FROM "
        f"(SELECT {row_number_sql(votes)} AS number, {kept}, {labels} AS labels FROM cells)",
    )


class WideFormat:
    """One row per answer and one column per label, as in GoEmotions and ConvAbuse."""

    name = "wide"

    def matches(self, votes: VotesInput) -> bool:
        """Look for an instance, a source, no label, but columns of 0 and 1."""
        if len(votes.files) > 1 or _has_nested_fields(votes):
            return False
        present = {column.strip().lower() for column in votes.header}
        if present.intersection(ALIASES["label"]) or not all(
            present.intersection(names) for names in WIDE_ALIASES.values()
        ):
            return False
        return bool(_find_label_columns(votes, votes.only_file, _columns_without_role(votes, {})))

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
        replace_cells(votes, _long_rows_sql(numbered, labels))
        return LongTable(SCORED_COLUMNS)


def _has_nested_fields(votes: VotesInput) -> bool:
    """Return whether records are more than rows of a table, which are not loaded as one then."""
    return any(isinstance(cell, dict | list) for cell in votes.first_record.values())


def _find_wide_roles(votes: VotesInput, chosen: Mapping[str, str]) -> dict[str, str]:
    return find_columns(
        votes.header, WIDE_ALIASES, required=("instance", "source"), chosen=chosen,
        origin=votes.origin, cure="choose it with --column ROLE=NAME",
    )  # fmt: skip


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

    def matches(self, votes: VotesInput) -> bool:
        """Look for tables without a source and a label, but with columns of 0 and 1."""
        if not votes.files or any(file.format not in ("csv", "parquet") for file in votes.files):
            return False
        if len(votes.files) > 1:
            return not any(_has_label_or_parent(file) for file in votes.files)
        if votes.files[0].format != "csv":
            return False
        present = {column.strip().lower() for column in votes.header}
        if present.intersection((*ALIASES["label"], *WIDE_ALIASES["source"])):
            return False
        instance = _find_matrix_instance(votes.header, {})
        candidates = [column for column in votes.header if column != instance]
        return bool(_find_label_columns(votes, votes.files[0], candidates))

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label that a matrix marks."""
        votes.require_files(self.name)
        scope: dict[str, tuple[str, ...]] = {}
        for number, file in enumerate(votes.files):
            labels = _load_matrix(votes, file, columns)
            numbered = f"(SELECT {number * ROWS_PER_FILE + 1} + rowid AS number, * FROM matrix)"
            _check_label_columns(votes, numbered, labels)
            scope[source_name(file)] = tuple(_labels_in_use(votes, "matrix", labels))
            target = "INSERT INTO votes" if number else "CREATE TEMP TABLE votes AS"
            votes.connection.execute(f"{target} {_long_rows_sql(numbered, labels)}")
        drop_cells(votes)
        votes.connection.execute("CREATE TEMP VIEW cells AS SELECT * FROM votes")
        all_labels = set().union(*scope.values())
        same_scope = all(len(labels) == len(all_labels) for labels in scope.values())
        return LongTable(SCORED_COLUMNS, scope="all" if same_scope else scope)


def _has_label_or_parent(file: LocalFile) -> bool:
    """Return whether the header has a label or a parent, and so is of another kind of table."""
    header = next((line for line in file.head.splitlines() if line.strip()), "")
    names = {name.strip().strip('"').lower() for name in re.split(r"[,;\t|]", header)}
    return bool(names.intersection((*ALIASES["label"], "parent", "parentid")))


def _load_matrix(votes: VotesInput, file: LocalFile, columns: Mapping[str, str]) -> list[str]:
    """Load one file into the table ``matrix``, and return its columns of labels."""
    if file.format == "csv":
        present = tuple(csv_columns(file))
    else:
        drop_cells(votes)
        present = tuple(load_table(votes.connection, file, file.name))
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
    return labels


def _find_matrix_instance(present: tuple[str, ...], chosen: Mapping[str, str]) -> str:
    """Return the column of instances: one with a usual name, or else the first."""
    roles = find_columns(
        present, {"instance": MATRIX_INSTANCE}, required=(), chosen=chosen, origin="the matrix"
    )
    return roles.get("instance", present[0])


def _find_label_columns(
    votes: VotesInput,
    file: LocalFile | None,
    columns: Sequence[str],
    *,
    sampled_rows: int = SAMPLED_ROWS,
) -> list[str]:
    """Return the columns in which most cells are 0, 1, a probability or -1.

    The head of a CSV file decides, otherwise the first rows of ``cells``.
    """
    if not columns:
        return []
    if file is not None and file.format == "csv":
        header, rows = csv_columns(file), csv_sample(file)
        places = {name: header.index(name) for name in columns}
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
    return sum(map(_is_indicator, filled)) > len(filled) / 2


def _is_indicator(cell: str) -> bool:
    try:
        return 0 <= float(cell) <= 1 or float(cell) == -1
    except ValueError:
        return False


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


def _long_rows_sql(relation: str, labels: Sequence[str]) -> str:
    """Return SQL for one row per marked label, or one without a label if all filled cells are 0.

    Blank cells mean "not asked", so a row of blanks is not an answer. Selecting one column after
    the other skips the zeros, which are most of the cells.
    """
    parts = []
    for label in labels:
        score = identifier(label)
        graded = f"CASE {score} WHEN -1 THEN {UNSURE_SCORE} ELSE {score} END"
        marked = f"({score} > 0 OR {score} = -1)"
        parts.append(_select_sql(relation, literal(label), graded, marked))
    scores = ", ".join(map(identifier, labels))
    all_zero = f"{scores} = 0"
    if len(labels) > 1:
        all_zero = f"greatest({scores}) = 0 AND least({scores}) = 0"
    parts.append(_select_sql(relation, "NULL", "1.0", all_zero))
    return " UNION ALL ".join(parts) + " ORDER BY number"


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
