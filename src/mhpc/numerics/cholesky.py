"""Blocked, GIL-free Cholesky solve.

SciPy's own functions keep Python to themselves until they are done, for minutes where matrices
are large: progress stands still and an interrupt is not heard. The same routines, at the
addresses that SciPy gives to Cython, do not when they are called by ctypes. The numbers are the
same to the last bit.

BLAS with threads of its own rounds otherwise on other numbers of cores. Blocks here are always the
same, whoever works on them, so that the factor is, too, to the last bit.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

from mhpc.numerics.arrays import FloatArray
from mhpc.system.parallel import parallel_map


def lower_gram(X: FloatArray, *, scale: float) -> FloatArray:
    """Return scale * X X' in its lower triangle, and zeros above it.

    Parameters
    ----------
    X : float array, (N, K)
        Anything.
    scale : float
        What the product is multiplied with.

    Returns
    -------
    float array, (N, N), C order
        N * N * K / 2 multiplications.
    """
    X = np.ascontiguousarray(X, dtype=float)
    # BLAS counts columns first: the upper triangle of its product is the lower one of ours.
    if (dsyrk := routine(cython_blas, "dsyrk")) is None:
        return np.asarray(blas.dsyrk(scale, X.T, trans=1, lower=0)).T
    (N, K), product = X.shape, np.zeros((len(X), len(X)))
    dsyrk(
        b"U", b"T", _int(N), _int(K), _double(scale), _at(X), _int(max(K, 1)),
        _double(0.0), _at(product), _int(max(N, 1)),
    )  # fmt: skip
    return product


def cholesky_in_place(A: FloatArray) -> FloatArray:
    """Return the Cholesky factor of A, in the place of its lower triangle.

    Parameters
    ----------
    A : float array, (V, V), C order
        Symmetric positive definite, in its lower triangle; overwritten.
    """
    A = np.ascontiguousarray(A, dtype=float)
    V, info = len(A), ctypes.c_int(0)
    if dpotrf := routine(cython_lapack, "dpotrf"):
        dpotrf(b"U", _int(V), _at(A), _int(max(V, 1)), ctypes.byref(info))
    else:
        info.value = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)[1]
    if info.value:
        raise np.linalg.LinAlgError(f"the matrix is not positive definite at row {info.value}")
    return A


def substitute(factor: FloatArray, B: FloatArray) -> FloatArray:
    """Return the solution of A Y = B, (V, K), from the factor that `cholesky_in_place` gives."""
    solution = np.array(B, dtype=float, order="F")
    V, K = solution.shape
    if (dpotrs := routine(cython_lapack, "dpotrs")) is None:
        return np.asarray(lapack.dpotrs(factor.T, solution, lower=0, overwrite_b=1)[0])
    dpotrs(
        b"U", _int(V), _int(K), _at(factor), _int(max(V, 1)), _at(solution), _int(max(V, 1)),
        ctypes.byref(ctypes.c_int(0)),
    )  # fmt: skip
    return solution


def _kind(declared: str) -> Any:
    """Return how an argument is passed, given how C declares it; None if we do not know."""
    known = {"char": ctypes.c_char_p, "int": ctypes.POINTER(ctypes.c_int)}
    name = declared.partition("*")[0].strip()
    return ctypes.c_void_p if name.endswith("_d") else known.get(name)


@cache
def routine(library: Any, name: str) -> Callable[..., None] | None:
    """Return a routine by its address, None where its integers are not the usual ones."""
    capsule, api = library.__pyx_capi__[name], ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    # The capsule's name is the routine's declaration: void (char *, int *, double *, ...).
    declared = api.PyCapsule_GetName(capsule)
    arguments = [_kind(each) for each in declared.decode().partition("(")[2].split(",")]
    if None in arguments:
        return None
    return ctypes.CFUNCTYPE(None, *arguments)(api.PyCapsule_GetPointer(capsule, declared))


def _int(number: int) -> Any:
    return ctypes.byref(ctypes.c_int(number))


def _double(number: float) -> Any:
    return ctypes.byref(ctypes.c_double(number))


def _at(array: FloatArray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


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
        dpotrf(b"U", _int(stop - start), _entry_at(A, start, start), _int(V), ctypes.byref(info))
        if info.value:
            raise np.linalg.LinAlgError(
                f"the matrix is not positive definite at row {start + info.value}"
            )

        def solve(rows: slice, start: int = start, stop: int = stop) -> None:
            dtrsm(
                b"L", b"U", b"T", b"N", _int(stop - start), _int(rows.stop - rows.start),
                ctypes.byref(ctypes.c_double(1.0)), _entry_at(A, start, start), _int(V),
                _entry_at(A, rows.start, start), _int(V),
            )  # fmt: skip

        def subtract(rows: slice, start: int = start, stop: int = stop) -> None:
            A[rows, stop : rows.stop] -= A[rows, start:stop] @ A[stop : rows.stop, start:stop].T

        below = [slice(at, min(at + BLOCK, V)) for at in range(stop, V, BLOCK)]
        for work in (solve, subtract):
            # The last rows have most to subtract, and are begun first.
            for _ in parallel_map(work, below[::-1]):
                pass
    return A


def solve_in_strips(factor: FloatArray, B: FloatArray) -> FloatArray:
    """Return the solution of A Y = B, (V, K), from the factor, some columns at a time."""
    strips = [slice(at, at + _STRIP) for at in range(0, B.shape[1], _STRIP)]
    if len(factor) <= WORTH or len(strips) < 2:
        return substitute(factor, B)
    solution = np.empty(B.shape, order="F")
    for strip, some in zip(
        strips, parallel_map(lambda at: substitute(factor, B[:, at]), strips), strict=True
    ):
        solution[:, strip] = some
    return solution


def _entry_at(A: FloatArray, row: int, column: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(A.ctypes.data + A.itemsize * (row * len(A) + column))


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
