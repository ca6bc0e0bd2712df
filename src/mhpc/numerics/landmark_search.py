"""The nearest of many landmarks: a search of all of them, or of the parts of space near a row."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.numerics.arrays import FloatArray, IntArray, Single, Sparse
from mhpc.numerics.sparse import incidence
from mhpc.system.caching import cached_property


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

SAMPLE_SEARCH = SearchOptions(max_exact=5000, leaf_size=64, group_size=4)
"""A search among landmarks that are a sample of all instances."""

FAST_SEARCH = replace(SAMPLE_SEARCH, searched_share=1 / 32)
"""A search for many instances that are no landmarks: of ten nearest ones it misses one, and finds
another one instead that is hardly farther away."""

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

    def build(self) -> None:
        """Compute what every search needs."""
        _ = self._layout

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

    def build(self) -> None:
        """Compute what every search needs."""
        _ = self._layout, self._centers

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
