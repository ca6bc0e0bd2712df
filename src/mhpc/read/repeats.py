"""Votes given twice, and "none of these" beside a label: which rows count, and which do not."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from mhpc.core.arrays import BoolArray, FloatArray, IntArray
from mhpc.core.votes import NONE_OF_THESE
from mhpc.errors import MhpcWarning, counted
from mhpc.read.cells import Cells


@dataclass(frozen=True)
class LeftOut:
    """Rows that do not count for one reason: how many, and the first of them."""

    why: str
    rows: int
    row: int
    source: str
    instance: str

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return replace(min(self, other, key=lambda each: each.row), rows=self.rows + other.rows)


def without_repeats(
    cells: Cells, score: FloatArray, *, number: IntArray | None = None
) -> tuple[BoolArray | slice, tuple[LeftOut, ...]]:
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
                LeftOut(
                    why,
                    rows=int(rows.sum()),
                    row=int(at + 1 if number is None else number[at]),
                    source=cells.index["source"][source[at]],
                    instance=cells.index["instance"][instance[at]],
                )
            )
    return np.asarray(~(repeated | overruled)), tuple(found)


def tell_left_out(left_out: Iterable[LeftOut], origin: str) -> None:
    """Warn of rows that do not count, whatever part they are from, once for each reason."""
    reasons: dict[str, LeftOut] = {}
    for each in left_out:
        reasons[each.why] = reasons[each.why] + each if each.why in reasons else each
    for each in reasons.values():
        warnings.warn(
            f"{origin}: {counted(each.rows, 'row')} {each.why} "
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
