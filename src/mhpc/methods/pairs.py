"""The pairs of an instance and a label that someone affirmed, and who could have."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, panel_block
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse

_TABLE = 1 << 25
"""Cells up to which a table of them is filled, which is faster than sorting those that occur."""

CHANCES = 1 << 16
"""Answers beside pairs that are laid out together: they stay in the cache of a processor, and
memory is bounded even where thousands of sources answer every instance."""


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


def pieces(panel: Panel, most: int = CHANCES) -> Iterator[Panel]:
    """Divide a panel into runs of instances with about so many answers beside pairs, or one."""
    votes = np.append(0, np.cumsum(np.diff(panel.augmented.indptr)))
    first = np.searchsorted(panel.instance, np.arange(len(panel.instances) + 1))
    pairs = np.minimum(np.diff(votes[first]), len(panel.taxonomy))
    run = np.cumsum(np.diff(first) * pairs) // most
    cuts = [0, *(np.flatnonzero(np.diff(run)) + 1).tolist(), len(run)]
    for start, stop in pairwise(cuts):
        yield panel_block(panel, slice(start, stop))


def affirmed_pairs(panel: Panel) -> Pairs:
    """Return the pairs; costs the answers of every instance times the labels said of it."""
    votes, K = panel.augmented, len(panel.taxonomy)
    instance = np.repeat(panel.instance, np.diff(votes.indptr))
    cells, column = _numbered(instance * K + votes.indices, len(panel.instances) * K)
    instance, label = np.divmod(cells, K)
    shape = (len(panel.instance), len(cells))
    said = sparse.csr_array((votes.data, column, votes.indptr), shape=shape)
    return Pairs(K, instance, label, said, _asked(panel, instance, label))


def answer_weights(panel: Panel) -> FloatArray:
    """Return how much each answer counts, (A,), 1 where nothing else is said."""
    return np.ones(len(panel.instance)) if panel.weight is None else panel.weight


def rows_of(matrix: Sparse) -> IntArray:
    """Return the row of every entry of a csr_array."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _numbered(cell: IntArray, cells: int) -> tuple[IntArray, IntArray]:
    """Return the cells that occur, in order, and which of them each is."""
    if cells > _TABLE:
        found, place = np.unique(cell, return_inverse=True)
        return found, place
    occurs = np.zeros(cells, dtype=bool)
    occurs[cell] = True
    found = np.flatnonzero(occurs)
    table = np.empty(cells, dtype=np.int64)
    table[found] = np.arange(len(found))
    return found, table[cell]


def _asked(panel: Panel, instance: IntArray, label: IntArray) -> Sparse:
    """Join every answer with the pairs of its instance that its source can speak about."""
    first = np.searchsorted(instance, np.arange(len(panel.instances) + 1))
    count = np.diff(first)[panel.instance]
    start = first[panel.instance] - (np.cumsum(count) - count)
    column = np.arange(count.sum()) + np.repeat(start, count)
    if panel.scope is not None:
        speaks = _speaks(panel.scope, np.repeat(panel.source, count), label[column])
        answer = np.repeat(np.arange(len(count)), count)[speaks]
        column, count = column[speaks], np.bincount(answer, minlength=len(count))
    shape = (len(count), len(instance))
    entries = (np.ones(len(column)), column, np.append(0, np.cumsum(count)))
    return sparse.csr_array(entries, shape=shape)


def _speaks(scope: Sparse, source: IntArray, label: IntArray) -> BoolArray:
    """Mark where a source can speak about a label; costs the scopes of these sources alone."""
    K = np.int64(scope.shape[1])
    sources, place = _numbered(source, scope.shape[0])
    some = scope[sources]
    return np.isin(place * K + label, rows_of(some) * K + some.indices)
