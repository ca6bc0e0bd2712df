"""Metrics of how well scores rank true labels above false ones.

All walk over the scores in dense blocks and are exact. Ties: ranking loss and coverage count
them against the method, as scikit-learn does; micro-AUC counts them half, as scikit-learn
does, or not at all, as the paper writes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mhpc.data.scores import dense_blocks
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Matrix, Sparse

_STRIP_CELLS = 1 << 16


def ranking_loss(truth: Sparse, scores: Matrix) -> float:
    """Return the mean share of (true, false) label pairs that are ordered wrongly; ties are.

    An instance without a true or without a false label has no pair and loses nothing.
    """
    loss = 0.0
    for ranks in _ranks(truth, scores):
        pairs = ranks.positives * (int(scores.shape[1]) - ranks.positives)
        false_at_least = ranks.at_least - ranks.true_at_least
        wrong = np.bincount(ranks.owner, false_at_least, minlength=len(pairs))
        loss += float(np.divide(wrong, pairs, out=np.zeros(len(pairs)), where=pairs > 0).sum())
    return loss / int(scores.shape[0])


def coverage_error(truth: Sparse, scores: Matrix) -> float:
    """Return the mean number of top labels that it takes to have all true ones; ties count.

    An instance without a true label takes none.
    """
    taken = 0
    for ranks in _ranks(truth, scores):
        deepest = np.zeros(len(ranks.positives), dtype=np.int64)
        np.maximum.at(deepest, ranks.owner, ranks.at_least)
        taken += int(deepest.sum())
    return taken / int(scores.shape[0])


def micro_auc(truth: Sparse, scores: Matrix, *, tie: float = 0.5) -> float:
    """Return the share of (true, false) pairs, over all instances, with the true one above.

    Parameters
    ----------
    tie : float
        What a pair of equal scores counts: 0.5 as in scikit-learn, 0 as in the paper.

    Returns
    -------
    float
        nan where no label is true or none is false.
    """
    positive, negatives = _positive_scores(truth, scores), 0
    above = tied = 0
    for span, block in dense_blocks(scores):
        negative = np.sort(block[~_true_mask(truth[span])])
        below = np.searchsorted(negative, positive, side="left")
        above += int(below.sum())
        tied += int((np.searchsorted(negative, positive, side="right") - below).sum())
        negatives += len(negative)
    pairs = len(positive) * negatives
    return (above + tie * tied) / pairs if pairs else float("nan")


@dataclass(frozen=True, eq=False)
class _Ranks:
    """Where the true labels of a block of instances stand.

    `positives` counts the true labels of each row; the others have an entry a true label: its
    row, how many labels score at least as high, and how many true ones among these.
    """

    positives: IntArray
    owner: IntArray
    at_least: IntArray
    true_at_least: IntArray


def _ranks(truth: Sparse, scores: Matrix) -> Iterator[_Ranks]:
    for span, block in dense_blocks(scores):
        true = _true_mask(truth[span])
        owner, label = np.nonzero(true)
        score = block[owner, label]
        at_least, true_at_least = np.empty((2, len(owner)), dtype=np.int64)
        # A row is compared with each of its few true labels, which is cheaper than sorting it;
        # a strip of comparisons is kept small enough for the cache.
        strip = max(1, _STRIP_CELLS // block.shape[1])
        for start in range(0, len(owner), strip):
            some = slice(start, start + strip)
            above = block[owner[some]] >= score[some, None]
            at_least[some] = np.count_nonzero(above, axis=1)
            true_at_least[some] = np.count_nonzero(above & true[owner[some]], axis=1)
        yield _Ranks(np.count_nonzero(true, axis=1), owner, at_least, true_at_least)


def _positive_scores(truth: Sparse, scores: Matrix) -> FloatArray:
    found = [block[_true_mask(truth[span])] for span, block in dense_blocks(scores)]
    return np.concatenate(found) if found else np.zeros(0)


def _true_mask(truth: Sparse) -> BoolArray:
    mask = np.zeros(truth.shape, dtype=bool)
    mask[np.repeat(np.arange(len(mask)), np.diff(truth.indptr)), truth.indices] = True
    return mask
