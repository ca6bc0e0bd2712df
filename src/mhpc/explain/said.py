"""What answers say as sets: which labels, with ancestors, and which of them are the deepest."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.core.arrays import BoolArray, IntArray, Sparse, dense
from mhpc.core.hierarchy import deepest
from mhpc.core.panel import Panel

_SURE = 0.5
"""The share of an answer's highest score from which on it says a label, where it gives scores."""


@dataclass(frozen=True, eq=False)
class Said:
    """What the answers of a panel say, ones in both.

    Attributes
    ----------
    closed : csr_array, (A, K)
        Labels with their ancestors. Of an answer with scores, those at least half as high as its
        highest: a model that gives every label a number does not say every label.
    deepest : csr_array, (A, K)
        Those of them that have no other of them below.
    """

    closed: Sparse
    deepest: Sparse


def said_in(panel: Panel) -> Said:
    """Return what the panel's answers say."""
    closed = _closed(panel.augmented)
    return Said(closed, deepest(closed, panel.taxonomy))


def _closed(augmented: Sparse) -> Sparse:
    if (augmented.data == 1.0).all():
        return augmented
    said = augmented.copy()
    highest = np.asarray(augmented.max(axis=1).toarray()).ravel()
    row = np.repeat(np.arange(said.shape[0]), np.diff(said.indptr))
    said.data = (said.data >= _SURE * highest[row]).astype(float)
    said.eliminate_zeros()
    return said


def able(scope: Sparse, source: IntArray, label: IntArray) -> BoolArray:
    """Tell whether sources can speak about labels, pair by pair.

    Found by bisection in each row, so that it costs the same however much a scope lists.
    """
    return np.asarray(dense(scope[source, label]).ravel() > 0)


def by_instance(panel: Panel) -> Sparse:
    """Return ones where an answer is an instance's, (N, A)."""
    answers = len(panel.instance)
    entries = (np.ones(answers), (panel.instance, np.arange(answers)))
    return sparse.csr_array(entries, shape=(len(panel.instances), answers))
