"""The symmetric normalised Laplacian (equation 3) inside the matrix of the closed form.

L = D^-1/2 (D - W) D^-1/2. A vertex may stand for n equal instances: they have similarity 1 to
each other and the same row of W, so the solution is the same for all of them and one unknown
is enough. Unknowns Z = sqrt(n) Y keep the reduced matrix symmetric.
"""

import numpy as np
from scipy.linalg.blas import dsymv

from mhpc.core.arrays import FloatArray

STRONGEST = 1e8
"""The most that lambda counts as. The matrix is as ill-conditioned as lambda is large: here
rounding is 1e-8 of the solution, and whatever is joined at all is as alike as that."""

_ROWS = 128
"""Rows scaled at once, so that a strip is read from memory once."""


def strength(lam: float) -> float:
    """Return what lambda counts as."""
    return min(lam, STRONGEST)


def degrees(W: FloatArray, counts: FloatArray) -> FloatArray:
    """Return D_ii = sum_j n_j W_ij, from the lower triangle of W with its diagonal."""
    # BLAS counts columns first: the lower triangle of W is the upper one of its transpose.
    return np.asarray(dsymv(1.0, W.T, counts, lower=0))


def closed_form_matrix(W: FloatArray, counts: FloatArray, *, lam: float) -> FloatArray:
    """Return I + lambda L in its lower triangle, in the place of W.

    Parameters
    ----------
    W : float array, (V, V), C order
        Similarities in the lower triangle; overwritten.
    counts : float array, (V,)
        n, how many instances each vertex stands for.
    lam : float
        lambda of equation 6, at most `STRONGEST`.

    Notes
    -----
    An isolated vertex (degree 0) has a zero row in L: it keeps its own value.
    """
    D, lam = degrees(W, counts), strength(lam)
    linked = D > 0
    scale = np.zeros(len(W))
    scale[linked] = np.sqrt(counts[linked] / D[linked])
    for start in range(0, len(W), _ROWS):
        stop = min(start + _ROWS, len(W))
        strip = W[start:stop, :stop]
        strip *= scale[start:stop, None]
        strip *= -lam * scale[:stop]
    W[np.diag_indices_from(W)] += 1.0 + lam * linked
    return W
