"""The closed form by Cholesky: Y = (I + lambda L)^-1 B (equation 6)."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from mhpc.core.arrays import FloatArray


def solve_positive_definite(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the solution of A Y = B.

    Parameters
    ----------
    A : float array, (V, V), C order
        Symmetric positive definite, in its lower triangle; overwritten. I + lambda L is, for
        any lambda >= 0: its eigenvalues lie in [1, 1 + 2 lambda].
    B : float array, (V, K)
        Right-hand sides.

    Returns
    -------
    float array, (V, K)
        V^3 / 3 multiplications for the factor and V * V * K for each of two substitutions.
    """
    factor, info = dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError(f"the matrix is not positive definite at row {info}")
    solution, _ = dpotrs(factor, np.asfortranarray(B), lower=0)
    return np.asarray(solution)
