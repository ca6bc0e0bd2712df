"""A factor in blocks is the factor, whoever works on the blocks."""

import numpy as np
import pytest

from mhpc.numerics import cholesky as blocked
from mhpc.numerics.arrays import FloatArray
from mhpc.numerics.cholesky import factor_in_place, solve_in_strips, solve_positive_definite
from mhpc.system.parallel import limit_threads, single_threaded_blas


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked, "BLOCK", 7)
    monkeypatch.setattr(blocked, "WORTH", 10)
    monkeypatch.setattr(blocked, "_STRIP", 3)


def definite(size: int) -> FloatArray:
    X = np.random.default_rng(size).random((size, size))
    return np.asarray(X @ X.T + np.eye(size))


@pytest.mark.parametrize("size", [1, 10, 11, 14, 15, 40])
def test_the_factor_times_itself_is_the_matrix(size: int) -> None:
    A = definite(size)
    lower = np.tril(factor_in_place(np.tril(A)))
    np.testing.assert_allclose(lower @ lower.T, A)
    np.testing.assert_allclose(lower, np.linalg.cholesky(A))


@pytest.mark.parametrize("columns", [1, 3, 8])
def test_the_solution_solves_and_leaves_the_right_hand_side(columns: int) -> None:
    A, B = definite(30), np.random.default_rng(0).random((30, columns))
    kept = B.copy()
    np.testing.assert_allclose(A @ solve_positive_definite(A.copy(), B), B)
    np.testing.assert_array_equal(B, kept)


def test_threads_change_no_bit() -> None:
    A, B = definite(60), np.random.default_rng(0).random((60, 10))
    found = []
    for count in (1, 2, 3):
        with limit_threads(count), single_threaded_blas():
            factor = factor_in_place(A.copy())
            found.append((np.tril(factor), solve_in_strips(factor, B)))
    for factor, solution in found[1:]:
        np.testing.assert_array_equal(factor, found[0][0])
        np.testing.assert_array_equal(solution, found[0][1])


def test_the_row_where_a_matrix_is_not_definite_is_named() -> None:
    A = np.eye(20)
    A[16, 16] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite at row 17"):
        factor_in_place(A)


def test_without_addresses_lapack_does_it_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    A = definite(30)
    monkeypatch.setattr(blocked, "routine", lambda library, name: None)
    np.testing.assert_allclose(np.tril(factor_in_place(A.copy())), np.linalg.cholesky(A))
