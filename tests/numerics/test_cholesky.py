import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mhpc.methods.mhpc.algorithm import closed_form_matrix, degrees, similarity
from mhpc.numerics.arrays import FloatArray
from mhpc.numerics.cholesky import solve_positive_definite


def full_laplacian(W: FloatArray) -> FloatArray:
    """Equation 3 as it stands."""
    D = np.diag(W.sum(axis=1))
    half = np.diag(1 / np.sqrt(W.sum(axis=1)))
    return np.asarray(half @ (D - W) @ half)


def vectors(rows: int, *, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).random((rows, 7))


@pytest.mark.parametrize("rows", [1, 5, 130, 300])
def test_similarity_is_equation_7(rows: int) -> None:
    Y, S = vectors(rows), np.array([0.5, 0.1, 0.0, 0.9, 0.2, 0.3, 1.0])
    expected = np.exp(-cdist(Y, Y, "euclidean", w=S) / 0.3)
    lower = np.tril_indices(rows)
    np.testing.assert_allclose(similarity(Y, S, sigma=0.3)[lower], expected[lower], rtol=1e-9)


def test_similarity_to_itself_is_exactly_one() -> None:
    W = similarity(vectors(40), np.ones(7), sigma=1e-3)
    assert (np.diagonal(W) == 1.0).all()


def test_similarity_of_far_vectors_is_zero_and_not_nan() -> None:
    W = similarity(np.array([[0.0], [1.0]]), np.ones(1), sigma=1e-6)
    assert W[1, 0] == 0.0


@pytest.mark.parametrize("lam", [0.0, 1.0, 26.0])
def test_the_closed_form_matrix_is_identity_plus_lambda_laplacian(lam: float) -> None:
    W = np.exp(-cdist(vectors(150), vectors(150)))
    expected = np.eye(150) + lam * full_laplacian(W)
    lower = np.tril_indices(150)
    found = closed_form_matrix(np.tril(W), np.ones(150), lam=lam)
    np.testing.assert_allclose(found[lower], expected[lower], atol=1e-12)


def test_degrees_read_the_lower_triangle_alone() -> None:
    W = np.array([[1.0, np.nan], [0.5, 1.0]])
    assert degrees(W, np.ones(2)).tolist() == [1.5, 1.5]


def test_an_isolated_vertex_keeps_its_value() -> None:
    W = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    A = closed_form_matrix(np.tril(W), np.ones(3), lam=10.0)
    Y = solve_positive_definite(A, np.array([[0.7], [1.0], [0.0]]))
    assert Y[0, 0] == pytest.approx(0.7)


def test_a_vertex_with_a_weight_stands_for_equal_instances() -> None:
    Y_bar = vectors(20)
    repeats = np.arange(20) % 3 + 1
    everyone = np.repeat(Y_bar, repeats, axis=0)
    W = np.exp(-cdist(everyone, everyone))
    expected = np.linalg.solve(np.eye(len(W)) + 5 * full_laplacian(W), everyone)
    weight = repeats.astype(float)
    root = np.sqrt(weight)[:, None]
    A = closed_form_matrix(np.tril(np.exp(-cdist(Y_bar, Y_bar))), weight, lam=5.0)
    reduced = solve_positive_definite(A, Y_bar * root) / root
    np.testing.assert_allclose(np.repeat(reduced, repeats, axis=0), expected, atol=1e-12)


def test_a_matrix_that_is_not_positive_definite_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        solve_positive_definite(-np.eye(3), np.ones((3, 1)))
