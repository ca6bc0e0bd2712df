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
from mhpc.system.blas import single_threaded_blas
from mhpc.system.parallel import parallel_map

BLOCK_ROWS = 384
"""Rows in a block: enough for BLAS to be fast, and for threads to be busy."""

MAX_DIRECT = 2048
"""Rows up to which LAPACK does its work in one call."""

STRIP_COLUMNS = 128
"""Right-hand sides that are solved for in one call, at most."""

MIN_STRIP = 32
"""Right-hand sides that are worth a call."""


def solve_positive_definite(
    A: FloatArray, B: FloatArray, *, max_direct: int = MAX_DIRECT
) -> FloatArray:
    """Return the solution Y of A Y = B.

    Parameters
    ----------
    A : float array, (V, V), C order
        Symmetric positive definite, given by its lower triangle; overwritten. I + lambda L is, for
        any lambda >= 0: its eigenvalues lie in [1, 1 + 2 lambda].
    B : float array, (V, K)
        Right-hand sides.
    max_direct : int
        Rows up to which LAPACK does its work in one call, and not in blocks and threads.

    Returns
    -------
    float array, (V, K)
        Costs V^3 / 3 multiplications for the factor and V * V * K for each of two substitutions.
    """
    if len(A) <= max_direct:
        return substitute(cholesky_in_place(A), B)
    # Threads of BLAS would compete with those that work on blocks.
    with single_threaded_blas():
        return solve_in_strips(factor_in_place(A, max_direct=max_direct), B, max_direct=max_direct)


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
            _add_lower_product(A, rows, stop, A, slice(start, stop), scale=-1.0, keep=1.0)

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
    min_strip: int = MIN_STRIP,
    max_direct: int = MAX_DIRECT,
) -> FloatArray:
    """Return the solution Y of A Y = B, (V, K), from the factor, a strip of columns at a time.

    Parameters
    ----------
    factor : float array, (V, V), C order
        As `factor_in_place` returns it.
    B : float array, (V, K)
        Right-hand sides.
    strip_columns, min_strip : int
        The largest number of columns in a strip, and the smallest one that is worth a strip.
    max_direct : int
        Rows up to which LAPACK solves for all columns in one call.
    """
    V, K = B.shape
    # A multiple of four strips of the same width is done at the same time by 2 and by 4 threads.
    n_strips = min(4 * -(-K // (4 * strip_columns)), max(K // min_strip, 1))
    if max_direct >= V or n_strips < 2:
        return substitute(factor, B)
    solution = np.array(B, dtype=float, order="F")
    strips = [solution[:, strip] for strip in row_blocks(K, 1, -(-K // n_strips))]
    for _ in parallel_map(lambda strip: _substitute_in_place(factor, strip), strips):
        pass
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
    _substitute_in_place(factor, solution)
    return solution


def _substitute_in_place(factor: FloatArray, B: FloatArray) -> None:
    """Replace B, (V, K) in Fortran order, by the solution."""
    V, K = B.shape
    if (dpotrs := routine(cython_lapack, "dpotrs")) is None:
        B[:] = lapack.dpotrs(factor.T, B, lower=0)[0]
        return
    dpotrs(
        b"U", _int(V), _int(K), _cell(factor), _int(max(V, 1)), _cell(B), _int(max(V, 1)),
        ctypes.byref(ctypes.c_int(0)),
    )  # fmt: skip


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
    X, product = np.ascontiguousarray(X, dtype=float), np.zeros((len(X), len(X)))
    fill_lower_gram(product, X, slice(0, len(X)), scale=scale)
    return product


def fill_lower_gram(product: FloatArray, X: FloatArray, rows: slice, *, scale: float) -> None:
    """Write some rows of `lower_gram` into a matrix of zeros.

    Parameters
    ----------
    product : float array, (N, N), C order
        Where they are written.
    X : float array, (N, K), C order
        Any matrix.
    rows : slice
        Which rows of the product are computed, with a start and a stop.
    scale : float
        What the product is multiplied by.
    """
    if routine(cython_blas, "dgemm") is not None:
        _add_lower_product(product, rows, 0, X, slice(0, X.shape[1]), scale=scale, keep=0.0)
        return
    product[rows, : rows.start] = scale * (X[rows] @ X[: rows.start].T)
    product[rows, rows] = np.asarray(blas.dsyrk(scale, X[rows].T, trans=1, lower=0)).T


def _add_lower_product(
    out: FloatArray,
    rows: slice,
    first: int,
    X: FloatArray,
    columns: slice,
    *,
    scale: float,
    keep: float,
) -> None:
    """Replace C by keep * C + scale * X X', with some columns of X, by address.

    C are some rows of `out` from column `first` up to the diagonal.
    """
    dgemm, dsyrk = routine(cython_blas, "dgemm"), routine(cython_blas, "dsyrk")
    assert dgemm is not None and dsyrk is not None  # noqa: S101, PT018 - the callers know it
    n_left, n, depth = rows.start - first, rows.stop - rows.start, columns.stop - columns.start
    if not n or not depth:
        return
    own, X_row, out_row = _cell(X, rows.start, columns.start), X.shape[1], out.shape[1]
    # BLAS counts columns first: the upper triangle of its product is our lower one.
    if n_left:
        dgemm(
            b"T", b"N", _int(n_left), _int(n), _int(depth), _double(scale),
            _cell(X, first, columns.start), _int(X_row), own, _int(X_row),
            _double(keep), _cell(out, rows.start, first), _int(out_row),
        )  # fmt: skip
    dsyrk(
        b"U", b"T", _int(n), _int(depth), _double(scale), own, _int(X_row),
        _double(keep), _cell(out, rows.start, rows.start), _int(out_row),
    )  # fmt: skip


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
    """Return the address of a cell of a C-ordered matrix, or of any array's first one."""
    return ctypes.c_void_p(array.ctypes.data + array.itemsize * (row * array.shape[1] + column))


def _not_definite(row: int) -> np.linalg.LinAlgError:
    return np.linalg.LinAlgError(f"the matrix is not positive definite at row {row}")
