"""Descent: what a source that stopped at a label leaves open below it.

From the top down, the share of a label in its parent's score is what answers say, shrunk towards
how popular the label is below its parent. A parent is then never below its child, and labels that
nobody named are ranked.
"""

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray
from mhpc.core.taxonomy import Taxonomy

_STRIP = 8192
"""Instances at a time: few enough that two labels stay in the cache."""


_TINY = 1e-300


def descended(
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
