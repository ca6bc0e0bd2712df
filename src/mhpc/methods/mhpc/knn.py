"""A local graph: every vertex is joined to its nearest ones only.

W_ij = exp(-d_ij / sigma) where i is among the k nearest of j or j among those of i; W_ii = 1.
Sparse, and better than the dense graph wherever distant instances have nothing to tell.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.errors import ConvergenceWarning
from mhpc.methods.mhpc.algorithm import strength, weight_columns
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.numerics.neighbors import REACH, exp_similarity, mean_distance, nearest

_SOLVED = 1e-10
"""Squared residual, relative to the right-hand side, at which a column is solved."""

_COLUMNS = 128
"""Columns solved at once."""

_STEPS = 500
_FACTORED = 3000
"""Up to so many vertices a factor is faster than steps, and fits."""


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
    return near[:, :neighbours], exp_similarity(far[:, :neighbours], sigma)


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
            f"{worst:.2g}, above {_SOLVED**0.5:g}; lower lam or raise n_neighbors",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found


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
