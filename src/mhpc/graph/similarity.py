"""Similarity of instances by their label vectors (equation 7).

W_ij = exp(-d_ij / sigma) with d_ij the Euclidean distance weighted by the support S; W_ii = 1.
"""

import numpy as np

from mhpc.core.arrays import FloatArray

_ROWS = 128
"""Rows of a strip: narrow enough that a strip stays in the cache from product to exponential."""


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
        N * N * K multiplications and half as many exponentials as W has entries.
    """
    used = S > 0
    X = np.ascontiguousarray(Y[:, used] * np.sqrt(S[used]))
    norms = np.einsum("ij,ij->i", X, X)
    W = np.empty((len(X), len(X)))
    for start in range(0, len(X), _ROWS):
        stop = min(start + _ROWS, len(X))
        strip = W[start:stop, :stop]
        np.matmul(X[start:stop], X[:stop].T, out=strip)
        strip *= -2.0
        strip += norms[start:stop, None]
        strip += norms[:stop]
        np.maximum(strip, 0.0, out=strip)
        np.sqrt(strip, out=strip)
        strip *= -1.0 / sigma
        np.exp(strip, out=strip)
    np.fill_diagonal(W, 1.0)
    return W
