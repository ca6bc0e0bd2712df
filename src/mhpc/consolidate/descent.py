"""Descent: what a source that stopped at a label leaves open below it.

From the top down, the share of a label in its parent's score is what answers say, shrunk towards
how popular the label is below its parent. A parent is then never below its child, and labels that
nobody named are ranked.
"""

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray
from mhpc.core.taxonomy import Taxonomy


def descended(
    mean: FloatArray,
    evidence: FloatArray,
    popularity: FloatArray,
    taxonomy: Taxonomy,
    *,
    strength: float,
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
    """
    said = np.maximum(mean, 0.0) * evidence[:, None]
    score = np.zeros_like(said)
    roots = taxonomy.roots
    n = evidence[:, None]
    share = popularity[roots] / max(float(evidence.sum()), 1.0)
    score[:, roots] = _ratio(said[:, roots] + strength * share, n + strength)
    for level in taxonomy.levels[1:]:
        _descend(score, said, popularity, taxonomy, level, strength)
    return score


def _descend(
    score: FloatArray,
    said: FloatArray,
    popularity: FloatArray,
    taxonomy: Taxonomy,
    level: IntArray,
    strength: float,
) -> None:
    edges = taxonomy.parents[level].tocoo()
    child, parent = level[edges.row], edges.col
    siblings = np.diff(taxonomy.children.indptr)[parent]
    # One more answer, shared out evenly: a label that nobody named is unlikely, not impossible.
    below = np.minimum((popularity[child] + 1.0 / siblings) / (popularity[parent] + 1.0), 1.0)
    part = score[:, parent] * _ratio(said[:, child] + strength * below, said[:, parent] + strength)
    weight = 1.0 / np.bincount(edges.row)[edges.row]
    np.add.at(score.T, child, (part * weight).T)
    lowest = np.full((len(score), len(level)), np.inf)
    np.minimum.at(lowest.T, edges.row, score[:, parent].T)
    score[:, level] = np.minimum(score[:, level], lowest)


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    found = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return np.minimum(found, 1.0)
