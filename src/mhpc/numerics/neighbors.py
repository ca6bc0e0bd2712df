"""Nearest rows: exact distances in blocks, and a search among many landmarks.

`nearest` compares the rows of a dense matrix with each other. `Landmarks` compares sparse rows
with many others: candidates are found in single precision, among all landmarks or, beyond 20,000
of them, in the parts of space near a row, and are then measured in double precision.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.landmark_search import (
    DEFAULT_SEARCH,
    ExactSearch,
    LeafSearch,
    SearchOptions,
)
from mhpc.numerics.sparse import row_blocks
from mhpc.parameters import registered
from mhpc.system.caching import cached_property
from mhpc.system.parallel import parallel_map

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

        def search_block(block: slice) -> None:
            margin = _ROUNDING * (norms[block] + self._norms.max()).astype(np.float32)
            candidates = search.candidates(X[block], among, wanted, margin[:, None])
            candidates.sort(axis=1)
            square = self._measure(X[block], norms[block], candidates)
            if exclude is not None:
                square[candidates == exclude[block][:, None]] = np.inf
            order = np.argsort(square, axis=1, kind="stable")[:, :count]
            near[block] = np.take_along_axis(candidates, order, axis=1)
            distance[block] = np.sqrt(np.take_along_axis(square, order, axis=1))

        for _ in parallel_map(search_block, row_blocks(N, search.columns, options.block_cells)):
            pass
        return near, distance

    def _search(self, options: SearchOptions) -> "ExactSearch | LeafSearch":
        if options not in self._searches:
            few = len(self) <= options.max_exact
            exact = few or self.vectors.shape[1] > options.max_dense_columns
            kind = ExactSearch if exact else LeafSearch
            search = kind(self.vectors, self._norms, options)
            # Before threads share it.
            search.build()
            self._searches[options] = search
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
