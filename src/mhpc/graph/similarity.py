"""Similarity of instances by their label vectors (equation 7).

W_ij = exp(-d_ij / sigma) with d_ij the Euclidean distance weighted by the support S; W_ii = 1.
"""

import numpy as np

from mhpc.core.arrays import FloatArray
from mhpc.graph.lapack import lower_gram

SHORTEST = 1e-300
"""The least that sigma counts as: its inverse is a number, and only equal rows are alike."""

_ROWS = 128
"""Rows of a strip: narrow enough that a strip stays in the cache from sum to exponential."""


def fallen(distance: FloatArray, sigma: float) -> FloatArray:
    """Return similarities at distances: 1 at 0, 1/e at sigma, 0 where infinitely far."""
    return np.asarray(np.exp(-distance / max(sigma, SHORTEST)))


def weight_columns(Y: FloatArray, S: FloatArray) -> FloatArray:
    """Return Y scaled so that plain Euclidean distance is the distance weighted by S."""
    used = S > 0
    return np.ascontiguousarray(Y[:, used] * np.sqrt(S[used]))


def similarity(Y: FloatArray, S: FloatArray, *, sigma: float) -> FloatArray:
    """Return W in its lower triangle; what stands above the diagonal is not meaningful.

    Parameters
    ----------
    Y : float array, (N, K)
        Label vectors; rows are expected to be distinct, since the distance of equal rows is
        only accurate to the root of the machine precision.
    S : float array, (K,)
        Weights, not negative.
    sigma : float
        Distance at which similarity has fallen to 1/e.

    Returns
    -------
    float array, (N, N), C order
        N * N * K / 2 multiplications and half as many exponentials as W has entries. The product
        is SciPy's, as the factor is: NumPy has a BLAS of its own, and the threads of two get in
        each other's way.
    """
    X = weight_columns(Y, S)
    norms = np.einsum("ij,ij->i", X, X)
    W = lower_gram(X, scale=-2.0) if X.shape[1] else np.zeros((len(X),) * 2)
    for start in range(0, len(X), _ROWS):
        stop = min(start + _ROWS, len(X))
        strip = W[start:stop, :stop]
        strip += norms[start:stop, None]
        strip += norms[:stop]
        np.maximum(strip, 0.0, out=strip)
        np.sqrt(strip, out=strip)
        strip *= -1.0 / max(sigma, SHORTEST)
        np.exp(strip, out=strip)
    np.fill_diagonal(W, 1.0)
    return W
