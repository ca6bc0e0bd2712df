"""Nearest rows: exact distances in blocks, and a search among many landmarks.

`nearest` compares the rows of a dense matrix with each other. `Landmarks` compares sparse rows
with many others: candidates are found in single precision, among all landmarks or, beyond 20,000
of them, in the parts of space near a row, and are then measured in double precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.sparse import incidence, row_blocks, row_indices, sum_row_entries
from mhpc.parameters import registered

Single: TypeAlias = npt.NDArray[np.float32]

SIGMA_NEIGHBORS = 15
"""How many nearest rows sigma is estimated from."""

MIN_SIGMA = 1e-300
"""Smaller values of sigma count as this one, whose inverse is a number."""

DISTANCE_DIGITS = 12
"""Decimals of a squared distance; differences beyond them are rounding errors."""

BLOCK_CELLS = 1 << 22
"""Distances that `nearest` computes at once: 32 MB."""


def exp_similarity(distance: FloatArray, sigma: float) -> FloatArray:
    """Return exp(-distance / sigma): 1 at 0, 1/e at sigma, 0 at infinity."""
    return np.asarray(np.exp(-distance / max(sigma, MIN_SIGMA)))


def estimate_sigma(X: FloatArray) -> float:
    """Return the mean distance of the rows to their `SIGMA_NEIGHBORS` nearest rows."""
    return mean_distance(nearest(X, SIGMA_NEIGHBORS)[1])


def mean_distance(distance: FloatArray) -> float:
    """Return the mean of distances; 1 if there are none or all are 0, where any sigma will do."""
    return float(distance.mean()) if distance.size and distance.any() else 1.0


def nearest(
    X: FloatArray, count: int, *, block_cells: int = BLOCK_CELLS
) -> tuple[IntArray, FloatArray]:
    """Return the nearest other rows of every row and their distances, (V, count) each.

    Exact: V * V * K multiplications and V * V comparisons, a block of distances at a time. Of
    rows at the same distance the earlier one is nearer.
    """
    V = len(X)
    count = max(min(count, V - 1), 0)
    near, distances = np.empty((V, count), dtype=np.int64), np.empty((V, count))
    for block in row_blocks(V, V, block_cells):
        distance = np.sqrt(_squared_distances(X[block], X))
        distance[np.arange(len(distance)), np.arange(block.start, block.stop)] = np.inf
        columns = _smallest_in_order(distance, count)
        order = np.argsort(np.take_along_axis(distance, columns, axis=1), axis=1, kind="stable")
        near[block] = np.take_along_axis(columns, order, axis=1)
        distances[block] = np.take_along_axis(distance, near[block], axis=1)
    return near, distances


def _squared_distances(X: FloatArray, others: FloatArray) -> FloatArray:
    norms, other_norms = (np.einsum("ij,ij->i", rows, rows) for rows in (X, others))
    square = norms[:, None] + other_norms - 2.0 * (X @ others.T)
    return np.asarray(np.round(np.maximum(square, 0.0), DISTANCE_DIGITS))


def _smallest_in_order(distance: FloatArray, count: int) -> IntArray:
    """Return the columns of the `count` smallest values of each row; of equal ones the earlier.

    Partitioning alone would take any of the columns that are tied for the last place.
    """
    if not count:
        return np.empty((len(distance), 0), dtype=np.int64)
    border = np.partition(distance, count - 1, axis=1)[:, count - 1 : count]
    below, tied = distance < border, distance == border
    room = count - below.sum(axis=1)
    crowded = np.flatnonzero(tied.sum(axis=1) > room)
    tied[crowded] &= np.cumsum(tied[crowded], axis=1) <= room[crowded, None]
    return np.nonzero(below | tied)[1].reshape(-1, count)


@dataclass(frozen=True)
class SearchOptions:
    """How nearest landmarks are searched.

    Attributes
    ----------
    max_exact : int
        Landmarks up to which all are searched, so that exactly the nearest are found.
    max_dense_columns : int
        Beyond so many columns rows are mostly empty, and sparse products are faster; all landmarks
        are then searched.
    block_cells : int
        Rows x landmarks at once: 64 MB in single precision.
    leaf_size : int
        Landmarks in a leaf at most.
    group_size : int
        Landmarks in a group within the leaves; only the nearest of each is looked at first.
    searched_share : float
        The share of the leaves that is searched. Nearly all of the nearest landmarks are in an
        eighth, and what is found instead of the others is hardly farther away;
        `benchmarks.speed.neighbors` measures that.
    """

    max_exact: int = 20_000
    max_dense_columns: int = 4000
    block_cells: int = 1 << 24
    leaf_size: int = 128
    group_size: int = 16
    searched_share: float = 1 / 8


DEFAULT_SEARCH = SearchOptions()

FAST_SEARCH = SearchOptions(max_exact=5000, leaf_size=64, group_size=8, searched_share=1 / 16)
"""A search for many rows: of more than 5,000 landmarks, a sixteenth of the leaves is searched."""

MAX_DENSE_CELLS = 1 << 24
"""Landmarks x columns up to which landmarks are also held as a dense matrix: 128 MB."""

_SPARE = 8
"""How many candidates more than asked for are measured in double precision."""

_ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""Error of a squared distance in single precision, relative to the largest squared norms."""


@registered("landmarks")
@dataclass(frozen=True, eq=False)
class Landmarks:
    """Rows that other rows are compared with.

    Attributes
    ----------
    vectors : csr_array, (L, K)
        The landmarks.
    """

    vectors: Sparse

    def __len__(self) -> int:
        return int(self.vectors.shape[0])

    def distances(self, X: Sparse) -> FloatArray:
        """Return the distance of every row to every landmark, (N, L)."""
        return np.sqrt(_squared_distances(dense(X), self._dense_vectors))

    def nearest(
        self,
        X: Sparse,
        count: int,
        *,
        exclude: IntArray | None = None,
        options: SearchOptions = DEFAULT_SEARCH,
    ) -> tuple[IntArray, FloatArray]:
        """Return the nearest landmarks of every row and their distances, (N, count) each.

        Exact up to `options.max_exact` landmarks: N * L * K multiplications in single precision.
        Beyond, an eighth of that, and a few of the nearest are missed. Landmarks whose distances
        are equal to twelve digits are returned in their order; if more than a few distances are
        equal in single precision, the order of the landmarks alone decides.

        Parameters
        ----------
        X : csr_array, (N, K)
            Rows.
        count : int
            How many landmarks; all if there are fewer.
        exclude : int array, (N,), optional
            A landmark per row that counts as infinitely far away; -1: none.
        options : SearchOptions
            How to search.
        """
        count = max(min(count, len(self)), 0)
        N = X.shape[0]
        near, distance = np.zeros((N, count), dtype=np.int64), np.empty((N, count))
        if not count:
            return near, distance
        norms, search = _squared_norms(X), self._search(options)
        among = min(count + (exclude is not None), len(self))
        wanted = min(among + _SPARE, len(self))
        for block in row_blocks(N, search.columns, options.block_cells):
            margin = _ROUNDING * (norms[block] + self._norms.max()).astype(np.float32)
            candidates = search.candidates(X[block], among, wanted, margin[:, None])
            candidates.sort(axis=1)
            square = self._measure(X[block], norms[block], candidates)
            if exclude is not None:
                square[candidates == exclude[block][:, None]] = np.inf
            order = np.argsort(square, axis=1, kind="stable")[:, :count]
            near[block] = np.take_along_axis(candidates, order, axis=1)
            distance[block] = np.sqrt(np.take_along_axis(square, order, axis=1))
        return near, distance

    def _search(self, options: SearchOptions) -> "ExactSearch | LeafSearch":
        if options not in self._searches:
            few = len(self) <= options.max_exact
            exact = few or self.vectors.shape[1] > options.max_dense_columns
            kind = ExactSearch if exact else LeafSearch
            self._searches[options] = kind(self.vectors, self._norms, options)
        return self._searches[options]

    @cached_property
    def _searches(self) -> "dict[SearchOptions, ExactSearch | LeafSearch]":
        return {}

    @cached_property
    def _norms(self) -> FloatArray:
        return _squared_norms(self.vectors)

    @cached_property
    def _dense_vectors(self) -> FloatArray:
        return dense(self.vectors)

    def _measure(self, X: Sparse, norms: FloatArray, candidates: IntArray) -> FloatArray:
        """Return squared distances in double precision, rounded so that ties are equal."""
        if np.prod(self.vectors.shape) <= MAX_DENSE_CELLS:
            # Far fewer entries are read than a product of sparse rows would move.
            entries = self._dense_vectors[candidates[row_indices(X)], X.indices[:, None]]
            entries *= X.data[:, None]
            inner = sum_row_entries(entries, X.indptr)
        else:
            row = np.repeat(np.arange(len(candidates)), candidates.shape[1])
            products = X[row].multiply(self.vectors[candidates.ravel()]).sum(axis=1)
            inner = np.asarray(products).reshape(candidates.shape)
        square = norms[:, None] + self._norms[candidates] - 2.0 * inner
        return np.asarray(np.round(np.maximum(square, 0.0), DISTANCE_DIGITS), dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        # The search structures are made again where they are needed, rather than sent.
        return {"vectors": self.vectors}


def _squared_norms(X: Sparse) -> FloatArray:
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()


_ABSENT = np.float32(1e30)
"""The squared distance of positions without a landmark."""

_SPARSE_CELLS = 64
"""Cells per entry from which on a product with a sparse row is faster than with a dense one."""

_GROUP_SHARE = 32
"""Landmarks over the square of a group's size: about as many groups as candidates."""


@dataclass(frozen=True, eq=False)
class _Search:
    """Landmarks that are to be searched.

    Attributes
    ----------
    vectors : csr_array, (L, K)
        The landmarks.
    norms : float array, (L,)
        Their squared norms.
    options : SearchOptions
        How to search.
    """

    vectors: Sparse
    norms: FloatArray
    options: SearchOptions = DEFAULT_SEARCH


class ExactSearch(_Search):
    """A search of all landmarks: first only the nearest one of each group is looked at."""

    @property
    def columns(self) -> int:
        """The number of values that are computed for every row."""
        return self._size * self._groups

    def candidates(self, X: Sparse, count: int, wanted: int, margin: Single) -> IntArray:
        """Return landmarks that include the `count` nearest, (rows, wanted)."""
        scores = self._scores(X)
        rows, G, size = len(scores), self._groups, self._size
        lowest = scores.reshape(rows, size, G).min(axis=1)
        landmarks, values = self._gather(scores, lowest_columns(lowest, min(wanted, G)))
        best = lowest_columns(values, wanted)
        landmarks = np.take_along_axis(landmarks, best, axis=1)
        if wanted == len(self.norms):
            return landmarks
        crowded, border = crowded_rows(np.take_along_axis(values, best, axis=1), count, margin)
        if len(crowded):
            # More landmarks are tied for the last place than were taken: take the earliest.
            ranks = rank_by_border(lowest[crowded], border, np.arange(G))
            groups = lowest_columns(ranks, min(wanted, G))
            tied, values = self._gather(scores[crowded], groups)
            first = lowest_columns(rank_by_border(values, border, tied), wanted)
            landmarks[crowded] = np.take_along_axis(tied, first, axis=1)
        return landmarks

    @cached_property
    def _size(self) -> int:
        """The number of landmarks in a group, which are consecutive."""
        return max(1, int(np.sqrt(len(self.norms) / _GROUP_SHARE)))

    @cached_property
    def _groups(self) -> int:
        return -(-len(self.norms) // self._size)

    def _scores(self, X: Sparse) -> Single:
        """Return squared distances less the squared norm of the row, by column of the layout."""
        vectors, norms = self._layout
        block = X.astype(np.float32) * np.float32(-2)
        if sparse.issparse(vectors):
            scores = (block @ vectors).toarray()
        else:
            is_sparse = block.nnz * _SPARSE_CELLS < np.prod(X.shape)
            scores = (block if is_sparse else block.toarray()) @ vectors
        scores += norms
        return np.asarray(scores)

    @cached_property
    def _layout(self) -> tuple[Any, Single]:
        """The landmarks by column, transposed, and their squared norms.

        The first landmarks of all groups come first, then the second ones: the lowest score of a
        group is then a minimum over rows, and groups are in the order of their landmarks.
        """
        K, landmark = self.vectors.shape[1], np.arange(len(self.norms))
        column = (landmark % self._size) * self._groups + landmark // self._size
        norms = np.full(self.columns, _ABSENT, dtype=np.float32)
        norms[column] = self.norms
        ones = np.ones(len(column), dtype=np.float32)
        permute = incidence(column, shape=(self.columns, len(column)), values=ones)
        vectors = (permute @ self.vectors.astype(np.float32)).tocsr()
        if self.options.max_dense_columns < K:
            return vectors.T.tocsr(), norms
        return np.ascontiguousarray(vectors.toarray().T), norms

    def _gather(self, scores: Single, groups: IntArray) -> tuple[IntArray, Single]:
        """Return the landmarks of the given groups of each row, and their scores."""
        member = np.arange(self._size)
        columns = (member * self._groups + groups[:, :, None]).reshape(len(groups), -1)
        landmarks = (member + self._size * groups[:, :, None]).reshape(len(groups), -1)
        return landmarks, np.take_along_axis(scores, columns, axis=1)


class LeafSearch(_Search):
    """A search of the leaves whose centres are nearest to a row.

    The landmarks are halved along the direction in which they differ most, and each half again,
    until there are some hundred leaves of about as many landmarks.
    """

    @property
    def columns(self) -> int:
        """The number of values that are computed for every row."""
        leaves, size = self._members.shape
        return int(max(leaves * self.options.searched_share, 1) * size)

    def candidates(self, X: Sparse, count: int, wanted: int, margin: Single) -> IntArray:
        """Return landmarks that include most of the `count` nearest, (rows, wanted)."""
        leaves, size = self._members.shape
        smallest = int((self._members[0] >= 0).sum())
        share = int(leaves * self.options.searched_share)
        searched = min(leaves, max(share, -(-wanted // smallest)))
        near = np.sort(lowest_columns(self._distances_to_centers(X), searched), axis=1)
        values = self._scores(X, near).reshape(len(near), -1)
        best = _lowest_by_group(values, wanted, self.options.group_size)
        crowded, border = crowded_rows(np.take_along_axis(values, best, axis=1), count, margin)
        if len(crowded):
            # More landmarks are tied for the last place than were taken: take the earliest.
            order = self._members[near[crowded]].reshape(len(crowded), -1)
            best[crowded] = lowest_columns(rank_by_border(values[crowded], border, order), wanted)
        leaf = np.take_along_axis(near, best // size, axis=1)
        return np.asarray(self._members[leaf, best % size])

    @cached_property
    def _members(self) -> IntArray:
        """The landmarks of every leaf, (leaves, size), in order; -1 where a leaf has fewer."""
        parts, group = [np.arange(len(self.norms))], self.options.group_size
        while len(parts[-1]) > self.options.leaf_size:
            parts = [half for part in parts for half in _halve(self.vectors, part)]
        members = np.full((len(parts), -(-len(parts[-1]) // group) * group), -1)
        for leaf, part in enumerate(parts):
            members[leaf, : len(part)] = part
        return members

    def _distances_to_centers(self, X: Sparse) -> FloatArray:
        """Return squared distances to the centres less the squared norm of the row.

        In double precision, so that they do not depend on which rows are in a block.
        """
        centers = self._centers
        return np.asarray(np.einsum("ij,ij->i", centers, centers) - 2.0 * (X @ centers.T))

    @cached_property
    def _centers(self) -> FloatArray:
        return np.stack(
            [np.asarray(self.vectors[leaf[leaf >= 0]].mean(axis=0)) for leaf in self._members]
        )

    def _scores(self, X: Sparse, near: IntArray) -> Single:
        """Return squared distances less the squared norm of the row, (rows, searched, size)."""
        vectors, norms = self._layout
        block = (X.astype(np.float32) * np.float32(-2)).toarray()
        scores = np.empty((*near.shape, norms.shape[1]), dtype=np.float32)
        for leaf, row, slot in _rows_by_leaf(near):
            scores[row, slot] = block[row] @ vectors[leaf] + norms[leaf]
        return scores

    @cached_property
    def _layout(self) -> tuple[Single, Single]:
        """The landmarks of every leaf, transposed, (leaves, K, size), and their squared norms."""
        members = self._members
        shape = (len(members), self.vectors.shape[1], members.shape[1])
        vectors = np.empty(shape, dtype=np.float32)
        for leaf, landmarks in enumerate(members):
            vectors[leaf] = self.vectors[landmarks].toarray().T
        norms = self.norms[members].astype(np.float32)
        norms[members < 0] = _ABSENT
        return vectors, norms


def _halve(vectors: Sparse, part: IntArray) -> tuple[IntArray, IntArray]:
    """Return two halves of the landmarks in `part`, the second no smaller, each in order."""
    own = vectors[part]
    order = np.argsort(own @ _main_direction(own), kind="stable")
    first, second = np.split(part[order], [len(part) // 2])
    return np.sort(first), np.sort(second)


def _main_direction(X: Sparse, *, steps: int = 6) -> FloatArray:
    """Return roughly the direction of largest variance, by a few steps of power iteration."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    direction = np.zeros(X.shape[1])
    direction[variance.argmax()] = 1.0
    for _ in range(steps):
        along = X @ direction - mean @ direction
        direction = X.T @ along - mean * along.sum()
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    return direction


def _rows_by_leaf(near: IntArray) -> Iterator[tuple[int, IntArray, IntArray]]:
    """Yield every leaf with the rows that search it, and its position in each of them."""
    order = np.argsort(near, axis=None, kind="stable")
    leaves, starts = np.unique(near.ravel()[order], return_index=True)
    for leaf, cells in zip(leaves.tolist(), np.split(order, starts[1:]), strict=True):
        row, slot = np.divmod(cells, near.shape[1])
        yield leaf, row, slot


def _lowest_by_group(values: Single, wanted: int, group_size: int) -> IntArray:
    """Return the columns of the lowest values, which are in the groups with the lowest minima."""
    rows, groups = len(values), values.shape[1] // group_size
    # The columns of a group are `groups` apart: its minimum is then a minimum over rows.
    minima = values.reshape(rows, group_size, groups).min(axis=1)
    near = lowest_columns(minima, min(wanted, groups))
    columns = (near[:, None, :] + groups * np.arange(group_size)[:, None]).reshape(rows, -1)
    best = lowest_columns(np.take_along_axis(values, columns, axis=1), wanted)
    return np.take_along_axis(columns, best, axis=1)


def lowest_columns(values: npt.NDArray[Any], count: int) -> IntArray:
    """Return the columns of the `count` lowest values of each row, in any order."""
    if count >= values.shape[1]:
        return np.tile(np.arange(values.shape[1]), (len(values), 1))
    return np.argpartition(values, count - 1, axis=1)[:, :count]


def crowded_rows(
    values: Single, count: int, margin: Single
) -> tuple[IntArray, tuple[Single, Single]]:
    """Return the rows where values that were not taken may tie with the `count`-th, and its range.

    Parameters
    ----------
    values : float array, (rows, wanted)
        The lowest values of each row, a few more than `count`.
    count : int
        How many are needed.
    margin : float array, (rows, 1)
        By how much rounding may separate equal values.
    """
    ordered = np.sort(values, axis=1)
    border = ordered[:, count - 1 : count]
    rows = np.flatnonzero(ordered[:, -1] <= (border + margin)[:, 0])
    return rows, ((border - margin)[rows], (border + margin)[rows])


def rank_by_border(values: Single, border: tuple[Single, Single], order: IntArray) -> IntArray:
    """Return a rank of every value: below, within or above the border, then by `order`."""
    low, high = border
    level = (values >= low).astype(np.int64) + (values > high)
    return np.asarray(level * (1 << 40) + order)
