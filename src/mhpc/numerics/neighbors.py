"""Nearest rows: exact blocks, and leaves beyond 20,000.

They are one product in single precision. Only the least of each group of landmarks is looked at
first, and then the few groups that can hold the nearest.

Landmarks are halved along the direction in which they differ most, and each half again, until
there are some hundred leaves of about as many landmarks. A row is compared with the landmarks of
the leaves whose centres are nearest to it.

Candidates are found in single precision, among all landmarks or, where these are many, in the
parts of space near a row; they are measured again in double precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.parameters import registered

Single: TypeAlias = npt.NDArray[np.float32]

ROUNDED = 4 * float(np.finfo(np.float32).eps)
"""Error of a squared distance in single precision, relative to the largest squared norms."""


def lowest(values: npt.NDArray[Any], count: int) -> IntArray:
    """Return the columns of the lowest values of each row, in any order."""
    if count >= values.shape[1]:
        return np.tile(np.arange(values.shape[1]), (len(values), 1))
    return np.argpartition(values, count - 1, axis=1)[:, :count]


def crowded_rows(
    taken: Single, count: int, margin: Single
) -> tuple[IntArray, tuple[Single, Single]]:
    """Return the rows where more may be as low as the last one than were taken, and its border.

    Parameters
    ----------
    taken : float array, (rows, wanted)
        The lowest values, somewhat more than `count`.
    count : int
        How many are asked for.
    margin : float array, (rows, 1)
        What rounding may make of equal values.
    """
    ordered = np.sort(taken, axis=1)
    border = ordered[:, count - 1 : count]
    rows = np.flatnonzero(ordered[:, -1] <= (border + margin)[:, 0])
    return rows, ((border - margin)[rows], (border + margin)[rows])


def ranked(values: Single, border: tuple[Single, Single], order: IntArray) -> IntArray:
    """Return a rank of every value: below, within or above the border, and then by order."""
    low, high = border
    level = (values >= low).astype(np.int64) + (values > high)
    return np.asarray(level * (1 << 40) + order)


WIDE = 4000
"""Beyond so many columns rows are mostly empty, and sparse products are faster."""

_EMPTY = 64
"""Cells to an entry from which on a sparse row is faster than a dense one."""

_SHARE = 32
"""The landmarks over the square of a group's size: as many groups as candidates, about."""

AWAY = np.float32(1e30)
"""The score of columns without a landmark."""


@dataclass(frozen=True, eq=False)
class ExactSearch:
    """All landmarks, laid out to be searched.

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
        return self._size * self._groups

    def candidates(self, X: Sparse, count: int, wanted: int, margin: Single) -> IntArray:
        """Return landmarks among which the `count` nearest are, (rows, wanted)."""
        scores = self._scores(X)
        rows, G, s = len(scores), self._groups, self._size
        least = scores.reshape(rows, s, G).min(axis=1)
        landmarks, values = self._gathered(scores, lowest(least, min(wanted, G)))
        best = lowest(values, wanted)
        landmarks = np.take_along_axis(landmarks, best, axis=1)
        if wanted == len(self.norms):
            return landmarks
        crowded, border = crowded_rows(np.take_along_axis(values, best, axis=1), count, margin)
        if len(crowded):
            # More are as far as the last one than were taken: the first of them are to be.
            groups = lowest(ranked(least[crowded], border, np.arange(G)), min(wanted, G))
            some, values = self._gathered(scores[crowded], groups)
            first = lowest(ranked(values, border, some), wanted)
            landmarks[crowded] = np.take_along_axis(some, first, axis=1)
        return landmarks

    @cached_property
    def _size(self) -> int:
        """Landmarks of a group, which are neighbours in their order."""
        return max(1, int(np.sqrt(len(self.norms) / _SHARE)))

    @cached_property
    def _groups(self) -> int:
        return -(-len(self.norms) // self._size)

    def _column(self, landmark: IntArray) -> IntArray:
        """Return where the scores of landmarks are.

        The first of all groups come first, then the second: the least of each group is then a
        minimum over whole rows, and the order of groups is that of landmarks.
        """
        return np.asarray((landmark % self._size) * self._groups + landmark // self._size)

    @cached_property
    def _layout(self) -> tuple[Any, Single]:
        """Return the landmarks by column, transposed, and their squared norms."""
        K, at = self.vectors.shape[1], self._column(np.arange(len(self.norms)))
        norms = np.full(self.columns, AWAY, dtype=np.float32)
        norms[at] = self.norms
        back = sparse.csr_array(
            (np.ones(len(at), dtype=np.float32), (at, np.arange(len(at)))),
            shape=(self.columns, len(at)),
        )
        laid = (back @ self.vectors.astype(np.float32)).tocsr()
        return (laid.T.tocsr() if K > WIDE else np.ascontiguousarray(laid.toarray().T)), norms

    def _scores(self, X: Sparse) -> Single:
        """Return squared distances less the squared norm of the row, by column."""
        laid, norms = self._layout
        block = X.astype(np.float32) * np.float32(-2)
        if sparse.issparse(laid):
            scores = (block @ laid).toarray()
        else:
            scores = (block if block.nnz * _EMPTY < np.prod(X.shape) else block.toarray()) @ laid
        scores += norms
        return np.asarray(scores)

    def _gathered(self, scores: Single, groups: IntArray) -> tuple[IntArray, Single]:
        """Return the landmarks of some groups of each row, and their scores."""
        within = np.arange(self._size)
        columns = (within * self._groups + groups[:, :, None]).reshape(len(groups), -1)
        landmarks = (within + self._size * groups[:, :, None]).reshape(len(groups), -1)
        return landmarks, np.take_along_axis(scores, columns, axis=1)


_SIZE = 128
"""Landmarks of a leaf at most."""

_SEARCHED = 1 / 8
"""The share of the leaves that is searched: nearly all of the nearest landmarks are there, and what
is found in place of the others is hardly farther; benchmarks.speed.neighbors has its price."""

_GROUP = 16
"""Landmarks of which only the nearest is looked at first."""

_TURNS = 6
"""Products by which the direction of most difference is found; any good one will do."""


@dataclass(frozen=True, eq=False)
class LeafSearch:
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


REACH = 15
"""How many nearest vertices the reach of similarity is measured on, unless sigma is given."""


TIED = 12
"""Decimals of a squared distance; whatever rounding leaves beyond them tells no two apart."""


_DISTANCE_CELLS = 1 << 22


def nearest(X: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Return the nearest other rows of every row and how far they are, (V, count) each.

    Exact; V * V * K multiplications, V * V comparisons, a block of distances at a time. Of rows
    equally far the earlier is nearer.
    """
    V = len(X)
    count = max(min(count, V - 1), 0)
    near = np.empty((V, count), dtype=np.int64)
    far = np.empty((V, count))
    for span, distance in _distances(X):
        distance[np.arange(len(distance)), np.arange(span.start, span.stop)] = np.inf
        found = _smallest(distance, count)
        order = np.argsort(np.take_along_axis(distance, found, axis=1), axis=1, kind="stable")
        near[span] = np.take_along_axis(found, order, axis=1)
        far[span] = np.take_along_axis(distance, near[span], axis=1)
    return near, far


def reach(X: FloatArray) -> float:
    """Return the mean distance of a row to its nearest others: the sigma that fits the data."""
    return mean_distance(nearest(X, REACH)[1])


def mean_distance(far: FloatArray) -> float:
    """Return the mean of distances, the reach of similarity."""
    # All alike, or alone: any reach will do.
    return float(far.mean()) if far.size and far.any() else 1.0


def _distances(X: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    norms = np.einsum("ij,ij->i", X, X)
    step = max(1, _DISTANCE_CELLS // max(len(X), 1))
    for begin in range(0, len(X), step):
        span = slice(begin, min(begin + step, len(X)))
        square = norms[span, None] + norms - 2.0 * (X[span] @ X.T)
        yield span, np.sqrt(np.round(np.maximum(square, 0.0), TIED))


def _smallest(distance: FloatArray, count: int) -> IntArray:
    """Return the columns of the smallest values of each row, in order; the earlier of equal ones.

    Partitioning alone takes any of those that are equally far at the border.
    """
    if not count:
        return np.empty((len(distance), 0), dtype=np.int64)
    border = np.partition(distance, count - 1, axis=1)[:, count - 1 : count]
    taken, tied = distance < border, distance == border
    room = count - taken.sum(axis=1)
    crowded = np.flatnonzero(tied.sum(axis=1) > room)
    tied[crowded] &= np.cumsum(tied[crowded], axis=1) <= room[crowded, None]
    return np.nonzero(taken | tied)[1].reshape(-1, count)


EVERYWHERE = 20_000
"""Landmarks up to which all are looked at, so that the nearest are exactly that."""

_CELLS = 1 << 24
"""Rows x landmarks at once: 64 MB in single precision."""

_SPARE = 8
"""How many more than asked for are measured again."""


@registered("landmarks")
@dataclass(frozen=True, eq=False)
class Landmarks:
    """Rows that others are compared with.

    Attributes
    ----------
    vectors : csr_array, (L, K)
        The landmarks.
    """

    vectors: Sparse

    def __len__(self) -> int:
        return int(self.vectors.shape[0])

    def nearest(
        self, X: Sparse, count: int, *, but: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the nearest landmarks of every row and how far they are, (N, count) each.

        Up to twenty thousand landmarks exact, N * L * K multiplications in single precision;
        beyond, an eighth of that, and a few of the nearest are missed. Landmarks equally far, to
        twelve digits, come in their order; where more than a few are as far as single precision
        tells, their order alone decides which of them are taken.

        Parameters
        ----------
        X : csr_array, (N, K)
            Rows.
        count : int
            How many; all, where there are fewer landmarks.
        but : int array, (N,), optional
            A landmark that is not to be found, which is infinitely far; -1: none.
        """
        count = max(min(count, len(self)), 0)
        N = X.shape[0]
        near, far = np.zeros((N, count), dtype=np.int64), np.empty((N, count))
        if not count:
            return near, far
        norms = _squared_norms(X)
        among = min(count + (but is not None), len(self))
        wanted = min(among + _SPARE, len(self))
        for span in self._spans(N):
            margin = ROUNDED * (norms[span] + self._norms.max()).astype(np.float32)
            found = self._search.candidates(X[span], among, wanted, margin[:, None])
            found.sort(axis=1)
            square = self._squares(X[span], norms[span], found)
            if but is not None:
                square[found == but[span][:, None]] = np.inf
            order = np.argsort(square, axis=1, kind="stable")[:, :count]
            near[span] = np.take_along_axis(found, order, axis=1)
            far[span] = np.sqrt(np.take_along_axis(square, order, axis=1))
        return near, far

    @cached_property
    def _norms(self) -> FloatArray:
        return _squared_norms(self.vectors)

    @cached_property
    def _search(self) -> ExactSearch | LeafSearch:
        everywhere = len(self) <= EVERYWHERE or self.vectors.shape[1] > WIDE
        return (ExactSearch if everywhere else LeafSearch)(self.vectors, self._norms)

    def _squares(self, X: Sparse, norms: FloatArray, found: IntArray) -> FloatArray:
        """Return squared distances in double precision, to as many digits as ties are told by."""
        row = np.repeat(np.arange(len(found)), found.shape[1])
        products = X[row].multiply(self.vectors[found.ravel()]).sum(axis=1)
        inner = np.asarray(products).reshape(found.shape)
        square = norms[:, None] + self._norms[found] - 2.0 * inner
        return np.asarray(np.round(np.maximum(square, 0.0), TIED), dtype=np.float64)

    def _spans(self, rows: int) -> Iterator[slice]:
        step = max(1, _CELLS // self._search.columns)
        for start in range(0, rows, step):
            yield slice(start, min(start + step, rows))

    def __getstate__(self) -> dict[str, Any]:
        # What is laid out to be searched is made again where it is needed, rather than sent.
        return {"vectors": self.vectors}


def _squared_norms(X: Sparse) -> FloatArray:
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()


SHORTEST = 1e-300
"""The least that sigma counts as: its inverse is a number, and only equal rows are alike."""


def exp_similarity(distance: FloatArray, sigma: float) -> FloatArray:
    """Return similarities at distances: 1 at 0, 1/e at sigma, 0 where infinitely far."""
    return np.asarray(np.exp(-distance / max(sigma, SHORTEST)))
