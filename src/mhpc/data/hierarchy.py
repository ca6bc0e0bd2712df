"""Moving scores along a taxonomy: up to ancestors, down to labels that nobody named.

Matrices have one column per label; ``taxonomy.parents`` and ``taxonomy.closure`` relate a label to
its parents, and to itself with all its ancestors.
"""

import numpy as np
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import concatenate_ranges, max_of_each, row_blocks, row_indices

STRIP_INSTANCES = 8192
"""Instances that `fill_down` works on at a time: so few that two labels stay in the cache."""

_TINY = 1e-300


def propagate_up(scores: Block, taxonomy: Taxonomy) -> Block:
    """Return, for each label, the highest score among itself and its descendants, (N, K).

    Sparse scores stay sparse and cost their number times the depth; dense ones cost N times the
    number of edges. Scores must not be negative.
    """
    if sparse.issparse(scores):
        return max_along(scores, taxonomy.closure)
    highest = np.array(scores, order="F")
    for labels in reversed(taxonomy.levels):
        for label in labels:
            for parent in taxonomy.parents_of(label):
                np.maximum(highest[:, parent], highest[:, label], out=highest[:, parent])
    return highest


def most_specific(votes: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Return what each label has beyond its best child: the vote for it and nothing below it.

    For votes of 0 and 1 with ancestors these are the deepest labels of each answer. A vote of 0.4
    for a label leaves 0.6 of a certain parent with the parent.

    Parameters
    ----------
    votes : csr_array, (n, K)
        No label lower than any of its children, as after `propagate_up`.
    taxonomy : Taxonomy
        K labels.
    """
    excess = (votes - max_along(votes, taxonomy.parents)).tocsr()
    excess.eliminate_zeros()
    return excess


def deepest(sets: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Keep those labels of every row that have no child in it, with their values."""
    is_parent = (sets @ taxonomy.parents).tocsr()
    is_parent.data[:] = 1.0
    kept = (sets - sets.multiply(is_parent)).tocsr()
    kept.eliminate_zeros()
    kept.sort_indices()
    return kept


def max_along(matrix: Sparse, relation: Sparse) -> Sparse:
    """Return the largest value, per row, among the labels that relate to each label.

    This is the matrix product with the maximum in place of the sum.

    Parameters
    ----------
    matrix : csr_array, (n, K)
        Values of labels.
    relation : csr_array, (K, K)
        An entry (j, k) if label j relates to label k, such as ``taxonomy.parents``.
    """
    row, label, value = expand_along(matrix, relation)
    return max_of_each(row, label, value, shape=matrix.shape)


def expand_along(matrix: Sparse, relation: Sparse) -> tuple[IntArray, IntArray, FloatArray]:
    """List every entry once for each label that its label relates to: (row, label, value).

    These are the terms of the matrix product before they are summed; parameters as in `max_along`.
    """
    n_related = np.diff(relation.indptr)[matrix.indices]
    entry, related = concatenate_ranges(relation.indptr[matrix.indices], n_related)
    labels = relation.indices[related].astype(np.int64)
    return row_indices(matrix)[entry], labels, matrix.data[entry]


def fill_down(
    mean: FloatArray,
    evidence: FloatArray,
    popularity: FloatArray,
    taxonomy: Taxonomy,
    *,
    strength: float,
    total: float | None = None,
    strip: int = STRIP_INSTANCES,
) -> FloatArray:
    """Share out the score of every label among its children, from the roots down, (N, K).

    The share of a child is what answers say, shrunk towards how popular it is below its parent:
    labels that nobody named are ranked by popularity, and no parent scores below its child. ::

        score_k = score_p (n y_k + t r_k) / (n y_p + t)    for a parent p,
        score_k = (n y_k + t r_k) / (n + t)                for a root.

    With several parents this is the mean over them, but at most the lowest of their scores.

    Parameters
    ----------
    mean : float array, (N, K)
        y, the mean answer with ancestors, smoothed or not.
    evidence : float array, (N,)
        n, the number of answers to an instance.
    popularity : float array, (K,)
        How often each label is given, by itself or through a descendant; r is its share of its
        parent's.
    taxonomy : Taxonomy
        K labels.
    strength : float
        t, the number of answers that popularity counts for.
    total : float, optional
        The number of answers that popularity is counted in; by default those of these instances.
    strip : int
        How many instances to work on at a time.
    """
    scores = np.empty_like(mean)
    answers = max(float(evidence.sum()) if total is None else total, 1.0)
    for rows in row_blocks(len(mean), 1, strip):
        # Labels are rows here, so that a label and its parent are two contiguous runs of memory.
        votes = np.multiply(mean[rows].T, evidence[rows], order="C")
        np.maximum(votes, 0.0, out=votes)
        scores[rows] = _fill_strip(
            votes, evidence[rows], popularity, taxonomy, strength=strength, answers=answers
        ).T
    return scores


def _fill_strip(
    votes: FloatArray,
    evidence: FloatArray,
    popularity: FloatArray,
    taxonomy: Taxonomy,
    *,
    strength: float,
    answers: float,
) -> FloatArray:
    """Return the scores of some instances, (K, n), from the votes n y, (K, n)."""
    score = np.empty_like(votes)
    for root in taxonomy.roots:
        expected = strength * (popularity[root] / answers)
        score[root] = (votes[root] + expected) * _inverse(evidence + strength)
        np.minimum(score[root], 1.0, out=score[root])
    n_children = np.diff(taxonomy.children.indptr)
    # Score per vote of a child: score_p / (n y_p + t), for every label p that has children.
    score_per_vote = np.empty_like(votes)
    for level, labels in enumerate(taxonomy.levels):
        for label in labels if level else ():
            parents = taxonomy.parents_of(label)
            # One more answer, shared evenly: a label that nobody named is unlikely, not impossible.
            even_share = 1.0 / n_children[parents]
            share = np.minimum((popularity[label] + even_share) / (popularity[parents] + 1.0), 1.0)
            own = score[label]
            np.add(votes[label], strength * share[0], out=own)
            own *= score_per_vote[parents[0]]
            np.minimum(own, score[parents[0]], out=own)
            if len(parents) > 1:
                _average_over_parents(
                    own, votes[label], score, score_per_vote, parents, strength * share
                )
        for label in labels:
            if n_children[label]:
                score_per_vote[label] = score[label] * _inverse(votes[label] + strength)
    return score


def _average_over_parents(
    own: FloatArray,
    votes: FloatArray,
    score: FloatArray,
    score_per_vote: FloatArray,
    parents: IntArray,
    expected: FloatArray,
) -> None:
    """Turn the score by the first parent, in place, into the mean over all parents."""
    for parent, popular in zip(parents[1:], expected[1:], strict=True):
        own += np.minimum((votes + popular) * score_per_vote[parent], score[parent])
    own /= len(parents)
    np.minimum(own, score[parents].min(axis=0), out=own)


def _inverse(values: FloatArray) -> FloatArray:
    """Return 1 / values; 0 for values of 0, which have no parts to share."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > _TINY)
