"""The pairs of an instance and a label that someone affirmed, and who could have."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.core.panel import Panel


@dataclass(frozen=True, eq=False)
class Pairs:
    """All that a rule looks at that gives labels only where some source did.

    Attributes
    ----------
    labels : int
        K.
    instance, label : int arrays, (P,)
        The pairs, sorted by instance, then label. With a label there are its ancestors.
    said : csr_array, (A, P)
        The augmented answers.
    asked : csr_array, (A, P)
        Ones where an answer is about the instance and its source can speak about the label.
    """

    labels: int
    instance: IntArray
    label: IntArray
    said: Sparse
    asked: Sparse

    def locate(self, instance: IntArray, label: IntArray) -> IntArray:
        """Return the positions of pairs, all of which must be there."""
        cells = self.instance * self.labels + self.label
        return np.searchsorted(cells, instance * self.labels + label)


def affirmed_pairs(panel: Panel) -> Pairs:
    """Return the pairs; costs the answers of every instance times the labels said of it."""
    votes = panel.augmented.tocoo()
    K = len(panel.taxonomy)
    cells, column = np.unique(panel.instance[votes.row] * K + votes.col, return_inverse=True)
    instance, label = np.divmod(cells, K)
    shape = (len(panel.instance), len(cells))
    said = sparse.csr_array((votes.data, (votes.row, column)), shape=shape)
    return Pairs(K, instance, label, said, _asked(panel, instance, label))


def answer_weights(panel: Panel) -> FloatArray:
    """Return how much each answer counts, (A,), 1 where nothing else is said."""
    return np.ones(len(panel.instance)) if panel.weight is None else panel.weight


def _asked(panel: Panel, instance: IntArray, label: IntArray) -> Sparse:
    """Join every answer with the pairs of its instance that its source can speak about."""
    first = np.searchsorted(instance, np.arange(len(panel.instances) + 1))
    count = np.diff(first)[panel.instance]
    row = np.repeat(np.arange(len(count)), count)
    start = first[panel.instance] - (np.cumsum(count) - count)
    column = np.arange(len(row)) + np.repeat(start, count)
    if panel.scope is not None:
        can, K = panel.scope.tocoo(), len(panel.taxonomy)
        allowed = can.row.astype(np.int64) * K + can.col
        speaks = np.isin(panel.source[row] * K + label[column], allowed)
        row, column = row[speaks], column[speaks]
    shape = (len(count), len(instance))
    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
