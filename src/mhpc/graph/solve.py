"""The closed form by Cholesky: Y = (I + lambda L)^-1 B (equation 6)."""

from mhpc.core.arrays import FloatArray
from mhpc.graph.blocked import factor_in_place, solve_in_strips


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
    return solve_in_strips(factor_in_place(A), B)
