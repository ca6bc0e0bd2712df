import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from mhpc.methods.mhpc import make_smoother
from mhpc.methods.mhpc.knn import local_similarity, solve_local
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.numerics.neighbors import nearest, reach


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


@pytest.mark.parametrize("cells", [1, 100, 1 << 22], ids=["rows", "blocks", "at once"])
@pytest.mark.parametrize("count", [1, 4, 30, 99])
def test_nearest_is_what_sorting_all_distances_gives(
    cells: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mhpc.numerics.neighbors._DISTANCE_CELLS", cells)
    X = vectors(31)
    near, far = nearest(X, count)
    assert near.tolist() == nearest_by_loops(X, count)
    np.testing.assert_allclose(far, np.sort(cdist(X, X), axis=1)[:, 1 : 1 + count], atol=1e-7)


@given(arrays(float, (12, 2), elements=st.integers(0, 2)), st.integers(1, 11))
def test_of_rows_equally_far_the_earlier_is_nearer(X: FloatArray, count: int) -> None:
    # On a grid of nine points most distances are tied, and all are exact.
    assert nearest(X, count)[0].tolist() == nearest_by_loops(X, count)


@pytest.mark.parametrize("rows", [0, 1])
def test_who_is_alone_has_no_neighbours(rows: int) -> None:
    near, far = nearest(vectors(rows), 3)
    assert near.shape == far.shape == (rows, 0)
    assert dense(local_similarity(vectors(rows), neighbours=3, sigma=None)).tolist() == (
        np.eye(rows).tolist()
    )


def test_the_reach_is_the_mean_distance_to_the_15_nearest() -> None:
    X = vectors(40)
    expected = np.mean([[distance(X, i, j) for j in near] for i, near in
                        enumerate(nearest_by_loops(X, 15))])  # fmt: skip
    assert reach(X) == pytest.approx(expected)


def test_where_all_are_alike_any_reach_will_do() -> None:
    assert reach(np.ones((5, 3))) == 1.0


@pytest.mark.parametrize("neighbours", [1, 3, 29, 50])
def test_similarity_joins_whoever_is_near_to_the_other(neighbours: int) -> None:
    X = vectors(30)
    found = dense(local_similarity(X, neighbours=neighbours, sigma=0.3))
    np.testing.assert_allclose(found, similarity_by_loops(X, neighbours, 0.3), atol=1e-9)


def test_without_sigma_similarity_falls_with_the_reach_of_the_data() -> None:
    X = vectors(30)
    found = dense(local_similarity(X, neighbours=3, sigma=None))
    np.testing.assert_allclose(found, similarity_by_loops(X, 3, reach(X)), atol=1e-9)


@pytest.mark.parametrize("lam", [0.0, 1.0, 30.0])
def test_conjugate_gradients_find_what_a_dense_solve_finds(lam: float) -> None:
    X, B = vectors(60), vectors(60, seed=1)
    n = np.random.default_rng(2).integers(1, 9, 60).astype(float)
    W = local_similarity(X, neighbours=5, sigma=0.4)
    expected = np.linalg.solve(np.diag(n) + lam * full_laplacian(dense(W)), n[:, None] * B)
    found = solve_local(W, B, counts=np.ones(60), evidence=n, lam=lam)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_vertex_with_a_count_stands_for_instances_that_are_equal() -> None:
    X, B = vectors(20), vectors(20, seed=1)
    repeats = np.arange(20) % 3 + 1
    counts, n = repeats.astype(float), np.linspace(1, 4, 20)
    W = local_similarity(X, neighbours=4, sigma=0.4)
    every = np.repeat(np.arange(20), repeats)
    A = np.diag(n[every]) + 5 * full_laplacian(dense(W)[np.ix_(every, every)])
    expected = np.linalg.solve(A, (n[:, None] * B)[every])
    root = np.sqrt(counts)[:, None]
    found = solve_local(W, B * root, counts=counts, evidence=n, lam=5.0) / root
    np.testing.assert_allclose(found[every], expected, atol=1e-4)


def test_values_that_are_not_negative_stay_so() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 5))
    B = (rng.random((200, 40)) < 0.02).astype(float)
    W = local_similarity(X, neighbours=3, sigma=None)
    found = solve_local(W, B, counts=np.ones(200), evidence=np.ones(200), lam=10.0)
    assert found.min() >= 0.0


def test_the_right_hand_side_is_left_as_it_was() -> None:
    X, B = vectors(10), np.ascontiguousarray(vectors(10, seed=1))
    before = B.copy()
    W = local_similarity(X, neighbours=2, sigma=None)
    solve_local(W, B, counts=np.ones(10), evidence=np.ones(10), lam=10.0)
    assert B.tolist() == before.tolist()


S = np.array([0.5, 0.1, 0.0, 0.9, 1.0])


@pytest.mark.parametrize("sigma", [0.3, None])
@pytest.mark.parametrize("neighbours", [None, 4])
def test_a_smoother_solves_the_closed_form_with_evidence(
    sigma: float | None, neighbours: int | None
) -> None:
    X, B, n = vectors(25), vectors(25, seed=1), np.linspace(0.5, 6, 25)
    weighted = X * np.sqrt(S)
    W = similarity_by_loops(weighted, neighbours or 24, sigma or reach(weighted))
    expected = np.linalg.solve(np.diag(n) + 3 * full_laplacian(W), n[:, None] * B)
    smoother = make_smoother(3.0, sigma, neighbours)
    found = smoother.solve(X, S, B, counts=np.ones(25), evidence=n)
    np.testing.assert_allclose(found, expected, atol=1e-9 if neighbours is None else 1e-4)


def test_with_everyone_as_a_neighbour_the_local_graph_is_the_dense_one() -> None:
    X, B, ones = vectors(25), vectors(25, seed=1), np.ones(25)
    dense_one = make_smoother(3.0, 0.3).solve(X, S, B, counts=ones, evidence=ones)
    local_one = make_smoother(3.0, 0.3, 24).solve(X, S, B, counts=ones, evidence=ones)
    np.testing.assert_allclose(local_one, dense_one, atol=1e-4)


def test_much_evidence_leaves_an_instance_alone() -> None:
    X, B = vectors(25), vectors(25, seed=1)
    n = np.ones(25)
    n[7] = 1e9
    for smoother in (make_smoother(10.0, 0.3), make_smoother(10.0, 0.3, 5)):
        found = smoother.solve(X, S, B, counts=np.ones(25), evidence=n)
        np.testing.assert_allclose(found[7], B[7], atol=1e-6)
        assert np.abs(found[8] - B[8]).max() > 0.1
