"""Search in leaves: the distances to landmarks of the parts of space that are near a row.

Landmarks are halved along the direction in which they differ most, and each half again, until
there are some hundred leaves of about as many landmarks. A row is compared with the landmarks of
the leaves whose centres are nearest to it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.graph.everywhere import AWAY
from mhpc.graph.lowest import Single, crowded_rows, lowest, ranked

_SIZE = 128
"""Landmarks of a leaf at most."""

_SEARCHED = 1 / 8
"""The share of the leaves that is searched: nearly all of the nearest landmarks are there, and what
is found in place of the others is hardly farther; benchmarks/speed/neighbours has its price."""

_GROUP = 16
"""Landmarks of which only the nearest is looked at first."""

_TURNS = 6
"""Products by which the direction of most difference is found; any good one will do."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """Landmarks by leaves.

    Attributes
    ----------
    vectors : csr_array, (L, K)
        The landmarks.
    norms : float array, (L,)
        Their squared norms.
    """

    vectors: Sparse
    norms: FloatArray

    @property
    def columns(self) -> int:
        """How many numbers there are to look at for every row."""
        leaves, size = self._members.shape
        return int(max(leaves * _SEARCHED, 1) * size)

    def candidates(self, X: Sparse, count: int, wanted: int, margin: Single) -> IntArray:
        """Return landmarks among which most of the `count` nearest are, (rows, wanted)."""
        leaves, size = self._members.shape
        fewest = int((self._members[0] >= 0).sum())
        searched = min(leaves, max(int(leaves * _SEARCHED), -(-wanted // fewest)))
        near = np.sort(lowest(self._from_centres(X), searched), axis=1)
        values = self._scores(X, near).reshape(len(near), -1)
        best = _lowest_by_groups(values, wanted)
        crowded, border = crowded_rows(np.take_along_axis(values, best, axis=1), count, margin)
        if len(crowded):
            # More are as far as the last one than were taken: the first of them are to be.
            order = self._members[near[crowded]].reshape(len(crowded), -1)
            best[crowded] = lowest(ranked(values[crowded], border, order), wanted)
        leaf = np.take_along_axis(near, best // size, axis=1)
        return np.asarray(self._members[leaf, best % size])

    @cached_property
    def _members(self) -> IntArray:
        """The landmarks of every leaf, (leaves, size), in their order; -1 where it has fewer."""
        halves = [np.arange(len(self.norms))]
        while len(halves[-1]) > _SIZE:
            halves = [half for part in halves for half in _halved(self.vectors, part)]
        members = np.full((len(halves), -(-len(halves[-1]) // _GROUP) * _GROUP), -1)
        for leaf, part in enumerate(halves):
            members[leaf, : len(part)] = part
        return members

    @cached_property
    def _laid(self) -> tuple[Single, Single]:
        """The landmarks of every leaf, transposed, (leaves, K, size), and their squared norms."""
        members = self._members
        laid = np.empty((len(members), self.vectors.shape[1], members.shape[1]), dtype=np.float32)
        for leaf, some in enumerate(members):
            laid[leaf] = self.vectors[some].toarray().T
        norms = self.norms[members].astype(np.float32)
        norms[members < 0] = AWAY
        return laid, norms

    @cached_property
    def _centres(self) -> FloatArray:
        return np.stack(
            [np.asarray(self.vectors[some[some >= 0]].mean(axis=0)) for some in self._members]
        )

    def _from_centres(self, X: Sparse) -> FloatArray:
        """Return squared distances from the centres less the squared norm of the row.

        In double precision, so that it does not depend on which rows come together.
        """
        centres = self._centres
        return np.asarray(np.einsum("ij,ij->i", centres, centres) - 2.0 * (X @ centres.T))

    def _scores(self, X: Sparse, near: IntArray) -> Single:
        """Return the same for the landmarks of some leaves of each row, (rows, searched, size)."""
        laid, norms = self._laid
        block = (X.astype(np.float32) * np.float32(-2)).toarray()
        scores = np.empty((*near.shape, norms.shape[1]), dtype=np.float32)
        for leaf, (row, slot) in _by_leaf(near):
            scores[row, slot] = block[row] @ laid[leaf] + norms[leaf]
        return scores


def _lowest_by_groups(values: Single, wanted: int) -> IntArray:
    """Return the columns of the lowest values: they are in the groups with the lowest of all."""
    rows, groups = len(values), values.shape[1] // _GROUP
    # A group has every so manieth column: its least is then a minimum over whole rows.
    least = values.reshape(rows, _GROUP, groups).min(axis=1)
    some = lowest(least, min(wanted, groups))
    columns = (some[:, None, :] + groups * np.arange(_GROUP)[:, None]).reshape(rows, -1)
    best = lowest(np.take_along_axis(values, columns, axis=1), wanted)
    return np.take_along_axis(columns, best, axis=1)


def _by_leaf(near: IntArray) -> list[tuple[int, tuple[IntArray, IntArray]]]:
    """Return every leaf with the rows that search it, and at which of their places."""
    order = np.argsort(near, axis=None, kind="stable")
    leaf, begins = np.unique(near.ravel()[order], return_index=True)
    groups = np.split(order, begins[1:])
    return [
        (int(each), np.divmod(at, near.shape[1])) for each, at in zip(leaf, groups, strict=True)
    ]


def _halved(vectors: Sparse, part: IntArray) -> tuple[IntArray, IntArray]:
    """Return two halves of some landmarks, the second no smaller, each in their order."""
    own = vectors[part]
    order = np.argsort(own @ _direction(own), kind="stable")
    first, second = np.split(part[order], [len(part) // 2])
    return np.sort(first), np.sort(second)


def _direction(X: Sparse) -> npt.NDArray[np.float64]:
    """Return about the direction in which rows differ most, by some steps of power iteration."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    way = np.zeros(X.shape[1])
    way[variance.argmax()] = 1.0
    for _ in range(_TURNS):
        along = X @ way - mean @ way
        way = X.T @ along - mean * along.sum()
        way /= max(float(np.linalg.norm(way)), 1e-300)
    return way
