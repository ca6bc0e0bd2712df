"""Products and factors are the same to the last bit, whatever the number of threads."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.system.parallel import single_threaded_blas


def threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_blas_uses_one_thread_within_the_block_only() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with single_threaded_blas():
            assert threads() == {1}
        assert threads() == before


def test_a_solution_does_not_depend_on_how_many_threads_there_were() -> None:
    rng = np.random.default_rng(0)
    X, B = rng.random((700, 300)), rng.random((700, 40))
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"), single_threaded_blas():
            found.append(solve_positive_definite(X @ X.T + np.eye(700), X @ (X.T @ B)))
    assert np.array_equal(found[0], found[1])
