"""`read_votes`: votes from any file or object in any format, checked and without duplicates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mhpc.data.index import Index
from mhpc.data.votes import NONE_OF_THESE, Scope, Truth, Votes
from mhpc.errors import DataError, MhpcWarning, option, pluralize, suggest, warn
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray
from mhpc.parameters import show_value
from mhpc.read.columns import (
    ALIASES,
    Cells,
    check_not_empty,
    find_columns,
    normalize_name,
    read_cells,
)
from mhpc.read.frames import to_text
from mhpc.read.label_map import LabelMapSource, read_label_map
from mhpc.read.objects import scope_columns, tabulate_votes
from mhpc.read.options import Negative, ReadOptions
from mhpc.read.tables import Table, TableSource, open_table, text_sql
from mhpc.read.truth import make_truth
from mhpc.read.vote_table import VoteTable, open_votes
from mhpc.system.database import identifier

MIN_UNIQUE_ROWS = 10
"""Rows from which on it is suspicious that no instance has two answers."""

_ROW_NUMBERS = ("id", "uid", "uuid", "key", "recordid", "column1")
"""Names of columns that may be those of row numbers."""


def read_votes(
    source: Votes | TableSource,
    *,
    columns: Mapping[str, str] | None = None,
    scope: Scope | TableSource = "all",
    format: str | None = None,  # noqa: A002 - the word that users know
    separator: str | None = None,
    score_max: float | None = None,
    negative: Negative | None = None,
    map: LabelMapSource = None,  # noqa: A002 - as on the command line
) -> Votes:
    """Read votes: a table with the columns instance, source, label and, if there are any, score.

    Parameters
    ----------
    source : path, "-", list of paths, dataframe, mapping, list of mappings or tuples, or Votes
        CSV, TSV, JSON, JSON Lines, Parquet or Arrow, plain or compressed with gzip or zstd, a
        spreadsheet, of which ``votes.xlsx:Sheet 2`` is one sheet, or a folder of Parquet files. A
        source that gives an instance several labels has several rows; an empty label means "none of
        these". Or the export of an annotation tool, or a table with one column per source or per
        label. Several files are read as one: a list, a folder, a pattern such as ``models/*.csv``,
        or a zip archive. A file that does not name its source is named after it. In memory also
        ``{"photo-1": {"ann": "bee", "bob": ["bee", "ant"]}}``, labels by instance and source, or
        ``[("photo-1", "ann", "bee")]``, with a score as a fourth entry if there is one.
    columns : mapping of role to column name, optional
        The columns whose names are unusual: ``{"instance": "photo"}``. The role ``rank`` is that of
        a column with ranks instead of scores. In the export of a tool with several controls,
        ``label`` chooses one of them.
    scope : "all", "used", mapping of source to labels, or a table with the columns source and label
        Which labels each source can give. ``"used"`` means those that it ever gave, with their
        ancestors. Not giving a label outside its scope does not count against the label.
    format : str, optional
        The name of a format in `mhpc.read.vote_formats.VOTE_FORMATS`; detected from the content by
        default.
    separator : str, optional
        What separates the labels of a cell that holds several, such as ``";"``.
    score_max : float, optional
        The highest possible score, if that is not 1; percentages are recognized.
    negative : "mark" or "score", optional
        How votes say "not this": a label that begins with ``!``, or a score below 0.
    map : mapping of label to label, or a table with the columns from and to, optional
        Labels to replace. One whose replacement is empty stays as it is; ``abstain`` leaves it out.

    Examples
    --------
    >>> read_votes({"task": [1, 1], "worker": ["ann", "bob"], "label": ["bee", None]})
    Votes(2 votes of 2 sources on 1 instances)
    >>> read_votes({"photo-1": {"ann": "bee", "bob": ["bee", "ant"]}})
    Votes(3 votes of 2 sources on 1 instances)
    """
    options = ReadOptions(
        columns={} if columns is None else columns,
        format=format, separator=separator, score_max=score_max,
        negative=negative, label_map=read_label_map(map),
    )  # fmt: skip
    return read_votes_as(source, options, scope=scope)


def read_votes_as(
    source: Votes | TableSource, options: ReadOptions, *, scope: Scope | TableSource = "all"
) -> Votes:
    """Read votes by options that are one object; otherwise as `read_votes`."""
    if isinstance(source, Votes):
        return _with_scope(source, scope)
    source = tabulate_votes(source)
    with open_votes(source, options) as vote_table:
        table = vote_table.table
        cells = vote_table.cells
        if cells is None:
            cells = read_cells(table, vote_table.columns, ("instance", "source", "label"))
        check_not_empty(cells, "instance", table.origin)
        check_not_empty(cells, "source", table.origin)
        score = read_scores(table, vote_table.columns.get("score"), cells)
        negative = read_negative(table, vote_table.columns.get("negative"))
        if negative is not None and not negative.any():
            negative = None
        gold = read_gold(vote_table, cells.index["instance"])
    if "instance" not in options.columns:
        _warn_row_numbers(cells, vote_table.columns["instance"], table.origin)
    keep, dropped = drop_duplicates(cells, score, negative=negative)
    warn_dropped(dropped, table.origin)
    return Votes(
        instances=cells.index["instance"],
        sources=cells.index["source"],
        labels=cells.index["label"],
        instance=cells.position["instance"][keep],
        source=cells.position["source"][keep],
        label=cells.position["label"][keep],
        score=score[keep],
        scope=resolve_scope(scope, vote_table.scope, cells.index["source"]),
        origin=table.origin,
        gold=gold,
        negative=None if negative is None else negative[keep],
    )


def read_negative(table: Table, column: str | None) -> BoolArray | None:
    """Return which votes are negative; None if the table does not say so. Empty means no."""
    if column is None:
        return None
    text = f"nullif({text_sql(table, column)}, '')"
    wrong = table.connection.execute(
        f"SELECT row, text FROM (SELECT row_number() OVER () AS row, {text} AS text FROM cells) "
        "WHERE text IS NOT NULL AND TRY_CAST(text AS BOOLEAN) IS NULL ORDER BY row LIMIT 1"
    ).fetchone()
    if wrong:
        raise wrong_negative_error(table.origin, row=wrong[0], value=wrong[1])
    answer = table.connection.execute(
        f"SELECT coalesce(TRY_CAST({text} AS BOOLEAN), false) AS negative FROM cells"
    ).fetchnumpy()
    return np.asarray(answer["negative"], dtype=bool)


def wrong_negative_error(origin: str, *, row: int, value: str) -> DataError:
    """Return the error that a cell does not say whether a vote is negative."""
    return DataError(
        f"{origin}: row {row:,} has {value!r} in the column of negative votes; write true where "
        "the label does not apply, otherwise false or nothing"
    )


def _warn_row_numbers(cells: Cells, column: str, origin: str) -> None:
    """Warn if a column that is called like an id may number the rows instead of the instances."""
    is_unique = len(cells.index["instance"]) == cells.rows >= MIN_UNIQUE_ROWS
    if is_unique and len(cells.index["source"]) > 1 and normalize_name(column) in _ROW_NUMBERS:
        warn(
            f"{origin}: every row has its own {column!r}, so that no instance has two answers; if "
            "it numbers the rows, choose the column of the instances with "
            f"{option('columns', {'instance': 'NAME'})}",
            MhpcWarning,
            stacklevel=4,
        )


def read_scores(table: Table, column: str | None, cells: Cells) -> FloatArray:
    """Return the score of every row: 1 if the row has no label or the table no scores."""
    if column is None:
        # One number for all rows saves a hundred megabytes for twelve million votes.
        return np.broadcast_to(np.ones(1), cells.rows)
    kind = str(table.connection.table("cells").select(identifier(column)).types[0])
    number = identifier(column)
    if kind != "DOUBLE":
        number = f"TRY_CAST(nullif({text_sql(table, column)}, '') AS DOUBLE)"
    numbers = table.connection.execute(
        f"SELECT coalesce({number}, 1.0) AS score FROM cells"
    ).fetchnumpy()
    score = np.asarray(numbers["score"], dtype=np.float64)
    return np.where(cells.position["label"] != NONE_OF_THESE, score, 1.0)


def read_gold(votes: VoteTable, instances: Index) -> Truth | None:
    """Return the known labels of instances that the input itself contains, if any."""
    if not votes.has_gold:
        return None
    gold = votes.table.connection.execute("SELECT instance, label FROM gold").fetchall()
    rows = [(instance, label) for instance, label in gold if instance in instances]
    return make_truth(rows, votes.table.origin) if rows else None


def _with_scope(votes: Votes, scope: Scope | TableSource) -> Votes:
    return replace(votes, scope=resolve_scope(scope, votes.scope, votes.sources))


def resolve_scope(scope: Scope | TableSource, format_scope: Scope, sources: Index) -> Scope:
    """Return which labels each source can give.

    Parameters
    ----------
    scope : "all", "used", mapping of source to labels, or a table
        What the user asked for.
    format_scope : Scope
        What the format of the votes says, which counts if the user asked for nothing.
    sources : Index
        The sources with votes; the user's scope may name no others.
    """
    if isinstance(scope, str) and scope == "used":
        return "used"
    if isinstance(scope, str) and scope == "all":
        if isinstance(format_scope, Mapping):
            # A matrix may say what its source was asked without containing an answer.
            return {source: labels for source, labels in format_scope.items() if source in sources}
        return format_scope
    if isinstance(scope, Mapping) and not scope_columns(scope):
        labels_of = {
            to_text(source): _labels_of_scope(source, labels) for source, labels in scope.items()
        }
    else:
        labels_of = _read_scope(scope)
    origin = f"{scope}" if isinstance(scope, str | Path) else "the scope"
    for source in labels_of:
        if source not in sources:
            raise DataError(
                f"{origin} names source {source!r}, which has no answers"
                f"{suggest(source, sources)}; correct it, or leave it out"
            )
    return labels_of


def _labels_of_scope(source: object, labels: object) -> tuple[str, ...]:
    if isinstance(labels, str):
        return (labels,)
    if not isinstance(labels, Iterable) or isinstance(labels, bytes):
        raise DataError(
            f"the scope: the labels of source {show_value(source)} are {show_value(labels)}; give "
            "a list of labels"
        )
    return tuple(map(to_text, labels))


def _read_scope(source: TableSource) -> dict[str, tuple[str, ...]]:
    with open_table(source, name="the scope") as table:
        roles = find_columns(
            table.columns, ALIASES, required=("source", "label"), origin=table.origin
        )
        cells = read_cells(table, roles, ("source", "label"))
        check_not_empty(cells, "source", table.origin)
        check_not_empty(cells, "label", table.origin)
    labels_of: dict[str, list[str]] = {source: [] for source in cells.index["source"]}
    for s, k in zip(cells.position["source"], cells.position["label"], strict=True):
        labels_of[cells.index["source"][s]].append(cells.index["label"][k])
    return {source: tuple(labels) for source, labels in labels_of.items()}


@dataclass(frozen=True)
class DroppedVotes:
    """Rows that are dropped for one reason.

    Attributes
    ----------
    reason : str
        Why they are dropped.
    rows : int
        How many they are.
    row : int
        The number of the first one.
    source, instance : str
        The source and instance of the first one.
    """

    reason: str
    rows: int
    row: int
    source: str
    instance: str

    def __add__(self, other: "DroppedVotes") -> "DroppedVotes":
        first = min(self, other, key=lambda dropped: dropped.row)
        return replace(first, rows=self.rows + other.rows)


def drop_duplicates(
    cells: Cells,
    score: FloatArray,
    *,
    number: IntArray | None = None,
    negative: BoolArray | None = None,
) -> tuple[BoolArray | slice, tuple[DroppedVotes, ...]]:
    """Keep the highest score of a repeated vote, and drop "none of these" beside a label.

    Parameters
    ----------
    cells : Cells
        The ids of R rows.
    score : float array, (R,)
        Their scores.
    number : int array, (R,), optional
        Their numbers, for messages; by default they count from 1.
    negative : bool array, (R,), optional
        Which of them are negative. They repeat and overrule no others.

    Returns
    -------
    tuple
        A mask or slice of the rows to keep, and a description of the others.
    """
    instance, source, label = (cells.position[role] for role in ("instance", "source", "label"))
    answer = instance * len(cells.index["source"]) + source
    if negative is not None:
        answer += negative * (len(cells.index["instance"]) * len(cells.index["source"]))
    suspects = _find_suspects(answer, label, len(cells.index["label"]))
    if not len(suspects):
        return slice(None), ()
    overruled, repeated = np.zeros((2, cells.rows), dtype=bool)
    overruled[suspects], repeated[suspects] = _mark_superfluous(
        answer[suspects], label[suspects], score[suspects]
    )
    dropped = []
    for rows, reason in (
        (repeated, "repeated; the highest score of a vote counts"),
        (overruled, "saying 'none of these' where the same source gives a label; left out"),
    ):
        if rows.any():
            first = np.flatnonzero(rows)[0]
            dropped.append(
                DroppedVotes(
                    reason,
                    rows=int(rows.sum()),
                    row=int(first + 1 if number is None else number[first]),
                    source=cells.index["source"][source[first]],
                    instance=cells.index["instance"][instance[first]],
                )
            )
    return np.asarray(~(repeated | overruled)), tuple(dropped)


def warn_dropped(dropped: Iterable[DroppedVotes], origin: str) -> None:
    """Warn about rows that were dropped, once for each reason, from whatever part they are."""
    by_reason: dict[str, DroppedVotes] = {}
    for rows in dropped:
        by_reason[rows.reason] = by_reason[rows.reason] + rows if rows.reason in by_reason else rows
    for rows in by_reason.values():
        warn(
            f"{origin}: {pluralize(rows.rows, 'row')} {rows.reason} "
            f"(first: row {rows.row:,}, source {rows.source!r}, instance {rows.instance!r})",
            MhpcWarning,
            stacklevel=3,
        )


def _find_suspects(answer: IntArray, label: IntArray, n_labels: int) -> IntArray:
    """Return the rows of answers that repeat a vote, or have "none of these" beside a label.

    There are hardly ever any, which takes one sort of integers to find out; or none, if answers of
    one vote each are in order.
    """
    if (answer[1:] > answer[:-1]).all():
        return np.arange(0)
    width = n_labels + 1
    if int(answer.max()) >= np.iinfo(np.int64).max // width - 1:
        return np.arange(len(answer))
    vote = answer * width
    vote += label
    vote -= NONE_OF_THESE
    none = vote[label == NONE_OF_THESE]
    # Rows mostly come instance by instance, and a stable sort makes use of that.
    vote.sort(kind="stable")
    repeated = vote[1:][vote[1:] == vote[:-1]]
    next_vote = vote[np.minimum(np.searchsorted(vote, none, side="right"), len(vote) - 1)]
    beside_label = none[(next_vote > none) & (next_vote < none + width)]
    suspects = np.concatenate([repeated, beside_label]) // width
    return np.flatnonzero(np.isin(answer, suspects)) if len(suspects) else np.arange(0)


def _mark_superfluous(
    answer: IntArray, label: IntArray, score: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """Mark the rows that are overruled by a label, and those that repeat a vote."""
    overruled = (label == NONE_OF_THESE) & np.isin(answer, answer[label != NONE_OF_THESE])
    order = np.lexsort((-score, label, answer))
    repeated = np.zeros(len(answer), dtype=bool)
    repeated[order[1:]] = (np.diff(answer[order]) == 0) & (np.diff(label[order]) == 0)
    return overruled, repeated & ~overruled
