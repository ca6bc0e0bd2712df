"""Votes too large for memory: survey them in DuckDB, then read them part by part.

The hash of its id decides which part an instance is in, so a part contains all of its answers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import numpy as np

from mhpc.data.index import Index
from mhpc.data.votes import NONE_OF_THESE, Scope, Truth, Votes
from mhpc.errors import UnreadableError
from mhpc.numerics.arrays import IntArray
from mhpc.read.columns import empty_cell_error, no_rows_error, overlong_cell_error, read_cells
from mhpc.read.options import ReadOptions
from mhpc.read.tables import MAX_CELL, Table, text_sql
from mhpc.read.vote_table import VoteTable, open_votes
from mhpc.read.votes import (
    DroppedVotes,
    drop_duplicates,
    read_gold,
    read_negative,
    read_scores,
    resolve_scope,
    wrong_negative_error,
)
from mhpc.system.database import database, identifier, literal, reason, some_files

ROLES = ("instance", "source", "label")
"""The roles that every vote has."""

_EMPTY = Index(())


@dataclass(frozen=True, eq=False)
class VotesSurvey:
    """What is known about votes before they are read.

    Attributes
    ----------
    files : tuple of Path
        The Parquet files with the votes, in order.
    first_rows : tuple of int
        How many rows there are before each file.
    columns : mapping of role to column
        The columns of instances, sources, labels and, if there are any, scores and marks of
        negative votes.
    origin : str
        How messages refer to the votes.
    rows : int
        The number of rows.
    instance : str
        The first instance.
    sources, labels : Index
        The ids that occur, in order of first appearance.
    first_votes : tuple of (str, str)
        The source and instance of the first vote for each label.
    votes_per_label : int array
        The number of votes for each label.
    used_labels : pair of int arrays, or None
        The distinct pairs of source and label with a score above 0, if scopes depend on them.
    scope : Scope
        Which labels each source can give.
    gold : Truth, optional
        Known labels of some instances, if the input contains them.
    """

    files: tuple[Path, ...]
    first_rows: tuple[int, ...]
    columns: Mapping[str, str]
    origin: str
    rows: int = 0
    instance: str = ""
    sources: Index = _EMPTY
    labels: Index = _EMPTY
    first_votes: tuple[tuple[str, str], ...] = ()
    votes_per_label: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    used_labels: tuple[IntArray, IntArray] | None = None
    scope: Scope = "all"
    gold: Truth | None = None


@dataclass(frozen=True, eq=False)
class VotesPart:
    """All votes on some instances.

    Attributes
    ----------
    votes : Votes
        The votes on n instances.
    first_rows : int array, (n,)
        The row of the first vote on each instance.
    rows : int
        The number of rows, with those that were dropped.
    dropped : tuple of DroppedVotes
        The rows that were dropped.
    """

    votes: Votes
    first_rows: IntArray
    rows: int
    dropped: tuple[DroppedVotes, ...]


def survey_votes(
    source: str | Sequence[str], options: ReadOptions, *, scope: str, keep: Path
) -> VotesSurvey:
    """Collect what concerns all votes, and raise an error about the first one that is wrong.

    Parameters
    ----------
    source, options, scope
        As for `read_votes_as`.
    keep : Path
        The Parquet file to write if the votes are in another format.
    """
    with open_votes(source, options) as votes:
        files = _permanent_files(votes, source)
        if not files:
            files = (_write_parquet(votes.table, votes.columns.values(), keep),)
        origin = votes.table.origin
        gold = read_gold(votes, _all_instances(votes)) if votes.has_gold else None
    survey = VotesSurvey(files, _count_rows_before(files, origin), votes.columns, origin, gold=gold)
    with open_survey(survey) as table:
        survey = _check_rows(table, survey)
        sources = Index(tuple(_fetch_column(table, _ids_by_appearance_sql("source"))))
        labels = table.connection.execute(
            "SELECT label, arg_min(source, row), arg_min(instance, row), count(*) FROM texts "
            "WHERE label IS NOT NULL GROUP BY label ORDER BY min(row)"
        ).fetchall()
        survey = replace(
            survey,
            sources=sources,
            labels=Index(tuple(label for label, _, _, _ in labels)),
            first_votes=tuple((source, instance) for _, source, instance, _ in labels),
            votes_per_label=np.array([count for _, _, _, count in labels], dtype=np.int64),
            scope=resolve_scope(scope, votes.scope, sources),
        )
        if survey.scope == "all":
            return survey
        return replace(survey, used_labels=_find_used_labels(table, survey))


@contextmanager
def open_survey(survey: VotesSurvey, *, threads: int | None = None) -> Iterator[Table]:
    """Open a connection with ``texts``: the row from 1, and the roles as text or None if empty."""
    selected = ", ".join(f"{identifier(name)} AS {role}" for role, name in survey.columns.items())
    first_row = f"[{', '.join(map(str, survey.first_rows))}][file_index::BIGINT + 1]"
    with database(threads=threads) as connection:
        try:
            connection.execute(
                f"CREATE TEMP VIEW cells AS SELECT {first_row} + file_row_number + 1 AS row, "
                f"{selected} FROM read_parquet({some_files(survey.files)}, file_row_number=true, "
                "hive_partitioning=false)"
            )
            table = Table(connection, tuple(survey.columns), survey.origin)
            texts = ", ".join(
                f"nullif({text_sql(table, role)}, '') AS {role}" for role in survey.columns
            )
            connection.execute(f"CREATE TEMP VIEW texts AS SELECT row, {texts} FROM cells")
            yield table
        except duckdb.Error as error:
            raise UnreadableError(f"{survey.origin}{reason(error)}") from None


def instances_among(survey: VotesSurvey, ids: Iterable[str]) -> Index:
    """Return the ids that are instances of the votes, in the given order."""
    candidates = np.array(list(ids), dtype=object)
    with open_survey(survey) as table:
        table.connection.register("candidates", {"id": candidates})
        present = set(
            _fetch_column(
                table, "SELECT id FROM candidates WHERE id IN (SELECT instance FROM texts)"
            )
        )
    return Index(tuple(id_ for id_ in candidates if id_ in present))


def all_instances(survey: VotesSurvey) -> Index:
    """Return all instances, in order of first appearance; they must fit in memory."""
    with open_survey(survey) as table:
        return Index(tuple(_fetch_column(table, _ids_by_appearance_sql("instance"))))


def read_part(survey: VotesSurvey, part: int, *, parts: int, threads: int = 1) -> VotesPart:
    """Read one of several parts; sources and labels are those of the survey."""
    with open_survey(survey, threads=threads) as table:
        table.connection.execute(
            f"CREATE TEMP TABLE part AS SELECT * FROM texts WHERE hash(instance) % {parts} = {part}"
        )
        table.connection.execute(
            "CREATE OR REPLACE TEMP VIEW cells AS SELECT * FROM part ORDER BY row"
        )
        number = table.connection.execute("SELECT row FROM cells").fetchnumpy()["row"]
        if not len(number):
            return _empty_part(survey)
        cells = read_cells(table, {role: role for role in ROLES}, ROLES)
        score = read_scores(table, "score" if "score" in survey.columns else None, cells)
        negative = read_negative(table, "negative" if "negative" in survey.columns else None)
    keep, dropped = drop_duplicates(cells, score, number=number, negative=negative)
    source = survey.sources.locate(cells.index["source"])
    label = np.append(survey.labels.locate(cells.index["label"]), NONE_OF_THESE)
    _, first = np.unique(cells.position["instance"], return_index=True)
    votes = Votes(
        instances=cells.index["instance"],
        sources=survey.sources,
        labels=survey.labels,
        instance=cells.position["instance"][keep],
        source=source[cells.position["source"][keep]],
        label=label[cells.position["label"][keep]],
        score=score[keep],
        origin=survey.origin,
        negative=None if negative is None else negative[keep],
    )
    return VotesPart(votes, np.asarray(number[first], dtype=np.int64), cells.rows, dropped)


def _all_instances(votes: VoteTable) -> Index:
    return Index(tuple(_fetch_column(votes.table, "SELECT DISTINCT instance FROM cells")))


def _permanent_files(votes: VoteTable, source: str | Sequence[str]) -> tuple[Path, ...]:
    """Return the Parquet files of the user, which can be read again; otherwise none."""
    file = votes.files[0]
    paths = [Path(source)] if isinstance(source, str) else [Path(path) for path in source]
    if not votes.is_original or file.format != "parquet" or [file.path] != paths:
        return ()
    return tuple(path.absolute() for path in file.parts or (file.path,))


def _write_parquet(table: Table, columns: Iterable[str], path: Path) -> Path:
    selected = ", ".join(map(identifier, dict.fromkeys(columns)))
    table.connection.execute(
        f"COPY (SELECT {selected} FROM cells) TO {literal(str(path))} (FORMAT parquet)"
    )
    return path.absolute()


def _count_rows_before(files: tuple[Path, ...], origin: str) -> tuple[int, ...]:
    counts = []
    for path in files:
        # One file at a time: the order of the result for several files is not documented.
        try:
            with database() as connection:
                rows = connection.execute(
                    f"SELECT num_rows FROM parquet_file_metadata({some_files([path])})"
                ).fetchall()
        except duckdb.Error as error:
            raise UnreadableError(f"{origin}{reason(error)}") from None
        counts.append(rows[0][0] if rows else 0)
    return tuple(np.cumsum([0, *counts[:-1]]).tolist())


def _check_rows(table: Table, survey: VotesSurvey) -> VotesSurvey:
    """Raise an error about the first row that is wrong, or return the survey with their number."""
    lengths = ", ".join(f"coalesce(max(length({role})), 0)" for role in ROLES)
    counts = table.connection.execute(
        f"SELECT count(*), arg_min(instance, row), {lengths}, count(*) - count(instance), "
        "count(*) - count(source) FROM texts"
    ).fetchone()
    assert counts is not None  # noqa: S101 - an aggregate has one row
    rows, first_instance = counts[:2]
    max_lengths, empty_counts = counts[2:5], counts[5:7]
    for role, length in zip(ROLES, max_lengths, strict=True):
        if length > MAX_CELL:
            row, length = _first_row(table, f"length({role})", f"length({role}) > {MAX_CELL}")
            raise overlong_cell_error(survey.origin, role, row=row, length=length)
    if not rows:
        raise no_rows_error(survey.origin)
    for role, count in zip(ROLES[:2], empty_counts, strict=True):
        if count:
            (row,) = _first_row(table, "", f"{role} IS NULL")
            raise empty_cell_error(survey.origin, role, row=row, count=count)
    if "negative" in survey.columns:
        _check_negative(table, survey.origin)
    return replace(survey, rows=rows, instance=first_instance)


def _check_negative(table: Table, origin: str) -> None:
    row = table.connection.execute(
        "SELECT row, negative FROM texts WHERE negative IS NOT NULL "
        "AND TRY_CAST(negative AS BOOLEAN) IS NULL ORDER BY row LIMIT 1"
    ).fetchone()
    if row:
        raise wrong_negative_error(origin, row=row[0], value=row[1])


def _first_row(table: Table, columns: str, where: str) -> tuple:  # type: ignore[type-arg]
    row = table.connection.execute(
        f"SELECT row{', ' if columns else ''}{columns} FROM texts WHERE {where} "
        "ORDER BY row LIMIT 1"
    ).fetchone()
    assert row is not None  # noqa: S101 - it was counted before
    return row


def _find_used_labels(table: Table, survey: VotesSurvey) -> tuple[IntArray, IntArray]:
    is_vote = "label IS NOT NULL"
    if "score" in survey.columns:
        is_vote += " AND TRY_CAST(score AS DOUBLE) > 0"
    pairs = table.connection.execute(
        f"SELECT DISTINCT source, label FROM texts WHERE {is_vote}"
    ).fetchall()
    return (
        survey.sources.locate(source for source, _ in pairs),
        survey.labels.locate(label for _, label in pairs),
    )


def _ids_by_appearance_sql(role: str) -> str:
    return f"SELECT {role} FROM texts WHERE {role} IS NOT NULL GROUP BY {role} ORDER BY min(row)"


def _fetch_column(table: Table, query: str) -> list[str]:
    return [id_ for (id_,) in table.connection.execute(query).fetchall()]


def _empty_part(survey: VotesSurvey) -> VotesPart:
    empty = np.zeros(0, dtype=np.int64)
    votes = Votes(
        Index(()), survey.sources, survey.labels, empty, empty, empty, np.zeros(0),
        origin=survey.origin,
        negative=empty.astype(bool) if "negative" in survey.columns else None,
    )  # fmt: skip
    return VotesPart(votes, empty, 0, ())
