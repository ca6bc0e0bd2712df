"""All solvers agree on badly conditioned graphs, and with elimination without rounding."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from mhpc.errors import ConvergenceWarning
from mhpc.methods.mhpc.algorithm import MAX_LAM, closed_form_matrix
from mhpc.methods.mhpc.exact import make_smoother
from mhpc.methods.mhpc.fitted import InstanceRows, distinct_vertices
from mhpc.methods.mhpc.knn import graph_of_nearest, solve_on_graph
from mhpc.methods.mhpc.landmarks import solve_extension
from mhpc.numerics.arrays import FloatArray
from mhpc.numerics.cholesky import solve_positive_definite

FACTOR = 1e-6
"""The allowed error of a factor, relative to the largest value, at the largest lambda: the
condition number 2e8 times the machine precision, and a little more."""

STEPS = 1e-4
"""The allowed error of conjugate gradients, which stop at a residual of 1e-5."""


def solved_by_fractions(
    W: FloatArray, B: FloatArray, counts: FloatArray, evidence: FloatArray, lam: float
) -> FloatArray:
    """Solve (n + lambda L) Z = n B by elimination without rounding; B is scaled by sqrt(counts).

    With z = Z / sqrt(c d), row i of the system is n z_i + lambda / d_i sum_j c_j w_ij (z_i - z_j)
    times what both sides share, which needs no root.
    """
    V = len(W)
    w = [[Fraction(float(W[i, j])) for j in range(V)] for i in range(V)]
    c, n = [[Fraction(float(x)) for x in values] for values in (counts, evidence)]
    d = [sum((c[j] * w[i][j] for j in range(V)), Fraction(0)) for i in range(V)]
    root = np.sqrt(counts * np.array([float(x) for x in d]))
    A = [[-Fraction(lam) * c[j] * w[i][j] / d[i] for j in range(V)] for i in range(V)]
    for i in range(V):
        A[i][i] += n[i] + Fraction(lam)
    b = [[n[i] * Fraction(float(x)) for x in B[i] / root[i]] for i in range(V)]
    for i in range(V):
        for r in range(i + 1, V):
            by = A[r][i] / A[i][i]
            A[r] = [x - by * y for x, y in zip(A[r], A[i], strict=True)]
            b[r] = [x - by * y for x, y in zip(b[r], b[i], strict=True)]
    z: list[list[Fraction]] = [[] for _ in range(V)]
    for i in reversed(range(V)):
        substituted = [
            sum((A[i][j] * z[j][k] for j in range(i + 1, V)), Fraction(0)) for k in (0, 1)
        ]
        z[i] = [(b[i][k] - substituted[k]) / A[i][i] for k in (0, 1)]
    return np.asarray(np.array([[float(x) for x in row] for row in z]) * root[:, None])


def graph_of(*edges: tuple[int, int, float], vertices: int = 7) -> FloatArray:
    W = np.eye(vertices)
    for i, j, weight in edges:
        W[i, j] = W[j, i] = weight
    return W


_RNG = np.random.default_rng(0)
_ANY = _RNG.random((7, 7))

GRAPHS = {
    "complete": np.maximum(_ANY, _ANY.T) * (1 - np.eye(7)) + np.eye(7),
    "nearly disconnected": graph_of((0, 1, 0.9), (1, 2, 0.8), (2, 3, 1e-12), (3, 4, 0.7)),
    "isolated vertices": graph_of((0, 1, 0.5)),
    "all isolated": np.eye(7),
    "duplicate rows": np.ones((7, 7)),
    "weights from 1e-12 to 1e12": graph_of(
        (0, 1, 1e12), (1, 2, 1.0), (2, 3, 1e-12), (3, 4, 1e-6), (4, 5, 1e6), (5, 6, 1e-3)
    ),
    "a star": graph_of(*((0, j, 10.0**-j) for j in range(1, 7))),
}

COUNTS = np.array([1.0, 3.0, 1.0, 1000.0, 2.0, 1.0, 5.0])
ONES = np.ones(7)
VALUES = np.array([[1.0, 0], [0, 1], [1, 1], [0.5, 0], [0, 0], [1, 0], [0, 0.25]])


@pytest.mark.parametrize("lam", [0.0, 1e-300, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("counts", [ONES, COUNTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("name", GRAPHS)
def test_all_solvers_give_what_elimination_without_rounding_gives(
    name: str, counts: FloatArray, lam: float
) -> None:
    W, B = GRAPHS[name], VALUES * np.sqrt(counts)[:, None]
    true = solved_by_fractions(W, B, counts, ONES, lam)
    size = np.abs(B).max()
    closed = solve_positive_definite(closed_form_matrix(np.tril(W), counts, lam=lam), B)
    np.testing.assert_allclose(closed, true, atol=FACTOR * size, rtol=0)
    for max_factored, tolerance in ((len(W), FACTOR), (0, STEPS)):
        solution = solve_on_graph(
            sparse.csr_array(W), B, counts=counts, evidence=ONES, lam=lam, max_factored=max_factored
        )
        np.testing.assert_allclose(solution.values, true, atol=tolerance * size, rtol=0)


def test_too_few_conjugate_gradient_steps_give_a_warning() -> None:
    W = sparse.csr_array(GRAPHS["a star"])
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps.*lower lam"):
        solution = solve_on_graph(
            W, VALUES, counts=ONES, evidence=ONES, lam=1e8, max_factored=0, max_steps=2
        )
    assert not solution.converged


@pytest.mark.parametrize("lam", [1e8, 1e16, 1e300])
def test_lambda_beyond_the_maximum_counts_as_the_maximum(lam: float) -> None:
    W = GRAPHS["complete"]
    B = VALUES.copy()
    solution = solve_positive_definite(closed_form_matrix(np.tril(W), ONES, lam=lam), B)
    # What is left is the null space of the Laplacian: the root of the degree.
    root = np.sqrt(W.sum(axis=1))[:, None]
    np.testing.assert_allclose(solution, root * (root.T @ B) / (root.T @ root), atol=10 / MAX_LAM)


@pytest.mark.parametrize("n_neighbors", [None, 6])
@pytest.mark.parametrize("sigma", [5e-324, 1e-300, 1e-12])
def test_with_a_vanishing_sigma_only_equal_rows_are_similar(
    sigma: float, n_neighbors: int | None
) -> None:
    solution = (
        make_smoother(5.0, sigma, n_neighbors).solve(VALUES, np.ones(2), VALUES, ONES, ONES).values
    )
    np.testing.assert_allclose(solution, VALUES, atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 6])
def test_with_an_infinite_sigma_all_rows_are_equally_similar(n_neighbors: int | None) -> None:
    lam = 5.0
    solution = (
        make_smoother(lam, 1e300, n_neighbors).solve(VALUES, np.ones(2), VALUES, ONES, ONES).values
    )
    mean = VALUES.mean(axis=0)
    np.testing.assert_allclose(solution, (VALUES + lam * mean) / (1 + lam), atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 3])
def test_without_rows_the_solution_is_empty(n_neighbors: int | None) -> None:
    no_rows = np.zeros((0, 2))
    solution = (
        make_smoother(1.0, None, n_neighbors)
        .solve(no_rows, np.ones(2), no_rows, np.zeros(0), np.zeros(0))
        .values
    )
    assert solution.shape == (0, 2)


@pytest.mark.parametrize("lam", [1.0, 1e8, 1e300])
@pytest.mark.parametrize("sigma", [5e-324, 0.3, 1e300])
def test_an_instance_far_from_all_landmarks_keeps_its_own_value(lam: float, sigma: float) -> None:
    def graph_rows(X: FloatArray) -> InstanceRows:
        return InstanceRows(sparse.csr_array(X), sparse.csr_array(X), np.ones(len(X)))

    extension, _ = solve_extension(
        distinct_vertices(graph_rows(VALUES)), n_neighbors=3, sigma=sigma, lam=lam
    )
    far = np.array([[1e6, 0.0]])
    solution = extension.solve(graph_rows(far))
    assert np.isfinite(solution).all()
    if sigma < 1:
        np.testing.assert_allclose(solution, far)


def test_similarities_of_zero_join_nothing() -> None:
    near, far = np.array([[1], [0], [1]]), np.full((3, 1), np.inf)
    W, _ = graph_of_nearest(near, far, n_neighbors=1, sigma=1.0)
    solution = solve_on_graph(W, VALUES[:3], counts=ONES[:3], evidence=ONES[:3], lam=1e8)
    np.testing.assert_allclose(solution.values, VALUES[:3], atol=1e-6)
