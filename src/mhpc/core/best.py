"""The best cells of a consolidation: what is worth keeping of N x K scores."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from mhpc.core.arrays import Block, BoolArray, FloatArray, IntArray, Sparse, dense
from mhpc.core.consolidation import Consolidation, ScoredCells, Top, walk
from mhpc.core.entries import canonical, cell_numbers, changes, looked_up

_ABOVE = float(np.nextafter(0.0, 1.0))
"""The least that is above 0."""


def scored_cells(consolidation: Consolidation, *, top: Top = "all") -> Iterator[ScoredCells]:
    """Walk over the cells worth keeping: above 0 and among the best `top` in a view, in either.

    An instance without any keeps its first label, so that it is not lost. Cells come in order of
    row and label. Sparse scores cost what they store, however many labels there are.
    """
    score, specific = consolidation.score, consolidation.specific
    for span in walk(consolidation):
        yield best_cells(span.start, score[span], specific[span], top=top)


def best_cells(start: int, score: Block, specific: Block, *, top: Top) -> ScoredCells:
    """Return the cells of a block that are worth keeping; rows are counted from `start`."""
    if sparse.issparse(score) and sparse.issparse(specific):
        return _of_stored(start, canonical(score), canonical(specific), top)
    return _of_dense(start, dense(score), dense(specific), top)


def _of_dense(start: int, score: FloatArray, specific: FloatArray, top: Top) -> ScoredCells:
    row, label = np.nonzero(_among_best(score, top) | _among_best(specific, top))
    lost = np.flatnonzero(np.bincount(row, minlength=len(score)) == 0)
    if len(lost):
        row, label = np.append(row, lost), np.append(label, np.zeros_like(lost))
        order = np.argsort(row, kind="stable")
        row, label = row[order], label[order]
    return ScoredCells(row + start, label, score[row, label], specific[row, label])


def _among_best(scores: FloatArray, top: Top) -> BoolArray:
    """Mark the best labels above 0 of each row, the earlier label first in a tie."""
    columns = scores.shape[1]
    if top == "all" or top >= columns:
        return np.asarray(scores > 0)
    last = np.partition(scores, columns - top, axis=1)[:, columns - top, None]
    mask = scores >= np.maximum(last, _ABOVE)
    crowded = np.flatnonzero(np.count_nonzero(mask, axis=1) > top)
    if len(crowded):
        tied = scores[crowded] == last[crowded]
        room = top - np.count_nonzero(mask[crowded] & ~tied, axis=1)
        late = np.cumsum(tied, axis=1, dtype=np.int32) > room[:, None]
        mask[crowded] &= ~(tied & late)
    return np.asarray(mask)


def _of_stored(start: int, score: Sparse, specific: Sparse, top: Top) -> ScoredCells:
    rows, columns = score.shape
    cell, values = _union(score, specific)
    row = cell // columns
    label = cell - row * columns
    best, other = (_stored_among_best(row, value, rows, top) for value in values)
    keep = best | other
    lost = np.bincount(row[keep], minlength=rows) == 0
    if lost.any():
        firsts = np.flatnonzero(lost) * np.int64(columns)
        kept = np.sort(np.concatenate([cell[keep], firsts]))
        row, label = np.divmod(kept, columns)
        both = (looked_up(kept, cell, value) for value in values)
        return ScoredCells(row + start, label, *both)
    return ScoredCells(row[keep] + start, label[keep], values[0][keep], values[1][keep])


def _union(one: Sparse, other: Sparse) -> tuple[IntArray, tuple[FloatArray, FloatArray]]:
    """Return all cells that either stores, in order, and the values of both there."""
    cell, further = cell_numbers(one), cell_numbers(other)
    place = np.searchsorted(cell, further)
    if len(cell) and (cell[np.minimum(place, len(cell) - 1)] == further).all():
        # What is specific is there in the closed view too, so that nothing has to be sorted.
        values = np.zeros(len(cell))
        values[place] = other.data
        return cell, (one.data, values)
    every = np.concatenate([cell, further])
    every.sort()
    every = every[changes(every)]
    return every, (looked_up(every, cell, one.data), looked_up(every, further, other.data))


def _stored_among_best(row: IntArray, value: FloatArray, rows: int, top: Top) -> BoolArray:
    """Mark the stored cells above 0 that are among the best of their row."""
    best = np.asarray(value > 0)
    if top == "all":
        return best
    many = best & (np.bincount(row[best], minlength=rows) > top)[row]
    crowded = np.flatnonzero(many)
    best[crowded] = _nth(row[crowded], value[crowded], rows) < top
    return best


def _nth(row: IntArray, value: FloatArray, rows: int) -> IntArray:
    """Return how many entries of its row come before each: larger ones, and equal ones earlier."""
    nth = np.empty(len(row), dtype=np.int64)
    nth[np.lexsort((-value, row))] = np.arange(len(row)) - _begins(row, rows)[row]
    return nth


def _begins(row: IntArray, rows: int) -> IntArray:
    """Return where the entries of each row begin."""
    size = np.bincount(row, minlength=rows)
    return np.asarray(np.cumsum(size) - size)
