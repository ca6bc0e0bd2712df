"""How well scores foretell answers: where the labels that were said stand in the ranking."""

import numpy as np

from mhpc.core.arrays import BoolArray, FloatArray, IntArray, Matrix, Sparse, dense

_CELLS = 1 << 20


def surprise(scores: Matrix, instance: IntArray, said: Sparse, scope: Sparse | None) -> FloatArray:
    """Return how surprising each answer is, (A,): 0 where its labels stand first, 1 where last.

    The mean, over the labels said, of log(1 + rank) / log(1 + K), rank 0 being the top: the step
    from first to second counts more than that from 101st to 102nd, so that both who is on top
    and how deep the rest lies tell. Equal scores share their ranks. An answer without labels has
    no surprise (nan).

    Parameters
    ----------
    scores : (N, K)
        What is foretold.
    instance : int array, (A,)
        Whose answer each is.
    said : csr_array, (A, K)
        Labels with scores, which weigh them.
    scope : csr_array, (A, K), or None
        Ones at the labels that an answer could have held; ranks count among these.
    """
    K = said.shape[1]
    found = np.full(said.shape[0], np.nan)
    answered = np.flatnonzero(np.diff(said.indptr) > 0)
    step = max(1, _CELLS // K)
    for start in range(0, len(answered), step):
        rows = answered[start : start + step]
        foretold = dense(scores[instance[rows]])
        allowed = None if scope is None else dense(scope[rows]) > 0
        found[rows] = _surprise(foretold, said[rows].tocsr(), allowed)
    return found


def _surprise(foretold: FloatArray, said: Sparse, allowed: BoolArray | None) -> FloatArray:
    rows, K = foretold.shape
    owner = np.repeat(np.arange(rows), np.diff(said.indptr))
    if allowed is not None:
        # Below everything: what could not be said stands in nobody's way.
        foretold = np.where(allowed, foretold, -np.inf)
    order = np.sort(foretold, axis=1)
    value = foretold[owner, said.indices]
    above, level = np.empty(len(owner)), np.empty(len(owner))
    for row in range(rows):
        mine = slice(said.indptr[row], said.indptr[row + 1])
        right = np.searchsorted(order[row], value[mine], side="right")
        left = np.searchsorted(order[row], value[mine], side="left")
        above[mine], level[mine] = K - right, right - left
    rank = above + (level - 1) / 2
    choices = np.full(rows, float(K)) if allowed is None else allowed.sum(axis=1).astype(float)
    share = np.log1p(rank) / np.log1p(np.maximum(choices[owner], 1.0))
    total = np.bincount(owner, said.data * np.minimum(share, 1.0), minlength=rows)
    return np.asarray(total / np.bincount(owner, said.data, minlength=rows))
