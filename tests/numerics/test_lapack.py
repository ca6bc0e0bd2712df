"""Routines called by address, beside SciPy's own functions for them."""

import threading
import time

import numpy as np
import pytest
from scipy.linalg import blas, lapack

from mhpc.numerics.arrays import FloatArray
from mhpc.numerics.cholesky import cholesky_in_place, lower_gram, substitute


@pytest.fixture(params=["by address", "by SciPy's function"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with addresses, and as where the integers of SciPy's library are unusual."""
    if request.param != "by address":
        monkeypatch.setattr("mhpc.numerics.cholesky.routine", lambda library, name: None)


def definite(size: int) -> FloatArray:
    X = np.random.default_rng(0).random((size, size))
    return np.asarray(X @ X.T + size * np.eye(size))


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (130, 40)])
def test_the_product_is_scipys_to_the_last_bit(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).random(shape)
    expected = np.asarray(blas.dsyrk(-2.0, X.T, trans=1, lower=0)).T
    found = lower_gram(X, scale=-2.0)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, np.tril(-2.0 * X @ X.T))


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("size", [1, 5, 150])
def test_factor_and_solution_are_scipys_to_the_last_bit(size: int) -> None:
    A, B = definite(size), np.random.default_rng(1).random((size, 4))
    factor, _ = lapack.dpotrf(A.T, lower=0, clean=0)
    expected, _ = lapack.dpotrs(factor, B, lower=0)
    kept = B.copy()
    found = substitute(cholesky_in_place(A.copy()), B)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(A @ found, B)
    np.testing.assert_array_equal(B, kept)


@pytest.mark.usefixtures("either_way")
def test_a_matrix_that_is_not_definite_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite at row 2"):
        cholesky_in_place(np.diag([1.0, -1.0, 1.0]))


def test_other_threads_work_meanwhile() -> None:
    ticks, done = [time.monotonic()], threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.monotonic()
    cholesky_in_place(definite(1500))
    ended = time.monotonic()
    done.set()
    ticker.join()
    # Held all the while, the lock would let no tick fall into the middle.
    assert len([at for at in ticks if began < at < ended]) >= 3
