"""The local graph: every vertex is joined to its nearest neighbours only.

W_ij = exp(-d_ij / sigma) if i is among the k nearest vertices of j or j among those of i, else 0;
W_ii = 1. The graph is sparse, and it is better than the dense one wherever distant instances say
nothing about each other.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mhpc.errors import ConvergenceWarning, warn
from mhpc.methods.mhpc.algorithm import MAX_LAM, Solution, weight_columns
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.numerics.neighbors import SIGMA_NEIGHBORS, exp_similarity, mean_distance, nearest
from mhpc.numerics.sparse import incidence, row_blocks
from mhpc.system.parallel import parallel_map

MAX_FACTORED = 3000
"""Vertices up to which a Cholesky factor is faster than conjugate gradients, and fits in memory."""

MAX_STEPS = 500
"""Conjugate gradient steps at most."""

COLUMNS_AT_ONCE = 128
"""Right-hand sides that conjugate gradients solve for together."""

_TOLERANCE = 1e-10
"""The squared residual, relative to the right-hand side, at which a column is solved."""


@dataclass(frozen=True)
class KnnSmoother:
    """A solve on a graph in which every vertex is joined to its nearest neighbours only.

    Attributes
    ----------
    lam : float
        lambda of eq. 1, the strength of the smoothing.
    sigma : float or None
        sigma of eq. 7; None: the mean distance to the nearest vertices.
    n_neighbors : int
        How many nearest vertices each vertex is joined to.
    """

    lam: float
    sigma: float | None
    n_neighbors: int

    def solve(
        self, X: FloatArray, S: FloatArray, B: FloatArray, counts: FloatArray, evidence: FloatArray
    ) -> Solution:
        """Solve as `Smoother.solve` describes, on the local graph of X."""
        W, sigma = local_graph(weight_columns(X, S), n_neighbors=self.n_neighbors, sigma=self.sigma)
        root = np.sqrt(counts)[:, None]
        solution = solve_on_graph(W, B * root, counts=counts, evidence=evidence, lam=self.lam)
        return replace(solution, values=solution.values / root, sigma=sigma)


def local_graph(X: FloatArray, *, n_neighbors: int, sigma: float | None) -> tuple[Sparse, float]:
    """Return the similarities W, (V, V), and sigma, which is estimated if it is None."""
    near, distance = nearest(X, max(n_neighbors, SIGMA_NEIGHBORS if sigma is None else 1))
    return graph_of_nearest(near, distance, n_neighbors=n_neighbors, sigma=sigma)


def graph_of_nearest(
    near: IntArray, distance: FloatArray, *, n_neighbors: int, sigma: float | None
) -> tuple[Sparse, float]:
    """Return W and sigma from the nearest vertices of each, (V, count), and their distances."""
    if sigma is None:
        sigma = mean_distance(distance[:, :SIGMA_NEIGHBORS])
    near, distance = near[:, :n_neighbors], distance[:, :n_neighbors]
    V, count = near.shape
    directed = incidence(
        np.repeat(np.arange(V), count),
        near.ravel(),
        shape=(V, V),
        values=exp_similarity(distance, sigma).ravel(),
    )
    return (directed.maximum(directed.T) + sparse.eye_array(V)).tocsr(), sigma


def solve_on_graph(
    W: Sparse,
    B: FloatArray | Sparse,
    *,
    counts: FloatArray,
    evidence: FloatArray,
    lam: float,
    max_factored: int = MAX_FACTORED,
    max_steps: int = MAX_STEPS,
    columns_at_once: int = COLUMNS_AT_ONCE,
) -> Solution:
    """Solve (diag(n) + lambda L) Z = diag(n) B, L the normalised Laplacian of W.

    Up to `max_factored` vertices by a Cholesky factor. Beyond that by conjugate gradients: the
    eigenvalues lie between n and n + 2 lambda, so that few steps suffice for any number of
    vertices. A column is solved once its residual, with each row divided by the root of the
    diagonal, is 1e-5 of its right-hand side.

    Parameters
    ----------
    W : csr_array, (V, V)
        Similarities of the vertices.
    B : float array or csr_array, (V, columns)
        Right-hand sides: sqrt(counts) times the value of each vertex. If sparse, only
        `columns_at_once` columns become dense at a time.
    counts : float array, (V,)
        How many instances each vertex stands for.
    evidence : float array, (V,)
        n, how strongly each vertex holds on to its own value.
    lam : float
        Strength of the smoothing.
    max_factored, max_steps, columns_at_once : int
        See the constants of this module.
    """
    degree, lam = W @ counts, min(lam, MAX_LAM)
    if not np.prod(B.shape):
        return Solution(dense(B), degree)
    scale = sparse.diags_array(np.sqrt(counts / degree), format="csr")
    diagonal = sparse.diags_array(evidence + lam, format="csr")
    A = (diagonal - lam * (scale @ W @ scale).tocsr()).tocsr()
    if B.shape[0] <= max_factored:
        values = solve_positive_definite(A.toarray(), evidence[:, None] * dense(B))
        return Solution(values, degree)
    Z, by_column = np.empty(B.shape), B if isinstance(B, np.ndarray) else B.tocsc()

    def solve_columns(columns: slice) -> tuple[int, float]:
        block = dense(by_column[:, columns])
        Z[:, columns], steps, residual = _conjugate_gradients(
            A, evidence[:, None] * block, start=block, max_steps=max_steps
        )
        return steps, residual

    blocks = row_blocks(B.shape[1], 1, columns_at_once)
    n_steps, residuals = zip(*parallel_map(solve_columns, blocks), strict=True)
    most_steps, largest = max(n_steps), max(residuals)
    converged = largest**2 <= _TOLERANCE
    if not converged:
        warn(
            f"conjugate gradients stopped after {most_steps} steps with a relative residual of "
            f"{largest:.2g}, above {_TOLERANCE**0.5:g}; lower lam or raise n_neighbors",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Solution(Z, degree, steps=most_steps, residual=largest, converged=converged)


def _conjugate_gradients(
    A: Sparse, B: FloatArray, *, start: FloatArray, max_steps: int
) -> tuple[FloatArray, int, float]:
    """Return the solution, the number of steps, and the largest relative residual of a column."""
    inverse = 1.0 / A.diagonal()[:, None]
    Z = np.array(start, order="C")
    residual = B - A @ Z
    direction = inverse * residual
    size = np.einsum("ij,ij->j", residual, direction)
    initial = np.maximum(np.einsum("ij,ij->j", B, inverse * B), 1e-300)
    steps = 0
    while steps < max_steps and not (size <= _TOLERANCE * initial).all():
        steps += 1
        image = A @ direction
        along = np.einsum("ij,ij->j", direction, image)
        step = np.divide(size, along, out=np.zeros_like(size), where=along > 0)
        Z += step * direction
        residual -= step * image
        scaled = inverse * residual
        previous, size = size, np.einsum("ij,ij->j", residual, scaled)
        turn = np.divide(size, previous, out=np.zeros_like(size), where=previous > 0)
        direction *= turn
        direction += scaled
    return Z, steps, float(np.sqrt((size / initial).max(initial=0.0)))
