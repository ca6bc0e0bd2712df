"""A local graph: every vertex is joined to its nearest ones only.

W_ij = exp(-d_ij / sigma) where i is among the k nearest of j or j among those of i; W_ii = 1.
Sparse, and better than the dense graph wherever distant instances have nothing to tell.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.errors import ConvergenceWarning
from mhpc.graph.laplacian import strength
from mhpc.graph.similarity import fallen, weight_columns
from mhpc.graph.solve import solve_positive_definite

REACH = 15
"""How many nearest vertices the reach of similarity is measured on, unless sigma is given."""

TIED = 12
"""Decimals of a squared distance; whatever rounding leaves beyond them tells no two apart."""

_CELLS = 1 << 22
_SOLVED = 1e-10
"""Squared residual, relative to the right-hand side, at which a column is solved."""

_COLUMNS = 128
"""Columns solved at once."""

_STEPS = 500
_FACTORED = 3000
"""Up to so many vertices a factor is faster than steps, and fits."""


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


@dataclass(frozen=True)
class KnnSmoother:
    """One solve over a graph in which every vertex is joined to its nearest ones only.

    Attributes
    ----------
    lam : float
        Strength of the smoothing, lambda of eq. 1.
    sigma : float or None
        Scale of the similarity; None: the mean distance to the nearest vertices.
    neighbours : int
        How many nearest vertices each is joined to.
    """

    lam: float
    sigma: float | None
    neighbours: int

    def solve(
        self,
        X: FloatArray,
        S: FloatArray,
        B: FloatArray,
        *,
        counts: FloatArray,
        evidence: FloatArray,
    ) -> FloatArray:
        """Return the solution for scaled right-hand sides B on the graph of X."""
        if not len(X):
            return B
        W = local_similarity(weight_columns(X, S), neighbours=self.neighbours, sigma=self.sigma)
        return solve_local(W, B, counts=counts, evidence=evidence, lam=self.lam)


def local_similarity(X: FloatArray, *, neighbours: int, sigma: float | None) -> Sparse:
    """Return W, symmetric, with ones on the diagonal."""
    return joined(*_weighed(X, neighbours, sigma))


def joined(near: IntArray, weight: FloatArray) -> Sparse:
    """Return W of rows that are joined to their nearest, (V, count), by these weights."""
    one_way = _rows(near, weight)
    return (one_way.maximum(one_way.T) + sparse.eye_array(len(near))).tocsr()


def _weighed(X: FloatArray, neighbours: int, sigma: float | None) -> tuple[IntArray, FloatArray]:
    near, far = nearest(X, max(neighbours, REACH if sigma is None else 1))
    sigma = mean_distance(far[:, :REACH]) if sigma is None else sigma
    return near[:, :neighbours], fallen(far[:, :neighbours], sigma)


def mean_distance(far: FloatArray) -> float:
    """Return the mean of distances, the reach of similarity."""
    # All alike, or alone: any reach will do.
    return float(far.mean()) if far.size and far.any() else 1.0


def _rows(near: IntArray, values: FloatArray) -> Sparse:
    V = len(near)
    row = np.repeat(np.arange(V), near.shape[1])
    return sparse.csr_array((values.ravel(), (row, near.ravel())), shape=(V, V))


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solve gives, and how well.

    Attributes
    ----------
    values : float array, (V, K)
        The solution.
    steps : int
        Steps of conjugate gradients at most, over all columns; 0: a factor.
    residual : float
        Largest residual of a column, relative to its right-hand side.
    """

    values: FloatArray
    steps: int = 0
    residual: float = 0.0

    @property
    def settled(self) -> bool:
        """Whether no column was left before it was solved."""
        return self.residual**2 <= _SOLVED


def solve_local(
    W: Sparse, B: FloatArray, *, counts: FloatArray, evidence: FloatArray, lam: float
) -> FloatArray:
    """Return Z with (diag(n) + lambda L) Z = diag(n) B, L the normalised Laplacian of W.

    Up to a few thousand vertices by Cholesky. Beyond, by conjugate gradients on some columns at
    once: the eigenvalues lie between n and n + 2 lambda, so that few steps are enough whatever
    the size.

    Parameters
    ----------
    W : csr_array, (V, V)
        Similarities of vertices.
    B : float array, (V, K)
        Scaled right-hand sides, sqrt(counts) times the values of a vertex.
    counts : float array, (V,)
        How many instances a vertex stands for.
    evidence : float array, (V,)
        n, how much a vertex holds on to its own value.
    lam : float
        Strength of the smoothing.
    """
    return solution_of(W, B, counts=counts, evidence=evidence, lam=lam).values


def solution_of(
    W: Sparse, B: FloatArray | Sparse, *, counts: FloatArray, evidence: FloatArray, lam: float
) -> Solution:
    """Return the same, and in how many steps; of sparse B no more than a block becomes dense.

    A column is solved once its residual, each row divided by the root of the diagonal, is 1e-5 of
    what its right-hand side is.
    """
    if not np.prod(B.shape):
        return Solution(dense(B))
    degree, lam = W @ counts, strength(lam)
    scale = sparse.diags_array(np.sqrt(counts / degree), format="csr")
    A = (
        sparse.diags_array(evidence + lam, format="csr") - lam * (scale @ W @ scale).tocsr()
    ).tocsr()
    if B.shape[0] <= _FACTORED:
        return Solution(solve_positive_definite(A.toarray(), evidence[:, None] * dense(B)))
    Z, most, worst = np.empty(B.shape), 0, 0.0
    by_column = B if isinstance(B, np.ndarray) else B.tocsc()
    for start in range(0, B.shape[1], _COLUMNS):
        some = slice(start, start + _COLUMNS)
        block = dense(by_column[:, some])
        Z[:, some], steps, residual = _conjugate_gradients(
            A, evidence[:, None] * block, start=block
        )
        most, worst = max(most, steps), max(worst, residual)
    found = Solution(Z, most, worst)
    if not found.settled:
        warnings.warn(
            f"conjugate gradients stopped after {most} steps with a relative residual of "
            f"{worst:.2g}, above {_SOLVED**0.5:g}; lower lam or raise neighbours",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found


def _distances(X: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    norms = np.einsum("ij,ij->i", X, X)
    step = max(1, _CELLS // max(len(X), 1))
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


def _conjugate_gradients(
    A: Sparse, B: FloatArray, *, start: FloatArray
) -> tuple[FloatArray, int, float]:
    """Return the solution, the steps it took, and the largest relative residual of a column."""
    inverse = 1.0 / A.diagonal()[:, None]
    Z = np.array(start, order="C")
    residual = B - A @ Z
    direction = inverse * residual
    size = np.einsum("ij,ij->j", residual, direction)
    whole = np.maximum(np.einsum("ij,ij->j", B, inverse * B), 1e-300)
    steps = 0
    while steps < _STEPS and not (size <= _SOLVED * whole).all():
        steps += 1
        image = A @ direction
        along = np.einsum("ij,ij->j", direction, image)
        step = np.divide(size, along, out=np.zeros_like(size), where=along > 0)
        Z += step * direction
        residual -= step * image
        scaled = inverse * residual
        before, size = size, np.einsum("ij,ij->j", residual, scaled)
        turn = np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        direction *= turn
        direction += scaled
    return Z, steps, float(np.sqrt((size / whole).max(initial=0.0)))
