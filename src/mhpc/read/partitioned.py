"""Survey votes too large to read; read one part.

An instance is in the part that the hash of its id says, so that a part has all its answers.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np

from mhpc.data.index import Index
from mhpc.data.votes import NONE_OF_THESE, Scope, Truth, Votes
from mhpc.errors import UnreadableError
from mhpc.numerics.arrays import IntArray
from mhpc.read.columns import empty_cell, no_rows, overlong_cell, read_cells
from mhpc.read.tables import MAX_CELL, Table, text_of
from mhpc.read.vote_table import VoteTable, open_votes
from mhpc.read.votes import (
    DroppedVotes,
    drop_duplicates,
    read_gold,
    read_scores,
    scope_of,
    wrong_score,
)
from mhpc.system.database import database, identifier, literal, reason, some_files

ROLES = ("instance", "source", "label")
"""What every row of votes tells."""

_NONE = Index(())


@dataclass(frozen=True, eq=False)
class VotesSurvey:
    """What is known of votes before they are read.

    Attributes
    ----------
    files : tuple of Path
        Parquet files, in order.
    begins : tuple of int
        How many rows there are before each file.
    columns : mapping of role to column
        Where the roles are.
    origin : str
        What messages call the votes.
    rows : int
        How many rows there are.
    instance : str
        The first instance.
    sources, labels : Index
        Those that occur, in order of first appearance.
    first_votes : tuple of (str, str)
        By which source, of which instance, each label was said first.
    used_labels : pair of int arrays, or None
        Source and label of all votes above 0, no pair twice, where scopes depend on it.
    scope : Scope
        What sources can speak about.
    gold : Truth, optional
        What is known of some instances, where the votes' file tells it.
    """

    files: tuple[Path, ...]
    begins: tuple[int, ...]
    columns: Mapping[str, str]
    origin: str
    rows: int = 0
    instance: str = ""
    sources: Index = _NONE
    labels: Index = _NONE
    first_votes: tuple[tuple[str, str], ...] = ()
    used_labels: tuple[IntArray, IntArray] | None = None
    scope: Scope = "all"
    gold: Truth | None = None


def survey_votes(
    source: str,
    *,
    columns: Mapping[str, str] | None,
    scope: str,
    keep: Path,
    format: str | None = None,  # noqa: A002 - as for read_votes
) -> VotesSurvey:
    """Look through votes for all that concerns the whole of them; what is wrong is refused.

    Parameters
    ----------
    source, columns, scope, format
        As for `read_votes`.
    keep : Path
        The Parquet file that votes in any other format become.
    """
    with open_votes(source, columns=columns, format_=format) as voted:
        files = _lasting(voted, source)
        if not files:
            files = (_as_parquet(voted.table, voted.columns.values(), keep),)
        origin, told = voted.table.origin, voted.scope
        gold = read_gold(voted, _instances_of(voted)) if voted.gold else None
    survey = VotesSurvey(files, _begins(files, origin), voted.columns, origin, gold=gold)
    with opened(survey) as table:
        survey = _checked(table, survey)
        sources = Index(tuple(_column(table, _by_appearance("source"))))
        labels = table.connection.execute(
            "SELECT label, arg_min(source, row), arg_min(instance, row) FROM texts "
            "WHERE label IS NOT NULL GROUP BY label ORDER BY min(row)"
        ).fetchall()
        survey = replace(
            survey,
            sources=sources,
            labels=Index(tuple(label for label, _, _ in labels)),
            first_votes=tuple((source, instance) for _, source, instance in labels),
            scope=scope_of(scope, told, sources),
        )
        return (
            survey
            if survey.scope == "all"
            else replace(survey, used_labels=_used_labels(table, survey))
        )


@contextmanager
def opened(survey: VotesSurvey, *, threads: int | None = None) -> Iterator[Table]:
    """Give a connection with ``texts``: row, from 1, and the roles as text, None if empty."""
    chosen = ", ".join(f"{identifier(name)} AS {role}" for role, name in survey.columns.items())
    begins = f"[{', '.join(map(str, survey.begins))}][file_index::BIGINT + 1]"
    with database(threads=threads) as connection:
        try:
            connection.execute(
                f"CREATE TEMP VIEW cells AS SELECT {begins} + file_row_number + 1 AS row, {chosen} "
                f"FROM read_parquet({some_files(survey.files)}, file_row_number=true, "
                "hive_partitioning=false)"
            )
            table = Table(connection, tuple(survey.columns), survey.origin)
            texts = ", ".join(
                f"nullif({text_of(table, role)}, '') AS {role}" for role in survey.columns
            )
            connection.execute(f"CREATE TEMP VIEW texts AS SELECT row, {texts} FROM cells")
            yield table
        except duckdb.Error as error:
            raise UnreadableError(f"{survey.origin}{reason(error)}") from None


def instances_among(survey: VotesSurvey, ids: Iterable[str]) -> Index:
    """Return those ids that are instances of the votes, in their order."""
    asked = np.array(list(ids), dtype=object)
    with opened(survey) as table:
        table.connection.register("asked", {"id": asked})
        found = _column(table, "SELECT id FROM asked WHERE id IN (SELECT instance FROM texts)")
    here = set(found)
    return Index(tuple(id_ for id_ in asked if id_ in here))


def all_instances(survey: VotesSurvey) -> Index:
    """Return all instances, in order of first appearance: as much as they are."""
    with opened(survey) as table:
        return Index(tuple(_column(table, _by_appearance("instance"))))


def _instances_of(voted: VoteTable) -> Index:
    return Index(tuple(_column(voted.table, "SELECT DISTINCT instance FROM cells")))


def _lasting(voted: VoteTable, source: str) -> tuple[Path, ...]:
    """Return the Parquet files that will still be there; none if there are none."""
    file = voted.files[0]
    if not voted.plain or file.format != "parquet" or file.path != Path(source):
        return ()
    return tuple(path.absolute() for path in file.parts or (file.path,))


def _as_parquet(table: Table, columns: Iterable[str], path: Path) -> Path:
    chosen = ", ".join(map(identifier, dict.fromkeys(columns)))
    table.connection.execute(
        f"COPY (SELECT {chosen} FROM cells) TO {literal(str(path))} (FORMAT parquet)"
    )
    return path.absolute()


def _begins(files: tuple[Path, ...], origin: str) -> tuple[int, ...]:
    rows = []
    for path in files:
        # One at a time: the order of the answer to a list is nowhere promised.
        try:
            found = duckdb.execute(
                f"SELECT num_rows FROM parquet_file_metadata({some_files([path])})"
            ).fetchone()
        except duckdb.Error as error:
            raise UnreadableError(f"{origin}{reason(error)}") from None
        rows.append(found[0] if found else 0)
    return tuple(np.cumsum([0, *rows[:-1]]).tolist())


def _checked(table: Table, survey: VotesSurvey) -> VotesSurvey:
    """Return the survey with the number of rows, all of which are as they should be."""
    wrong = "false"
    if "score" in survey.columns:
        wrong = (
            "label IS NOT NULL AND NOT coalesce(TRY_CAST(score AS DOUBLE) BETWEEN 0 AND 1, false)"
        )
    lengths = ", ".join(f"coalesce(max(length({role})), 0)" for role in ROLES)
    found = table.connection.execute(
        f"SELECT count(*), arg_min(instance, row), {lengths}, count(*) - count(instance), "
        f"count(*) - count(source), count(*) FILTER (WHERE {wrong}) FROM texts"
    ).fetchone()
    assert found is not None  # noqa: S101 - an aggregate has one row
    rows, instance, *rest = found
    for role, length in zip(ROLES, rest[:3], strict=True):
        if length > MAX_CELL:
            row, length = _first(table, f"length({role})", f"length({role}) > {MAX_CELL}")
            raise overlong_cell(survey.origin, role, row=row, length=length)
    if not rows:
        raise no_rows(survey.origin)
    for role, count in zip(ROLES[:2], rest[3:5], strict=True):
        if count:
            (row,) = _first(table, "", f"{role} IS NULL")
            raise empty_cell(survey.origin, role, row=row, count=count)
    if rest[5]:
        row, given, label, source = _first(table, "score, label, source", wrong)
        raise wrong_score(survey.origin, row=row, given=given, label=label, source=source)
    return replace(survey, rows=rows, instance=instance)


def _first(table: Table, columns: str, where: str) -> tuple:  # type: ignore[type-arg]
    found = table.connection.execute(
        f"SELECT row{', ' if columns else ''}{columns} FROM texts WHERE {where} "
        "ORDER BY row LIMIT 1"
    ).fetchone()
    assert found is not None  # noqa: S101 - it was counted before
    return found


def _used_labels(table: Table, survey: VotesSurvey) -> tuple[IntArray, IntArray]:
    voted = "label IS NOT NULL"
    if "score" in survey.columns:
        voted += " AND TRY_CAST(score AS DOUBLE) > 0"
    pairs = table.connection.execute(
        f"SELECT DISTINCT source, label FROM texts WHERE {voted}"
    ).fetchall()
    return (
        survey.sources.locate(source for source, _ in pairs),
        survey.labels.locate(label for _, label in pairs),
    )


def _by_appearance(role: str) -> str:
    return f"SELECT {role} FROM texts WHERE {role} IS NOT NULL GROUP BY {role} ORDER BY min(row)"


def _column(table: Table, query: str) -> list[str]:
    return [id_ for (id_,) in table.connection.execute(query).fetchall()]


@dataclass(frozen=True, eq=False)
class VotesPart:
    """Some instances' votes, all of them; the row where each instance appears first, (n,)."""

    votes: Votes
    first_rows: IntArray
    rows: int
    dropped: tuple[DroppedVotes, ...]


def read_part(survey: VotesSurvey, part: int, *, parts: int, threads: int = 1) -> VotesPart:
    """Read the votes of one part of so many; sources and labels are those of the survey."""
    with opened(survey, threads=threads) as table:
        table.connection.execute(
            f"CREATE TEMP TABLE part AS SELECT * FROM texts WHERE hash(instance) % {parts} = {part}"
        )
        table.connection.execute(
            "CREATE OR REPLACE TEMP VIEW cells AS SELECT * FROM part ORDER BY row"
        )
        number = table.connection.execute("SELECT row FROM cells").fetchnumpy()["row"]
        if not len(number):
            return _no_part(survey)
        cells = read_cells(table, {role: role for role in ROLES}, ROLES)
        score = read_scores(table, "score" if "score" in survey.columns else None, cells)
    keep, left_out = drop_duplicates(cells, score, number=number)
    source = survey.sources.locate(cells.index["source"])
    label = np.append(survey.labels.locate(cells.index["label"]), NONE_OF_THESE)
    _, appearance = np.unique(cells.position["instance"], return_index=True)
    votes = Votes(
        instances=cells.index["instance"],
        sources=survey.sources,
        labels=survey.labels,
        instance=cells.position["instance"][keep],
        source=source[cells.position["source"][keep]],
        label=label[cells.position["label"][keep]],
        score=score[keep],
        origin=survey.origin,
    )
    first = np.asarray(number[appearance], dtype=np.int64)
    return VotesPart(votes, first, cells.rows, left_out)


def _no_part(survey: VotesSurvey) -> VotesPart:
    nothing = np.zeros(0, dtype=np.int64)
    votes = Votes(
        Index(()), survey.sources, survey.labels, nothing, nothing, nothing, np.zeros(0),
        origin=survey.origin,
    )  # fmt: skip
    return VotesPart(votes, nothing, 0, ())
