"""Metrics of how well scores rank true labels above false ones.

All are exact, and computed on dense blocks of the scores. Ranking loss and coverage error count
ties against the method, as scikit-learn does; micro-AUC counts them half, as scikit-learn does, or
not at all, as the paper writes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mhpc.data.scores import BLOCK_CELLS, read_dense_blocks
from mhpc.numerics.arrays import BoolArray, IntArray, Matrix, Sparse
from mhpc.numerics.sparse import row_blocks, row_indices

_CACHE_CELLS = 1 << 16
"""Cells that are compared at a time, few enough for the cache."""


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
        + [
            block[_mask(truth[rows])]
            for rows, block in read_dense_blocks(scores, block_cells=block_cells)
        ]
    )
    n_false = n_higher = n_tied = 0
    for rows, block in read_dense_blocks(scores, block_cells=block_cells):
        false_scores = np.sort(block[~_mask(truth[rows])])
        lower = np.searchsorted(false_scores, true_scores, side="left")
        lower_or_tied = np.searchsorted(false_scores, true_scores, side="right")
        n_higher += int(lower.sum())
        n_tied += int((lower_or_tied - lower).sum())
        n_false += len(false_scores)
    n_pairs = len(true_scores) * n_false
    return (n_higher + tie * n_tied) / n_pairs if n_pairs else float("nan")


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
    for rows, block in read_dense_blocks(scores, block_cells=block_cells):
        is_true = _mask(truth[rows])
        row, label = np.nonzero(is_true)
        true_scores = block[row, label]
        n_at_least, n_true_at_least = np.empty((2, len(row)), dtype=np.int64)
        # Comparing a row with each of its few true labels is cheaper than sorting it.
        for strip in row_blocks(len(row), block.shape[1], _CACHE_CELLS):
            is_at_least = block[row[strip]] >= true_scores[strip, None]
            n_at_least[strip] = np.count_nonzero(is_at_least, axis=1)
            n_true_at_least[strip] = np.count_nonzero(is_at_least & is_true[row[strip]], axis=1)
        yield _Ranks(np.count_nonzero(is_true, axis=1), row, n_at_least, n_true_at_least)


def _mask(truth: Sparse) -> BoolArray:
    mask = np.zeros(truth.shape, dtype=bool)
    mask[row_indices(truth), truth.indices] = True
    return mask
