"""Scores along a taxonomy: propagate_up, most_specific, deepest, fill_down.

From the top down, the share of a label in its parent's score is what answers say, shrunk towards
how popular the label is below its parent. A parent is then never below its child, and labels that
nobody named are ranked.
"""

import numpy as np
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import max_of_each


def propagate_up(scores: Block, taxonomy: Taxonomy) -> Block:
    """Return the scores, each label with the highest of it and all labels below it, (N, K).

    Sparse scores stay sparse and cost their number times the depth; dense ones N times the
    number of edges. Scores must not be negative.
    """
    if sparse.issparse(scores):
        return max_along(scores, taxonomy.closure)
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
    beyond = (votes - max_along(votes, taxonomy.parents)).tocsr()
    beyond.eliminate_zeros()
    return beyond


def expand_along(matrix: Sparse, relation: Sparse) -> tuple[IntArray, IntArray, FloatArray]:
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


def max_along(matrix: Sparse, relation: Sparse) -> Sparse:
    """Return, where several entries lead to one label of a row, the largest of them."""
    row, label, value = expand_along(matrix, relation)
    return max_of_each(row, label, value, shape=matrix.shape)


_STRIP = 8192
"""Instances at a time: few enough that two labels stay in the cache."""


_TINY = 1e-300


def fill_down(
    mean: FloatArray,
    evidence: FloatArray,
    popularity: FloatArray,
    taxonomy: Taxonomy,
    *,
    strength: float,
    total: float | None = None,
) -> FloatArray:
    """Return scores that go down from the roots, (N, K).

    ``score_k = score_p (n y_k + t r_k) / (n y_p + t)`` for a parent p, the mean over several, but
    no more than the lowest of them has; r_k is the popularity of k below p, t the strength; a
    root has ``(n y_k + t r_k) / (n + t)``.

    Parameters
    ----------
    mean : float array, (N, K)
        y, mean augmented answers, smoothed or not.
    evidence : float array, (N,)
        n, how many answers an instance has.
    popularity : float array, (K,)
        How often each label is said, by itself or through one below it.
    taxonomy : Taxonomy
        K labels.
    strength : float
        t, how many answers the popularity is worth.
    total : float, optional
        How many answers the popularity is counted in; unless given, those of these instances.
    """
    found = np.empty_like(mean)
    answers = max(float(evidence.sum()) if total is None else total, 1.0)
    for start in range(0, len(mean), _STRIP):
        some = slice(start, start + _STRIP)
        # Labels are rows here: what a label and its parent have is then in two runs of memory.
        said = np.multiply(mean[some].T, evidence[some], order="C")
        np.maximum(said, 0.0, out=said)
        found[some] = _down(said, evidence[some], popularity, taxonomy, strength, answers).T
    return found


def _down(
    said: FloatArray,
    evidence: FloatArray,
    popularity: FloatArray,
    taxonomy: Taxonomy,
    strength: float,
    answers: float,
) -> FloatArray:
    """Return the scores of some instances, a row a label."""
    score = np.empty_like(said)
    for root in taxonomy.roots:
        share = popularity[root] / answers
        score[root] = (said[root] + strength * share) * _inverse(evidence + strength)
        np.minimum(score[root], 1.0, out=score[root])
    siblings = np.diff(taxonomy.children.indptr)
    # What a child's answers are multiplied by, for every label that has children.
    worth = np.empty_like(said)
    for level, labels in enumerate(taxonomy.levels):
        for label in labels if level else ():
            above = taxonomy.parents_of(label)
            # One more answer, shared out evenly: what nobody named is unlikely, not impossible.
            below = np.minimum(
                (popularity[label] + 1.0 / siblings[above]) / (popularity[above] + 1.0), 1.0
            )
            own = score[label]
            np.add(said[label], strength * below[0], out=own)
            own *= worth[above[0]]
            np.minimum(own, score[above[0]], out=own)
            if len(above) > 1:
                _mean_over(own, said[label], score, worth, above, strength * below)
        for label in labels:
            if siblings[label]:
                worth[label] = score[label] * _inverse(said[label] + strength)
    return score


def _mean_over(
    own: FloatArray,
    said: FloatArray,
    score: FloatArray,
    worth: FloatArray,
    above: IntArray,
    expected: FloatArray,
) -> None:
    """Make of what a label has of its first parent the mean over all, no more than the lowest."""
    for parent, more in zip(above[1:], expected[1:], strict=True):
        own += np.minimum((said + more) * worth[parent], score[parent])
    own /= len(above)
    np.minimum(own, score[above].min(axis=0), out=own)


def _inverse(whole: FloatArray) -> FloatArray:
    """Return 1 / whole, 0 where there is nothing to be part of."""
    return np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > _TINY)
