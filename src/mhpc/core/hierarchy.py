"""Scores along the hierarchy: a parent never below its children, and what lies beyond them."""

import numpy as np
from scipy import sparse

from mhpc.core.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.core.entries import largest_of_each
from mhpc.core.taxonomy import Taxonomy


def raised(scores: Block, taxonomy: Taxonomy) -> Block:
    """Return the scores, each label with the highest of it and all labels below it, (N, K).

    Sparse scores stay sparse and cost their number times the depth; dense ones N times the
    number of edges. Scores must not be negative.
    """
    if sparse.issparse(scores):
        return largest_along(scores, taxonomy.closure)
    best = np.array(scores, order="F")
    for labels in reversed(taxonomy.levels):
        for label in labels:
            for parent in taxonomy.parents_of(label):
                np.maximum(best[:, parent], best[:, label], out=best[:, parent])
    return best


def most_specific(votes: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Return what each label has beyond its best child: who said it and nothing below it.

    For votes of 0 and 1 with their ancestors these are the deepest labels of each answer. A
    vote of 0.4 for a label leaves 0.6 of a sure parent with the parent.

    Parameters
    ----------
    votes : csr_array, (rows, K)
        No label below any of its children, as augmented votes and raised scores are.
    """
    beyond = (votes - largest_along(votes, taxonomy.parents)).tocsr()
    beyond.eliminate_zeros()
    return beyond


def spread(matrix: Sparse, relation: Sparse) -> tuple[IntArray, IntArray, FloatArray]:
    """List every entry once for each label that its label relates to: (row, label, value).

    That is the product of the two before terms are summed.
    """
    fan = np.diff(relation.indptr)[matrix.indices]
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    within = np.arange(fan.sum()) - np.repeat(np.cumsum(fan) - fan, fan)
    related = relation.indices[np.repeat(relation.indptr[matrix.indices], fan) + within]
    return np.repeat(row, fan), related.astype(np.int64), np.repeat(matrix.data, fan)


def deepest(sets: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Keep the labels of every row none of whose children is there, with their values."""
    with_child = (sets @ taxonomy.parents).tocsr()
    with_child.data[:] = 1.0
    kept = (sets - sets.multiply(with_child)).tocsr()
    kept.eliminate_zeros()
    kept.sort_indices()
    return kept


def largest_along(matrix: Sparse, relation: Sparse) -> Sparse:
    """Return, where several entries lead to one label of a row, the largest of them."""
    row, label, value = spread(matrix, relation)
    return largest_of_each(row, label, value, shape=matrix.shape)
