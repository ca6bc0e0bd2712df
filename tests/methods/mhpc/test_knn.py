"""The local graph, and the solve on it, against loops and dense solves."""

import numpy as np
import pytest

from mhpc.methods.mhpc.exact import make_smoother
from mhpc.methods.mhpc.knn import local_graph, solve_on_graph
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.numerics.neighbors import estimate_sigma


def vectors(rows: int, *, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).random((rows, 5))


def distance(X: FloatArray, i: int, j: int) -> float:
    return float(np.sqrt(np.sum((X[i] - X[j]) ** 2)))


def nearest_by_loops(X: FloatArray, count: int) -> list[list[int]]:
    return [
        sorted((j for j in range(len(X)) if j != i), key=lambda j: (distance(X, i, j), j))[:count]
        for i in range(len(X))
    ]


def similarity_by_loops(X: FloatArray, count: int, sigma: float) -> FloatArray:
    near, W = nearest_by_loops(X, count), np.eye(len(X))
    for i in range(len(X)):
        for j in range(len(X)):
            if i != j and (j in near[i] or i in near[j]):
                W[i, j] = np.exp(-distance(X, i, j) / sigma)
    return W


def full_laplacian(W: FloatArray) -> FloatArray:
    half = np.diag(W.sum(axis=1) ** -0.5)
    return np.asarray(np.eye(len(W)) - half @ W @ half)


@pytest.mark.parametrize("rows", [0, 1])
def test_a_vertex_without_others_is_joined_to_itself_only(rows: int) -> None:
    W, sigma = local_graph(vectors(rows), n_neighbors=3, sigma=None)
    assert dense(W).tolist() == np.eye(rows).tolist()
    assert sigma == 1.0


@pytest.mark.parametrize("n_neighbors", [1, 3, 29, 50])
def test_vertices_are_joined_if_either_is_near_the_other(n_neighbors: int) -> None:
    X = vectors(30)
    W = dense(local_graph(X, n_neighbors=n_neighbors, sigma=0.3)[0])
    np.testing.assert_allclose(W, similarity_by_loops(X, n_neighbors, 0.3), atol=1e-9)


def test_without_sigma_it_is_estimated() -> None:
    X = vectors(30)
    W = dense(local_graph(X, n_neighbors=3, sigma=None)[0])
    np.testing.assert_allclose(W, similarity_by_loops(X, 3, estimate_sigma(X)), atol=1e-9)


@pytest.mark.parametrize("lam", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("max_factored", [60, 0])
def test_the_factor_and_conjugate_gradients_find_the_dense_solution(
    lam: float, max_factored: int
) -> None:
    X, B = vectors(60), vectors(60, seed=1)
    n = np.random.default_rng(2).integers(1, 9, 60).astype(float)
    W = local_graph(X, n_neighbors=5, sigma=0.4)[0]
    expected = np.linalg.solve(np.diag(n) + lam * full_laplacian(dense(W)), n[:, None] * B)
    solution = solve_on_graph(
        W, B, counts=np.ones(60), evidence=n, lam=lam, max_factored=max_factored
    )
    assert solution.converged
    np.testing.assert_allclose(solution.values, expected, atol=1e-4)


def test_a_vertex_with_a_count_stands_for_equal_instances() -> None:
    X, B = vectors(20), vectors(20, seed=1)
    repeats = np.arange(20) % 3 + 1
    counts, n = repeats.astype(float), np.linspace(1, 4, 20)
    W = local_graph(X, n_neighbors=4, sigma=0.4)[0]
    member = np.repeat(np.arange(20), repeats)
    A = np.diag(n[member]) + 5 * full_laplacian(dense(W)[np.ix_(member, member)])
    expected = np.linalg.solve(A, (n[:, None] * B)[member])
    root = np.sqrt(counts)[:, None]
    solution = solve_on_graph(W, B * root, counts=counts, evidence=n, lam=5.0).values / root
    np.testing.assert_allclose(solution[member], expected, atol=1e-4)


def test_values_stay_nonnegative() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 5))
    B = (rng.random((200, 40)) < 0.02).astype(float)
    W = local_graph(X, n_neighbors=3, sigma=None)[0]
    solution = solve_on_graph(W, B, counts=np.ones(200), evidence=np.ones(200), lam=10.0).values
    assert solution.min() >= 0.0


def test_the_right_hand_side_is_not_changed() -> None:
    X, B = vectors(10), np.ascontiguousarray(vectors(10, seed=1))
    before = B.copy()
    W = local_graph(X, n_neighbors=2, sigma=None)[0]
    solve_on_graph(W, B, counts=np.ones(10), evidence=np.ones(10), lam=10.0)
    assert B.tolist() == before.tolist()


S = np.array([0.5, 0.1, 0.0, 0.9, 1.0])


@pytest.mark.parametrize("sigma", [0.3, None])
@pytest.mark.parametrize("n_neighbors", [None, 4])
def test_a_smoother_solves_the_closed_form_with_evidence(
    sigma: float | None, n_neighbors: int | None
) -> None:
    X, B, n = vectors(25), vectors(25, seed=1), np.linspace(0.5, 6, 25)
    weighted = X * np.sqrt(S)
    W = similarity_by_loops(weighted, n_neighbors or 24, sigma or estimate_sigma(weighted))
    expected = np.linalg.solve(np.diag(n) + 3 * full_laplacian(W), n[:, None] * B)
    smoother = make_smoother(3.0, sigma, n_neighbors)
    solution = smoother.solve(X, S, B, np.ones(25), n).values
    np.testing.assert_allclose(solution, expected, atol=1e-9 if n_neighbors is None else 1e-4)


def test_with_all_as_neighbors_the_local_graph_is_the_dense_one() -> None:
    X, B, ones = vectors(25), vectors(25, seed=1), np.ones(25)
    dense_graph = make_smoother(3.0, 0.3).solve(X, S, B, ones, ones).values
    local = make_smoother(3.0, 0.3, 24).solve(X, S, B, ones, ones).values
    np.testing.assert_allclose(local, dense_graph, atol=1e-4)


def test_much_evidence_leaves_an_instance_unchanged() -> None:
    X, B = vectors(25), vectors(25, seed=1)
    n = np.ones(25)
    n[7] = 1e9
    for smoother in (make_smoother(10.0, 0.3), make_smoother(10.0, 0.3, 5)):
        solution = smoother.solve(X, S, B, np.ones(25), n).values
        np.testing.assert_allclose(solution[7], B[7], atol=1e-6)
        assert np.abs(solution[8] - B[8]).max() > 0.1
