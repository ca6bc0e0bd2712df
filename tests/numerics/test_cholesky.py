"""Factors and solutions against SciPy's own functions and NumPy's."""

import threading
import time

import numpy as np
import pytest
from scipy.linalg import blas, lapack

from mhpc.numerics.arrays import FloatArray
from mhpc.numerics.cholesky import (
    cholesky_in_place,
    factor_in_place,
    fill_lower_gram,
    lower_gram,
    solve_in_strips,
    solve_positive_definite,
    substitute,
)
from mhpc.system.blas import single_threaded_blas
from mhpc.system.parallel import limit_threads


@pytest.fixture(params=["by address", "by SciPy's function"])
def _each_binding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with LAPACK called by address, and with SciPy's functions as a fallback."""
    if request.param != "by address":
        monkeypatch.setattr("mhpc.numerics.cholesky.routine", lambda library, name: None)


def positive_definite(size: int, *, ridge: float = 1.0) -> FloatArray:
    X = np.random.default_rng(size).random((size, size))
    return np.asarray(X @ X.T + ridge * np.eye(size))


def factor_in_blocks(A: FloatArray) -> FloatArray:
    return factor_in_place(A, block_rows=7, max_direct=10)


@pytest.mark.usefixtures("_each_binding")
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (130, 40)])
def test_the_product_equals_scipys_to_the_last_bit(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).random(shape)
    product = lower_gram(X, scale=-2.0)
    assert product.flags.c_contiguous
    expected = np.asarray(blas.dsyrk(-2.0, X.T, trans=1, lower=0)).T
    np.testing.assert_array_equal(product, expected)
    np.testing.assert_allclose(product, np.tril(-2.0 * X @ X.T))


@pytest.mark.usefixtures("_each_binding")
@pytest.mark.parametrize("block_rows", [1, 3, 20])
def test_a_product_filled_in_blocks_is_the_product(block_rows: int) -> None:
    X = np.random.default_rng(0).random((20, 6))
    product = np.zeros((20, 20))
    for first in range(0, 20, block_rows):
        fill_lower_gram(product, X, slice(first, min(first + block_rows, 20)), scale=-2.0)
    np.testing.assert_allclose(product, np.tril(-2.0 * X @ X.T))


@pytest.mark.usefixtures("_each_binding")
@pytest.mark.parametrize("size", [1, 5, 150])
def test_factor_and_solution_equal_scipys_to_the_last_bit(size: int) -> None:
    A, B = positive_definite(size, ridge=size), np.random.default_rng(1).random((size, 4))
    factor, _ = lapack.dpotrf(A.T, lower=0, clean=0)
    expected, _ = lapack.dpotrs(factor, B, lower=0)
    unchanged = B.copy()
    solution = substitute(cholesky_in_place(A.copy()), B)
    np.testing.assert_array_equal(solution, expected)
    np.testing.assert_allclose(A @ solution, B)
    np.testing.assert_array_equal(B, unchanged)


@pytest.mark.usefixtures("_each_binding")
def test_a_matrix_that_is_not_positive_definite_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite at row 2"):
        cholesky_in_place(np.diag([1.0, -1.0, 1.0]))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        solve_positive_definite(-np.eye(3), np.ones((3, 1)))


def test_other_threads_run_during_a_factorisation() -> None:
    ticks, done = [time.monotonic()], threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.monotonic()
    cholesky_in_place(positive_definite(1500, ridge=1500))
    ended = time.monotonic()
    done.set()
    ticker.join()
    # If the GIL were held throughout, there would be no tick in the middle.
    assert len([moment for moment in ticks if began < moment < ended]) >= 3


@pytest.mark.usefixtures("_each_binding")
@pytest.mark.parametrize("size", [1, 10, 11, 14, 15, 40])
def test_a_factor_in_blocks_is_the_factor(size: int) -> None:
    A = positive_definite(size)
    lower = np.tril(factor_in_blocks(np.tril(A)))
    np.testing.assert_allclose(lower @ lower.T, A)
    np.testing.assert_allclose(lower, np.linalg.cholesky(A))


@pytest.mark.parametrize("columns", [1, 3, 8])
def test_a_solution_in_strips_solves_and_leaves_the_right_hand_side(columns: int) -> None:
    A, B = positive_definite(30), np.random.default_rng(0).random((30, columns))
    unchanged = B.copy()
    factor = factor_in_blocks(A.copy())
    solution = solve_in_strips(factor, B, strip_columns=2, min_strip=1, max_direct=10)
    np.testing.assert_allclose(A @ solution, B)
    np.testing.assert_allclose(A @ solve_positive_definite(A.copy(), B), B)
    np.testing.assert_array_equal(B, unchanged)


def test_the_number_of_threads_changes_no_bit() -> None:
    A, B = positive_definite(60), np.random.default_rng(0).random((60, 10))
    results = []
    for count in (1, 2, 3):
        with limit_threads(count), single_threaded_blas():
            factor = factor_in_blocks(A.copy())
            solution = solve_in_strips(factor, B, strip_columns=2, min_strip=1, max_direct=10)
            results.append((np.tril(factor), solution))
    for factor, solution in results[1:]:
        np.testing.assert_array_equal(factor, results[0][0])
        np.testing.assert_array_equal(solution, results[0][1])


def test_the_error_of_a_factor_in_blocks_names_the_row() -> None:
    A = np.eye(20)
    A[16, 16] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite at row 17"):
        factor_in_blocks(A)
