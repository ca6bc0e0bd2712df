"""Metrics of how well scores rank true labels above false ones.

All are exact, and computed on blocks of the scores, of which sparse ones cost what they store; no
score is negative. Ranking loss and coverage error count ties against the method, as scikit-learn
does; micro-AUC counts them half, as scikit-learn does, or not at all, as the paper writes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.scores import BLOCK_CELLS
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Matrix, Sparse
from mhpc.numerics.sparse import (
    are_cells,
    canonical,
    cell_numbers,
    row_blocks,
    row_indices,
    values_at,
)

_CACHE_CELLS = 1 << 16
"""Cells that are compared at a time, few enough for the cache."""

_MAX_COMPARED = 20
"""True labels per instance up to which comparing a row with each is cheaper than sorting it."""


def ranking_loss(truth: Sparse, scores: Matrix, *, block_cells: int = BLOCK_CELLS) -> float:
    """Return the mean share of (true, false) pairs of labels in the wrong order or tied.

    An instance without a true or without a false label has no pairs, and no loss.

    Parameters
    ----------
    truth : csr_array, (N, K)
        An entry at every true label.
    scores : matrix, (N, K)
        The scores.
    block_cells : int
        Cells of the scores that are made dense at a time.
    """
    n_labels = int(scores.shape[1])
    total = 0.0
    for ranks in _rank_true_labels(truth, scores, block_cells):
        n_pairs = ranks.n_true * (n_labels - ranks.n_true)
        false_at_least = ranks.n_at_least - ranks.n_true_at_least
        n_wrong = np.bincount(ranks.row, false_at_least, minlength=len(n_pairs))
        losses = np.divide(n_wrong, n_pairs, out=np.zeros(len(n_pairs)), where=n_pairs > 0)
        total += float(losses.sum())
    return total / int(scores.shape[0])


def coverage_error(truth: Sparse, scores: Matrix, *, block_cells: int = BLOCK_CELLS) -> float:
    """Return how many top labels it takes, on average, to include all true ones and ties.

    It is 0 for an instance without a true label. Parameters as in `ranking_loss`.
    """
    total = 0
    for ranks in _rank_true_labels(truth, scores, block_cells):
        last = np.zeros(len(ranks.n_true), dtype=np.int64)
        np.maximum.at(last, ranks.row, ranks.n_at_least)
        total += int(last.sum())
    return total / int(scores.shape[0])


def micro_auc(
    truth: Sparse, scores: Matrix, *, tie: float = 0.5, block_cells: int = BLOCK_CELLS
) -> float:
    """Return the share of (true, false) pairs, over all instances, with the true label higher.

    Parameters
    ----------
    truth, scores, block_cells
        As in `ranking_loss`.
    tie : float
        What a pair of equal scores counts: 0.5 as in scikit-learn, 0 as in the paper.

    Returns
    -------
    float
        nan if no label is true or none is false.
    """
    true_scores = np.concatenate(
        [np.zeros(0)]
        + [_true_scores(truth[rows], block) for rows, block in _read_blocks(scores, block_cells)]
    )
    n_false = n_higher = n_tied = 0
    for rows, block in _read_blocks(scores, block_cells):
        false_scores, n_zeros = _false_scores(truth[rows], block)
        false_scores.sort()
        lower = np.searchsorted(false_scores, true_scores, side="left")
        lower_or_tied = np.searchsorted(false_scores, true_scores, side="right")
        n_above_zero = int(np.count_nonzero(true_scores))
        n_higher += int(lower.sum()) + n_above_zero * n_zeros
        n_tied += int((lower_or_tied - lower).sum()) + (len(true_scores) - n_above_zero) * n_zeros
        n_false += len(false_scores) + n_zeros
    n_pairs = len(true_scores) * n_false
    return (n_higher + tie * n_tied) / n_pairs if n_pairs else float("nan")


def _read_blocks(scores: Matrix, block_cells: int) -> Iterator[tuple[slice, Block]]:
    """Give all rows in blocks, each with its position; sparse ones by what they store."""
    N, K = scores.shape
    width = np.maximum(np.diff(scores.indptr), 1) if isinstance(scores, sparse.csr_array) else K
    for rows in row_blocks(N, width, block_cells):
        yield rows, scores[rows]


def _true_scores(truth: Sparse, block: Block) -> FloatArray:
    """Return the scores of the true labels, row by row."""
    return values_at(block, row_indices(truth), truth.indices.astype(np.int64))


def _false_scores(truth: Sparse, block: Block) -> tuple[FloatArray, int]:
    """Return scores of false labels, and how many more are 0, which sparse ones do not store."""
    if isinstance(block, np.ndarray):
        return block[~_mask(truth)], 0
    block, truth = canonical(block), canonical(truth)
    n_cells = block.shape[0] * block.shape[1]
    is_true = are_cells(cell_numbers(block), cell_numbers(truth), n_cells)
    false_scores = np.asarray(block.data[~is_true], dtype=np.float64)
    return false_scores, n_cells - truth.nnz - len(false_scores)


@dataclass(frozen=True, eq=False)
class _Ranks:
    """The ranks of the true labels in a block of n instances.

    Attributes
    ----------
    n_true : int array, (n,)
        The number of true labels of each instance.
    row : int array, (true labels,)
        The instance of each true label.
    n_at_least, n_true_at_least : int array, (true labels,)
        How many labels of the instance score at least as high, and how many true ones do.
    """

    n_true: IntArray
    row: IntArray
    n_at_least: IntArray
    n_true_at_least: IntArray


def _rank_true_labels(truth: Sparse, scores: Matrix, block_cells: int) -> Iterator[_Ranks]:
    for rows, block in _read_blocks(scores, block_cells):
        true = canonical(truth[rows])
        if isinstance(block, np.ndarray) and true.nnz <= _MAX_COMPARED * len(block):
            yield _rank_by_comparing(_mask(true), block)
        else:
            yield _rank_by_sorting(true, block)


def _rank_by_comparing(is_true: BoolArray, block: FloatArray) -> _Ranks:
    """Compare each row with its few true labels."""
    row, label = np.nonzero(is_true)
    true_scores = block[row, label]
    n_at_least, n_true_at_least = np.empty((2, len(row)), dtype=np.int64)
    for strip in row_blocks(len(row), block.shape[1], _CACHE_CELLS):
        is_at_least = block[row[strip]] >= true_scores[strip, None]
        n_at_least[strip] = np.count_nonzero(is_at_least, axis=1)
        n_true_at_least[strip] = np.count_nonzero(is_at_least & is_true[row[strip]], axis=1)
    return _Ranks(np.count_nonzero(is_true, axis=1), row, n_at_least, n_true_at_least)


def _rank_by_sorting(true: Sparse, block: Block) -> _Ranks:
    """Sort the scores above 0 of each row, and look up those of its true labels."""
    stored = sparse.csr_array(block)
    true_scores = _true_scores(true, stored)
    n_at_least, n_true_at_least = np.empty((2, true.nnz), dtype=np.int64)
    for row in range(true.shape[0]):
        labels = slice(true.indptr[row], true.indptr[row + 1])
        own, scores = true_scores[labels], stored.data[stored.indptr[row] : stored.indptr[row + 1]]
        n_at_least[labels] = _count_at_least(own, scores, true.shape[1])
        n_true_at_least[labels] = _count_at_least(own, own, len(own))
    return _Ranks(np.diff(true.indptr), row_indices(true), n_at_least, n_true_at_least)


def _count_at_least(own: FloatArray, scores: FloatArray, n_all: int) -> IntArray:
    """Return how many of `n_all` scores, of which those above 0 are given, reach each of some."""
    n_lower = np.searchsorted(np.sort(scores), own, side="left")
    return np.where(own > 0, len(scores) - n_lower, n_all)


def _mask(truth: Sparse) -> BoolArray:
    mask = np.zeros(truth.shape, dtype=bool)
    mask[row_indices(truth), truth.indices] = True
    return mask
