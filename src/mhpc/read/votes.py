"""Reading votes."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mhpc.core.arrays import BoolArray, FloatArray
from mhpc.core.index import Index
from mhpc.core.votes import NONE_OF_THESE, Scope, Votes
from mhpc.errors import DataError, MhpcWarning, counted, nearest
from mhpc.read.cells import Cells, read_cells, refuse_empty
from mhpc.read.columns import ALIASES, find_columns
from mhpc.read.table import Table, TableSource, open_table, text_of


def read_votes(
    source: TableSource,
    *,
    columns: Mapping[str, str] | None = None,
    scope: Scope | str | Path = "all",
) -> Votes:
    """Read who said what: a table instance, source, label and, if sources are graded, score.

    Parameters
    ----------
    source : path, "-", dataframe, mapping of columns or list of mappings
        CSV, TSV, JSON Lines, Parquet or Arrow, plain or packed with gzip or zstd. Several rows
        are several labels; an empty label means "looked, and chose none of these".
    columns : mapping of role to column name, optional
        Where the names are none of the usual ones: ``{"instance": "photo"}``.
    scope : "all", "used", mapping of source to labels, or a file with source, label rows
        What sources can speak about. ``"used"`` is what each ever said, with ancestors. Outside
        its scope the silence of a source is not a "no".

    Examples
    --------
    >>> read_votes({"task": [1, 1], "worker": ["ann", "bob"], "label": ["bee", None]})
    Votes(2 votes of 2 sources on 1 instances)
    """
    with open_table(source, name="the votes") as table:
        found = find_columns(
            table.columns, ALIASES, required=("instance", "source", "label"),
            chosen=columns, origin=table.origin,
            cure="rename one, or say which is meant with --column ROLE=NAME",
        )  # fmt: skip
        cells = read_cells(table, found, ("instance", "source", "label"))
        refuse_empty(cells, "instance", table.origin)
        refuse_empty(cells, "source", table.origin)
        score = _read_scores(table, found.get("score"), cells)
        origin = table.origin
    keep = _without_repeats(cells, score, origin)
    return Votes(
        instances=cells.index["instance"],
        sources=cells.index["source"],
        labels=cells.index["label"],
        instance=cells.position["instance"][keep],
        source=cells.position["source"][keep],
        label=cells.position["label"][keep],
        score=score[keep],
        scope=_scope(scope, cells.index["source"]),
        origin=origin,
    )


def _read_scores(table: Table, column: str | None, cells: Cells) -> FloatArray:
    if column is None:
        return np.ones(cells.rows)
    text = f"nullif({text_of(table, column)}, '')"
    found = table.connection.execute(
        f"SELECT {text} AS text, coalesce(TRY_CAST({text} AS DOUBLE), 'nan'::DOUBLE) AS score "
        "FROM cells"
    ).fetchnumpy()
    score = np.asarray(found["score"], dtype=np.float64)
    voted = cells.position["label"] != NONE_OF_THESE
    wrong = np.flatnonzero(voted & ~((score >= 0) & (score <= 1)))
    if len(wrong):
        at = wrong[0]
        given = found["text"][at]
        missing = given is None or given is np.ma.masked
        raise DataError(
            f"{table.origin}: row {at + 1:,} has {'no score' if missing else f'score {given!r}'}"
            f" for label {cells.index['label'][cells.position['label'][at]]!r} of source "
            f"{cells.index['source'][cells.position['source'][at]]!r}; "
            "a score is a number from 0 to 1"
        )
    return np.where(voted, score, 1.0)


def _without_repeats(cells: Cells, score: FloatArray, origin: str) -> BoolArray:
    """Keep the highest score of a vote given twice, and no "none" beside a label; say so."""
    instance, source, label = (cells.position[r] for r in ("instance", "source", "label"))
    answer = instance * len(cells.index["source"]) + source
    overruled = (label == NONE_OF_THESE) & np.isin(answer, answer[label != NONE_OF_THESE])
    order = np.lexsort((-score, label, answer))
    repeated = np.zeros(cells.rows, dtype=bool)
    repeated[order[1:]] = (np.diff(answer[order]) == 0) & (np.diff(label[order]) == 0)
    repeated &= ~overruled
    for rows, what in (
        (repeated, "repeated; the highest score of a vote counts"),
        (overruled, "saying 'none of these' where the same source gives a label; left out"),
    ):
        if rows.any():
            at = np.flatnonzero(rows)[0]
            warnings.warn(
                f"{origin}: {counted(int(rows.sum()), 'row')} {what} "
                f"(first: row {at + 1:,}, source {cells.index['source'][source[at]]!r}, "
                f"instance {cells.index['instance'][instance[at]]!r})",
                MhpcWarning,
                stacklevel=3,
            )
    return np.asarray(~(repeated | overruled))


def _scope(scope: Scope | str | Path, sources: Index) -> Scope:
    if scope == "all":
        return "all"
    if scope == "used":
        return "used"
    if isinstance(scope, Mapping):
        listed, origin = dict(scope), "the scope"
    else:
        listed, origin = _read_scope(scope), f"{scope}"
    for source in listed:
        if source not in sources:
            raise DataError(
                f"{origin} names source {source!r}, which has no answers"
                f"{nearest(source, sources)}; correct it, or leave it out"
            )
    return listed


def _read_scope(source: str | Path) -> dict[str, tuple[str, ...]]:
    with open_table(source) as table:
        found = find_columns(
            table.columns, ALIASES, required=("source", "label"), origin=table.origin
        )
        cells = read_cells(table, found, ("source", "label"))
        refuse_empty(cells, "source", table.origin)
        refuse_empty(cells, "label", table.origin)
    listed: dict[str, list[str]] = {source: [] for source in cells.index["source"]}
    for s, k in zip(cells.position["source"], cells.position["label"], strict=True):
        listed[cells.index["source"][s]].append(cells.index["label"][k])
    return {source: tuple(labels) for source, labels in listed.items()}
