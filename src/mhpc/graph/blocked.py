"""The Cholesky factor of a large matrix in blocks, which several threads work on.

BLAS with threads of its own rounds otherwise on other numbers of cores. Blocks here are always the
same, whoever works on them, so that the factor is, too, to the last bit.
"""

import ctypes

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from mhpc.core.ahead import ahead
from mhpc.core.arrays import FloatArray
from mhpc.graph.lapack import cholesky_in_place, routine, substitute

BLOCK = 512
"""Rows of a block."""

WORTH = 4 * BLOCK
"""Rows up to which one call of LAPACK is as good."""

_STRIP = 128
"""Right-hand sides that are solved for in one call."""


def factor_in_place(A: FloatArray) -> FloatArray:
    """Return the Cholesky factor of A, in the place of its lower triangle.

    Parameters
    ----------
    A : float array, (V, V), C order
        Symmetric positive definite, in its lower triangle; overwritten.

    Returns
    -------
    float array, (V, V)
        V^3 / 3 multiplications. For each block of columns its own square is factored, the rows
        below are solved for it, and their products are taken from what is left.
    """
    dpotrf, dtrsm = routine(cython_lapack, "dpotrf"), routine(cython_blas, "dtrsm")
    if len(A) <= WORTH or dpotrf is None or dtrsm is None:
        return cholesky_in_place(A)
    A = np.ascontiguousarray(A, dtype=float)
    V, info = len(A), ctypes.c_int(0)
    for start in range(0, V, BLOCK):
        stop = min(start + BLOCK, V)
        # BLAS counts columns first: the lower triangle is an upper one to it.
        dpotrf(b"U", _int(stop - start), _at(A, start, start), _int(V), ctypes.byref(info))
        if info.value:
            raise np.linalg.LinAlgError(
                f"the matrix is not positive definite at row {start + info.value}"
            )

        def solve(rows: slice, start: int = start, stop: int = stop) -> None:
            dtrsm(
                b"L", b"U", b"T", b"N", _int(stop - start), _int(rows.stop - rows.start),
                ctypes.byref(ctypes.c_double(1.0)), _at(A, start, start), _int(V),
                _at(A, rows.start, start), _int(V),
            )  # fmt: skip

        def subtract(rows: slice, start: int = start, stop: int = stop) -> None:
            A[rows, stop : rows.stop] -= A[rows, start:stop] @ A[stop : rows.stop, start:stop].T

        below = [slice(at, min(at + BLOCK, V)) for at in range(stop, V, BLOCK)]
        for work in (solve, subtract):
            # The last rows have most to subtract, and are begun first.
            for _ in ahead(work, below[::-1]):
                pass
    return A


def solve_in_strips(factor: FloatArray, B: FloatArray) -> FloatArray:
    """Return the solution of A Y = B, (V, K), from the factor, some columns at a time."""
    strips = [slice(at, at + _STRIP) for at in range(0, B.shape[1], _STRIP)]
    if len(factor) <= WORTH or len(strips) < 2:
        return substitute(factor, B)
    solution = np.empty(B.shape, order="F")
    for strip, some in zip(
        strips, ahead(lambda at: substitute(factor, B[:, at]), strips), strict=True
    ):
        solution[:, strip] = some
    return solution


def _int(number: int) -> object:
    return ctypes.byref(ctypes.c_int(number))


def _at(A: FloatArray, row: int, column: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(A.ctypes.data + A.itemsize * (row * len(A) + column))
