"""Read_votes, duplicates."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mhpc.data.index import Index
from mhpc.data.votes import NONE_OF_THESE, Scope, Truth, Votes
from mhpc.errors import DataError, MhpcWarning, pluralize, suggest
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray
from mhpc.read.columns import ALIASES, Cells, check_not_empty, find_columns, read_cells
from mhpc.read.tables import Table, TableSource, open_table, text_of
from mhpc.read.truth import make_truth
from mhpc.read.vote_table import VoteTable, open_votes
from mhpc.system.database import identifier


@dataclass(frozen=True)
class DroppedVotes:
    """Rows that do not count for one reason: how many, and the first of them."""

    why: str
    rows: int
    row: int
    source: str
    instance: str

    def __add__(self, other: "DroppedVotes") -> "DroppedVotes":
        return replace(min(self, other, key=lambda each: each.row), rows=self.rows + other.rows)


def drop_duplicates(
    cells: Cells, score: FloatArray, *, number: IntArray | None = None
) -> tuple[BoolArray | slice, tuple[DroppedVotes, ...]]:
    """Keep the highest score of a vote given twice, and no "none" beside a label.

    Rows are counted from 1, or have the numbers that are given.
    """
    instance, source, label = (cells.position[r] for r in ("instance", "source", "label"))
    answer = instance * len(cells.index["source"]) + source
    suspect = _suspects(answer, label, len(cells.index["label"]))
    if not len(suspect):
        return slice(None), ()
    overruled, repeated = np.zeros((2, cells.rows), dtype=bool)
    overruled[suspect], repeated[suspect] = _superfluous(
        answer[suspect], label[suspect], score[suspect]
    )
    found = []
    for rows, why in (
        (repeated, "repeated; the highest score of a vote counts"),
        (overruled, "saying 'none of these' where the same source gives a label; left out"),
    ):
        if rows.any():
            at = np.flatnonzero(rows)[0]
            found.append(
                DroppedVotes(
                    why,
                    rows=int(rows.sum()),
                    row=int(at + 1 if number is None else number[at]),
                    source=cells.index["source"][source[at]],
                    instance=cells.index["instance"][instance[at]],
                )
            )
    return np.asarray(~(repeated | overruled)), tuple(found)


def warn_dropped(left_out: Iterable[DroppedVotes], origin: str) -> None:
    """Warn of rows that do not count, whatever part they are from, once for each reason."""
    reasons: dict[str, DroppedVotes] = {}
    for each in left_out:
        reasons[each.why] = reasons[each.why] + each if each.why in reasons else each
    for each in reasons.values():
        warnings.warn(
            f"{origin}: {pluralize(each.rows, 'row')} {each.why} "
            f"(first: row {each.row:,}, source {each.source!r}, instance {each.instance!r})",
            MhpcWarning,
            stacklevel=3,
        )


def _suspects(answer: IntArray, label: IntArray, labels: int) -> IntArray:
    """Return the rows of all answers in which a vote comes twice, or "none" beside a label.

    Nearly always there are none, which one sort of numbers can tell.
    """
    width = labels + 1
    if int(answer.max()) >= np.iinfo(np.int64).max // width - 1:
        return np.arange(len(answer))
    vote = answer * width
    vote += label
    vote -= NONE_OF_THESE
    none = vote[label == NONE_OF_THESE]
    vote.sort()
    twice = vote[1:][vote[1:] == vote[:-1]]
    after = vote[np.minimum(np.searchsorted(vote, none, side="right"), len(vote) - 1)]
    beside = none[(after > none) & (after < none + width)]
    wrong = np.concatenate([twice, beside]) // width
    return np.flatnonzero(np.isin(answer, wrong)) if len(wrong) else np.arange(0)


def _superfluous(
    answer: IntArray, label: IntArray, score: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """Mark the rows that are overruled by a label, and those that repeat a vote."""
    overruled = (label == NONE_OF_THESE) & np.isin(answer, answer[label != NONE_OF_THESE])
    order = np.lexsort((-score, label, answer))
    repeated = np.zeros(len(answer), dtype=bool)
    repeated[order[1:]] = (np.diff(answer[order]) == 0) & (np.diff(label[order]) == 0)
    return overruled, repeated & ~overruled


def read_votes(
    source: TableSource,
    *,
    columns: Mapping[str, str] | None = None,
    scope: Scope | str | Path = "all",
    format: str | None = None,  # noqa: A002 - what users call it
) -> Votes:
    """Read who said what: a table instance, source, label and, if sources are graded, score.

    Parameters
    ----------
    source : path, "-", list of paths, dataframe, mapping of columns or list of mappings
        CSV, TSV, JSON, JSON Lines, Parquet or Arrow, plain or packed with gzip or zstd, or a folder
        of Parquet files. Several rows are several labels; an empty label means "looked, and chose
        none of these". Or the export of an annotation tool, or one file a source: a folder, a
        pattern such as ``models/*.csv``, or a zip archive.
    columns : mapping of role to column name, optional
        Where the names are none of the usual ones: ``{"instance": "photo"}``. In the export of a
        tool with several controls, ``label`` says which of them.
    scope : "all", "used", mapping of source to labels, or a file with source, label rows
        What sources can speak about. ``"used"`` is what each ever said, with ancestors. Outside
        its scope the silence of a source is not a "no".
    format : str, optional
        Which of `mhpc.read.vote_formats.FORMATS` it is; what the content tells unless given.

    Examples
    --------
    >>> read_votes({"task": [1, 1], "worker": ["ann", "bob"], "label": ["bee", None]})
    Votes(2 votes of 2 sources on 1 instances)
    """
    with open_votes(source, columns=columns, format_=format) as opened:
        table = opened.table
        cells = read_cells(table, opened.columns, ("instance", "source", "label"))
        check_not_empty(cells, "instance", table.origin)
        check_not_empty(cells, "source", table.origin)
        score = read_scores(table, opened.columns.get("score"), cells)
        gold = read_gold(opened, cells.index["instance"])
        origin, told = table.origin, opened.scope
    keep, left_out = drop_duplicates(cells, score)
    warn_dropped(left_out, origin)
    return Votes(
        instances=cells.index["instance"],
        sources=cells.index["source"],
        labels=cells.index["label"],
        instance=cells.position["instance"][keep],
        source=cells.position["source"][keep],
        label=cells.position["label"][keep],
        score=score[keep],
        scope=scope_of(scope, told, cells.index["source"]),
        origin=origin,
        gold=gold,
    )


def read_scores(table: Table, column: str | None, cells: Cells) -> FloatArray:
    """Return the score of every row, 1 where a row has no label or the table no scores."""
    if column is None:
        # One number seen from every row: a hundred megabytes less for twelve million votes.
        return np.broadcast_to(np.ones(1), cells.rows)
    text = f"nullif({text_of(table, column)}, '')"
    kind = str(table.connection.table("cells").select(identifier(column)).types[0])
    number = identifier(column) if kind == "DOUBLE" else f"TRY_CAST({text} AS DOUBLE)"
    found = table.connection.execute(
        f"SELECT coalesce({number}, 'nan'::DOUBLE) AS score FROM cells"
    ).fetchnumpy()
    score = np.asarray(found["score"], dtype=np.float64)
    voted = cells.position["label"] != NONE_OF_THESE
    wrong = np.flatnonzero(voted & ~((score >= 0) & (score <= 1)))
    if len(wrong):
        at = wrong[0]
        (given,) = table.connection.execute(
            f"SELECT {text} FROM cells LIMIT 1 OFFSET {at}"
        ).fetchone() or (None,)
        raise wrong_score(
            table.origin,
            row=at + 1,
            given=given,
            label=cells.index["label"][cells.position["label"][at]],
            source=cells.index["source"][cells.position["source"][at]],
        )
    return np.where(voted, score, 1.0)


def wrong_score(origin: str, *, row: int, given: str | None, label: str, source: str) -> DataError:
    """Return the error that a score is none."""
    what = "no score" if given is None else f"score {given!r}"
    return DataError(
        f"{origin}: row {row:,} has {what} for label {label!r} of source {source!r}; "
        "a score is a number from 0 to 1"
    )


def read_gold(opened: VoteTable, instances: Index) -> Truth | None:
    """Return what votes' own file knows of some of the instances; None if nothing."""
    if not opened.gold:
        return None
    found = opened.table.connection.execute("SELECT instance, label FROM gold").fetchall()
    rows = [(instance, label) for instance, label in found if instance in instances]
    return make_truth(rows, opened.table.origin) if rows else None


def scope_of(scope: Scope | str | Path, told: Scope, sources: Index) -> Scope:
    """Return what sources can speak about: by a file if one is named, else as the votes tell."""
    if scope == "used":
        return "used"
    if scope == "all":
        if isinstance(told, Mapping):
            # A table of a source's own may say what it was asked, and hold no answer.
            return {source: labels for source, labels in told.items() if source in sources}
        return told
    if isinstance(scope, Mapping):
        listed, origin = dict(scope), "the scope"
    else:
        listed, origin = _read_scope(scope), f"{scope}"
    for source in listed:
        if source not in sources:
            raise DataError(
                f"{origin} names source {source!r}, which has no answers"
                f"{suggest(source, sources)}; correct it, or leave it out"
            )
    return listed


def _read_scope(source: str | Path) -> dict[str, tuple[str, ...]]:
    with open_table(source) as table:
        found = find_columns(
            table.columns, ALIASES, required=("source", "label"), origin=table.origin
        )
        cells = read_cells(table, found, ("source", "label"))
        check_not_empty(cells, "source", table.origin)
        check_not_empty(cells, "label", table.origin)
    listed: dict[str, list[str]] = {source: [] for source in cells.index["source"]}
    for s, k in zip(cells.position["source"], cells.position["label"], strict=True):
        listed[cells.index["source"][s]].append(cells.index["label"][k])
    return {source: tuple(labels) for source, labels in listed.items()}
