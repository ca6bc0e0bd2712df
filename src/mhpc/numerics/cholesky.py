"""Solving symmetric positive definite systems by Cholesky factors, in blocks and in threads.

SciPy's own functions hold Python's global lock until they are done, for minutes if matrices are
large: progress would stand still, and an interrupt would have to wait. The same LAPACK routines do
not hold it when they are called through ctypes, at the addresses that SciPy publishes for Cython.
The numbers are the same to the last bit.

A BLAS with threads of its own rounds differently on another number of cores. Here the blocks are
the same for any number of threads, and so is the factor, to the last bit.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

from mhpc.numerics.arrays import FloatArray
from mhpc.numerics.sparse import row_blocks
from mhpc.system.parallel import parallel_map

BLOCK_ROWS = 512
"""Rows in a block of the factor."""

MAX_DIRECT = 2048
"""Rows up to which one call of LAPACK is as fast as blocks."""

STRIP_COLUMNS = 128
"""Right-hand sides that are solved for in one call."""


def solve_positive_definite(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the solution Y of A Y = B.

    Parameters
    ----------
    A : float array, (V, V), C order
        Symmetric positive definite, given by its lower triangle; overwritten. I + lambda L is, for
        any lambda >= 0: its eigenvalues lie in [1, 1 + 2 lambda].
    B : float array, (V, K)
        Right-hand sides.

    Returns
    -------
    float array, (V, K)
        Costs V^3 / 3 multiplications for the factor and V * V * K for each of two substitutions.
    """
    return solve_in_strips(factor_in_place(A), B)


def factor_in_place(
    A: FloatArray, *, block_rows: int = BLOCK_ROWS, max_direct: int = MAX_DIRECT
) -> FloatArray:
    """Return the Cholesky factor of A, in the place of its lower triangle.

    For each block of columns its own square is factored, the rows below are solved for it, and
    their products are subtracted from the rest: V^3 / 3 multiplications.

    Parameters
    ----------
    A : float array, (V, V), C order
        Symmetric positive definite, given by its lower triangle; overwritten.
    block_rows : int
        Rows in a block.
    max_direct : int
        Rows up to which LAPACK factors the matrix in one call.
    """
    dpotrf, dtrsm = routine(cython_lapack, "dpotrf"), routine(cython_blas, "dtrsm")
    if len(A) <= max_direct or dpotrf is None or dtrsm is None:
        return cholesky_in_place(A)
    A = np.ascontiguousarray(A, dtype=float)
    V, info = len(A), ctypes.c_int(0)
    for block in row_blocks(V, 1, block_rows):
        start, stop = block.start, block.stop
        # BLAS counts columns first: our lower triangle is its upper one.
        dpotrf(b"U", _int(stop - start), _cell(A, start, start), _int(V), ctypes.byref(info))
        if info.value:
            raise _not_definite(start + info.value)

        def solve(rows: slice, start: int = start, stop: int = stop) -> None:
            dtrsm(
                b"L", b"U", b"T", b"N", _int(stop - start), _int(rows.stop - rows.start),
                _double(1.0), _cell(A, start, start), _int(V), _cell(A, rows.start, start), _int(V),
            )  # fmt: skip

        def subtract(rows: slice, start: int = start, stop: int = stop) -> None:
            A[rows, stop : rows.stop] -= A[rows, start:stop] @ A[stop : rows.stop, start:stop].T

        below = [slice(first, min(first + block_rows, V)) for first in range(stop, V, block_rows)]
        for work in (solve, subtract):
            # The last rows have most to subtract, and are begun first.
            for _ in parallel_map(work, below[::-1]):
                pass
    return A


def solve_in_strips(
    factor: FloatArray,
    B: FloatArray,
    *,
    strip_columns: int = STRIP_COLUMNS,
    max_direct: int = MAX_DIRECT,
) -> FloatArray:
    """Return the solution Y of A Y = B, (V, K), from the factor, a strip of columns at a time."""
    strips = list(row_blocks(B.shape[1], 1, strip_columns))
    if len(factor) <= max_direct or len(strips) < 2:
        return substitute(factor, B)
    solution = np.empty(B.shape, order="F")
    solved = parallel_map(lambda strip: substitute(factor, B[:, strip]), strips)
    for strip, columns in zip(strips, solved, strict=True):
        solution[:, strip] = columns
    return solution


def cholesky_in_place(A: FloatArray) -> FloatArray:
    """Return the Cholesky factor of A, in the place of its lower triangle, by one LAPACK call."""
    A = np.ascontiguousarray(A, dtype=float)
    V, info = len(A), ctypes.c_int(0)
    if dpotrf := routine(cython_lapack, "dpotrf"):
        dpotrf(b"U", _int(V), _cell(A), _int(max(V, 1)), ctypes.byref(info))
    else:
        info.value = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)[1]
    if info.value:
        raise _not_definite(info.value)
    return A


def substitute(factor: FloatArray, B: FloatArray) -> FloatArray:
    """Return the solution Y of A Y = B, (V, K), from the factor, by one LAPACK call."""
    solution = np.array(B, dtype=float, order="F")
    V, K = solution.shape
    if (dpotrs := routine(cython_lapack, "dpotrs")) is None:
        return np.asarray(lapack.dpotrs(factor.T, solution, lower=0, overwrite_b=1)[0])
    dpotrs(
        b"U", _int(V), _int(K), _cell(factor), _int(max(V, 1)), _cell(solution), _int(max(V, 1)),
        ctypes.byref(ctypes.c_int(0)),
    )  # fmt: skip
    return solution


def lower_gram(X: FloatArray, *, scale: float) -> FloatArray:
    """Return scale * X X' in the lower triangle, and zeros above it.

    Parameters
    ----------
    X : float array, (N, K)
        Any matrix.
    scale : float
        What the product is multiplied by.

    Returns
    -------
    float array, (N, N), C order
        Costs N * N * K / 2 multiplications.
    """
    X = np.ascontiguousarray(X, dtype=float)
    # BLAS counts columns first: the upper triangle of its product is our lower one.
    if (dsyrk := routine(cython_blas, "dsyrk")) is None:
        return np.asarray(blas.dsyrk(scale, X.T, trans=1, lower=0)).T
    (N, K), product = X.shape, np.zeros((len(X), len(X)))
    dsyrk(
        b"U", b"T", _int(N), _int(K), _double(scale), _cell(X), _int(max(K, 1)),
        _double(0.0), _cell(product), _int(max(N, 1)),
    )  # fmt: skip
    return product


@cache
def routine(library: Any, name: str) -> Callable[..., None] | None:
    """Return a routine by its address; None if its integers do not have the usual size."""
    capsule, api = library.__pyx_capi__[name], ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    # The capsule's name is the routine's declaration: void (char *, int *, double *, ...).
    declaration = api.PyCapsule_GetName(capsule)
    types = declaration.decode().partition("(")[2].split(",")
    arguments = [_argument_type(declared) for declared in types]
    if None in arguments:
        return None
    return ctypes.CFUNCTYPE(None, *arguments)(api.PyCapsule_GetPointer(capsule, declaration))


def _argument_type(declared: str) -> Any:
    """Return how an argument is passed, given its declaration in C; None if that is not known."""
    known = {"char": ctypes.c_char_p, "int": ctypes.POINTER(ctypes.c_int)}
    name = declared.partition("*")[0].strip()
    return ctypes.c_void_p if name.endswith("_d") else known.get(name)


def _int(number: int) -> Any:
    return ctypes.byref(ctypes.c_int(number))


def _double(number: float) -> Any:
    return ctypes.byref(ctypes.c_double(number))


def _cell(array: FloatArray, row: int = 0, column: int = 0) -> ctypes.c_void_p:
    """Return the address of a cell of a C-ordered square matrix, or of any array's first one."""
    return ctypes.c_void_p(array.ctypes.data + array.itemsize * (row * len(array) + column))


def _not_definite(row: int) -> np.linalg.LinAlgError:
    return np.linalg.LinAlgError(f"the matrix is not positive definite at row {row}")
