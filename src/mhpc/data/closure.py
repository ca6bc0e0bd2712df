"""Labels with all their ancestors, computed for the labels that are asked for."""

import numpy as np
from scipy import sparse

from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.numerics.sparse import concatenate_ranges, run_starts

MAX_PAIRS = 1 << 22
"""Up to so many pairs of a label and an ancestor are computed for all labels at once."""

MANY_PARENTS = 8
"""The mean number of parents from which pairs are extended by a product of matrices."""


def close_labels(
    labels: IntArray, parents: Sparse, depth: IntArray, *, max_pairs: int | None = None
) -> Sparse | None:
    """Return ones for some labels with themselves and with each of their ancestors, (K, K).

    The rows of other labels are empty, so that the cost follows the labels that are asked for. All
    pairs of a label and an ancestor of one level are complete before they are extended by the
    parents: a pair is extended once, no matter how many paths lead to the ancestor.

    Parameters
    ----------
    labels : int array
        The labels, increasing.
    parents : csr_array, (K, K)
        ``parents[k, p] == 1`` where label ``p`` is a direct parent of ``k``.
    depth : int array, (K,)
        The level of every label; that of a parent is lower.
    max_pairs : int, optional
        Return None if there are more pairs than this.

    Examples
    --------
    >>> parents = sparse.csr_array(([1.0, 1.0], ([1, 2], [0, 1])), shape=(3, 3))
    >>> close_labels(np.array([2]), parents, np.array([1, 2, 3])).toarray().astype(int).tolist()
    [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    """
    K, n_parents = parents.shape[0], np.diff(parents.indptr)
    is_tree = n_parents.max(initial=0) <= 1
    if is_tree and max_pairs is not None and depth[labels].sum() > max_pairs:
        return None
    waiting: list[list[IntArray]] = [[] for _ in range(int(depth.max(initial=0)) + 1)]
    _sort_by_level(labels * np.int64(K) + labels, depth[labels], waiting)
    complete, n_pairs = [np.zeros(0, dtype=np.int64)], 0
    for level in range(len(waiting) - 1, 0, -1):
        if not waiting[level]:
            continue
        pair = np.concatenate(waiting[level])
        waiting[level] = []
        if not is_tree:
            pair = np.sort(pair)
            pair = pair[run_starts(pair)]
        complete.append(pair)
        n_pairs += len(pair)
        if max_pairs is not None and n_pairs > max_pairs:
            return None
        extended = _extend(pair, parents, n_parents)
        _sort_by_level(extended, depth[extended % K], waiting)
    return _from_pairs(np.concatenate(complete), K)


def _extend(pair: IntArray, parents: Sparse, n_parents: IntArray) -> IntArray:
    """Return the pairs of labels and the parents of their ancestors; `pair` is sorted.

    If ancestors have many parents, most of these pairs are equal. A product of matrices then finds
    the distinct ones without making a list of all.
    """
    K = parents.shape[0]
    row, ancestor = np.divmod(pair, K)
    if n_parents[ancestor].sum() < MANY_PARENTS * len(pair):
        position, edge = concatenate_ranges(parents.indptr[ancestor], n_parents[ancestor])
        return np.asarray((pair - ancestor)[position] + parents.indices[edge])
    starts = np.flatnonzero(run_starts(row))
    entries = (np.ones(len(pair)), ancestor, np.append(starts, len(pair)))
    above = sparse.csr_array(entries, shape=(len(starts), K)) @ parents
    return np.asarray(np.repeat(row[starts] * K, np.diff(above.indptr)) + above.indices)


def _sort_by_level(pair: IntArray, level: IntArray, waiting: list[list[IntArray]]) -> None:
    """Add pairs to those that wait for the level of their ancestor."""
    if not len(pair):
        return
    if level.min() == level.max():
        waiting[level[0]].append(pair)
        return
    order = np.argsort(level.astype(np.min_scalar_type(level.max())), kind="stable")
    pair, level = pair[order], level[order]
    for part in np.split(np.arange(len(level)), np.flatnonzero(np.diff(level)) + 1):
        waiting[level[part[0]]].append(pair[part])


def _from_pairs(pair: IntArray, K: int) -> Sparse:
    pair.sort()
    kind = np.int32 if max(K, len(pair)) < np.iinfo(np.int32).max else np.int64
    row = pair // K
    indptr = np.searchsorted(row, np.arange(K + 1)).astype(kind)
    entries = (np.ones(len(pair)), (pair - row * K).astype(kind), indptr)
    closure = sparse.csr_array(entries, shape=(K, K))
    closure.has_sorted_indices = closure.has_canonical_format = True
    return closure
