"""MHPC against the plain implementation of the paper, and its equations one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import beta, binomtest

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.errors import ConvergenceWarning, ParameterError, TooLargeError
from mhpc.methods.memory import check_memory
from mhpc.methods.mhpc.algorithm import (
    clopper_pearson_lower,
    closed_form_matrix,
    degrees,
    reference_mhpc,
    similarity,
)
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.system.memory import use_memory_budget
from mhpc.system.parallel import limit_threads
from tests.fixtures.build import DAG, panel_of
from tests.fixtures.local_mhpc import local_mhpc


def reference(panel: Panel, method: mhpc.MHPC, *, max_iter: int | None = None) -> list[FloatArray]:
    """Return Y after every solve of the plain implementation, with the method's parameters."""
    assert method.sigma is not None
    assert method.votes != "each"
    return reference_mhpc(
        panel, lam=method.lam, sigma=method.sigma, alpha=method.alpha, votes=method.votes,
        graph=method.graph, average=method.average, anchor=method.anchor,
        max_iter=method.max_iter if max_iter is None else max_iter,
    )  # fmt: skip


def small_panel(*, seed: int, instances: int = 25, sources: int = 3) -> Panel:
    """Votes on a DAG, with scores, missing answers and "none of these"; repeated answered."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, str, str | None, float]] = []
    for i in range(instances):
        for s in range(sources):
            if s and rng.random() < 0.3:
                continue
            labels = [k for k in DAG if rng.random() < 0.3]
            rows += [(f"x{i}", f"s{s}", k, rng.choice([0.5, 1.0])) for k in labels]
            rows += [(f"x{i}", f"s{s}", None, 1.0)] if not labels else []
    return panel_of(rows, DAG)


@pytest.mark.parametrize("anchor", ["mean", "previous"])
@pytest.mark.parametrize("votes", ["raw", "augmented"])
@pytest.mark.parametrize("graph", [None, "raw", "augmented"])
@pytest.mark.parametrize("average", ["answers", "all-sources"])
def test_every_variant_equals_the_reference(
    anchor: Any, votes: Any, graph: Any, average: Any
) -> None:
    panel = small_panel(seed=1)
    method = mhpc.MHPC(
        lam=10, sigma=0.3, anchor=anchor, votes=votes, graph=graph, average=average,
        tol=0, max_iter=3,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        consolidation = method.consolidate(panel)
    np.testing.assert_allclose(dense(consolidation.score), reference(panel, method)[-1], atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.floats(0, 100), st.floats(0.01, 10), st.integers(1, 30),
    st.integers(1, 4),
)  # fmt: skip
def test_one_solve_equals_the_reference(
    seed: int, lam: float, sigma: float, instances: int, sources: int
) -> None:
    panel = small_panel(seed=seed, instances=instances, sources=sources)
    method = mhpc.MHPC(lam=lam, sigma=sigma, max_iter=0)
    consolidation = method.consolidate(panel)
    np.testing.assert_allclose(dense(consolidation.score), reference(panel, method)[-1], atol=1e-9)


def test_as_published_has_the_papers_choices() -> None:
    paper = mhpc.MHPC.as_published(lam=25)
    assert (paper.votes, paper.graph, paper.average, paper.anchor, paper.lam) == (
        "raw", None, "all-sources", "previous", 25,
    )  # fmt: skip


def test_simulated_yeast_votes_equal_the_reference(data_folder: Path) -> None:
    file = data_folder / "yeast_funcat" / "cellcycle_FUN.valid.arff.gz"
    taxonomy, truth = mhpc.read_taxonomy(file), mhpc.read_truth(file)
    votes = mhpc.simulate(truth, taxonomy, [mhpc.Profile()] * 4, seed=0)
    panel = mhpc.encode(votes, taxonomy)
    method = mhpc.MHPC(lam=10, sigma=0.3)
    consolidation = method.consolidate(panel)
    solves = reference(panel, method, max_iter=len(consolidation.trace) - 1)
    np.testing.assert_allclose(dense(consolidation.score), solves[-1], atol=1e-8)


def test_lambda_zero_is_averaging() -> None:
    panel = small_panel(seed=2)
    consolidation = mhpc.MHPC(lam=0).consolidate(panel)
    np.testing.assert_allclose(
        dense(consolidation.score), dense(panel.mean("raw", "answers")), atol=1e-14
    )


def test_a_large_lambda_makes_all_instances_one_popularity_vector() -> None:
    panel = small_panel(seed=3)
    spread = mhpc.MHPC(lam=1e9, max_iter=0).consolidate(panel).trace[-1].spread
    assert spread < 0.3 * mhpc.MHPC(lam=1, max_iter=0).consolidate(panel).trace[-1].spread


def test_a_tiny_sigma_leaves_the_mean_answers() -> None:
    panel = small_panel(seed=4)
    consolidation = mhpc.MHPC(sigma=1e-9, max_iter=0).consolidate(panel)
    mean = dense(panel.mean("raw", "answers"))
    np.testing.assert_allclose(dense(consolidation.score), mean, atol=1e-12)


def test_the_trace_has_change_and_spread_of_every_solve() -> None:
    panel = small_panel(seed=5)
    method = mhpc.MHPC(lam=3, sigma=0.5, tol=0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        consolidation = method.consolidate(panel)
    solves = reference(panel, method)
    mean = dense(panel.mean("raw", "answers"))
    assert [step.iteration for step in consolidation.trace] == [0, 1, 2]
    before = [mean, *solves[:-1]]
    for step, Y, Y_before in zip(consolidation.trace, solves, before, strict=True):
        change = np.linalg.norm(Y - Y_before) / np.linalg.norm(Y_before)
        assert step.change == pytest.approx(change, rel=1e-8)
        spread = np.linalg.norm(Y - Y.mean(0)) / np.linalg.norm(mean - mean.mean(0))
        assert step.spread == pytest.approx(spread, rel=1e-8)
    assert not consolidation.converged


def test_the_iteration_stops_at_the_first_change_below_tol() -> None:
    consolidation = mhpc.MHPC(lam=1, sigma=1, tol=1e-3, max_iter=50).consolidate(
        small_panel(seed=5)
    )
    changes = [step.change for step in consolidation.trace]
    assert consolidation.converged
    assert len(changes) < 51
    assert changes[-1] < 1e-3 <= min(changes[:-1])


def test_the_objective_of_the_first_solve_is_the_papers_cost() -> None:
    panel = small_panel(seed=6)
    method = mhpc.MHPC(lam=3, sigma=0.5, max_iter=0)
    consolidation = method.consolidate(panel)
    Y = dense(consolidation.score)
    votes, n_answers = dense(panel.raw), panel.answers_per_instance
    fit = sum(np.sum((Y[i] - votes[a]) ** 2) / n_answers[i] for a, i in enumerate(panel.instance))
    mean = dense(panel.mean("raw", "answers"))
    C = dense(panel.augmented).sum(axis=0)
    S = np.nan_to_num(beta.ppf(0.025, C, len(panel.instance) - C + 1))
    W = np.exp(-cdist(mean, mean, "euclidean", w=S) / 0.5)
    d = W.sum(axis=1)
    L = np.eye(len(d)) - W / np.sqrt(np.outer(d, d))
    assert consolidation.trace[0].objective == pytest.approx(
        fit + 3 * np.trace(Y.T @ L @ Y), rel=1e-9
    )


def test_the_previous_solution_as_anchor_makes_instances_equal() -> None:
    panel = small_panel(seed=7)
    with pytest.warns(ConvergenceWarning):
        previous = mhpc.MHPC(anchor="previous", tol=0, max_iter=5).consolidate(panel)
    with pytest.warns(ConvergenceWarning):
        mean = mhpc.MHPC(anchor="mean", tol=0, max_iter=5).consolidate(panel)
    assert previous.trace[-1].spread < 0.01 < mean.trace[-1].spread


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": -1}, "lam = -1 is not allowed; give number >= 0"),
        ({"sigma": 0}, "sigma = 0 is not allowed; give number > 0"),
        ({"alpha": 1}, "alpha = 1 is not allowed; give number >= 1e-12, < 1"),
        ({"anchor": "median"}, "anchor = 'median' is not allowed; give previous | mean"),
        ({"lamda": 1}, "no parameter 'lamda' \\(nearest: 'lam'\\)"),
        ({"lam": float("nan")}, "lam = nan is not allowed"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        mhpc.MHPC(**parameters)


def test_a_graph_that_does_not_fit_in_memory_is_refused() -> None:
    with (
        use_memory_budget(1),
        pytest.raises(
            TooLargeError, match="25 instances and 5 labels needs .*dense graph.*solver=graph"
        ),
    ):
        check_memory(local_mhpc(solver="exact"), SinglePartition(small_panel(seed=8)))


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.01, 0.05, 0.5]))
def test_support_is_the_lower_bound_of_the_exact_interval(
    occurrences: int, failures: int, alpha: float
) -> None:
    trials = occurrences + failures
    exact = binomtest(occurrences, trials).proportion_ci(1 - alpha, method="exact")
    support = clopper_pearson_lower(
        np.array([float(occurrences)]), np.array([float(trials)]), alpha=alpha
    )
    assert support[0] == pytest.approx(exact.low, abs=1e-12)


def test_a_label_in_every_answer_has_support_below_one() -> None:
    support = clopper_pearson_lower(np.array([10.0]), np.array([10.0]), alpha=0.05)
    assert support[0] == pytest.approx(0.025 ** (1 / 10))


def test_support_grows_with_occurrences_and_with_trials_at_the_same_share() -> None:
    by_occurrences = clopper_pearson_lower(np.array([1.0, 2.0, 5.0]), np.full(3, 10.0), alpha=0.05)
    assert (np.diff(by_occurrences) > 0).all()
    by_trials = clopper_pearson_lower(np.array([5.0, 50.0]), np.array([10.0, 100.0]), alpha=0.05)
    assert by_trials[0] < by_trials[1] < 0.5


def test_a_label_that_nobody_gave_has_no_support() -> None:
    assert clopper_pearson_lower(np.array([0.0]), np.array([0.0]), alpha=0.05).tolist() == [0.0]


def full_laplacian(W: FloatArray) -> FloatArray:
    """Return L of equation 3."""
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


def test_similarity_in_blocks_is_the_same_for_any_number_of_threads() -> None:
    Y, S = vectors(50), np.array([0.5, 0.1, 0.0, 0.9, 0.2, 0.3, 1.0])
    lower, results = np.tril_indices(50), []
    for threads in (1, 2, 3):
        with limit_threads(threads):
            W = similarity(Y, S, sigma=0.3, block_rows=7, strip_rows=3, max_direct=10)
        results.append(W[lower])
    np.testing.assert_allclose(results[0], similarity(Y, S, sigma=0.3)[lower], rtol=1e-12)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


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
    matrix = closed_form_matrix(np.tril(W), np.ones(150), lam=lam)
    np.testing.assert_allclose(matrix[lower], expected[lower], atol=1e-12)


def test_degrees_need_the_lower_triangle_only() -> None:
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
    repeated = np.repeat(Y_bar, repeats, axis=0)
    W = np.exp(-cdist(repeated, repeated))
    expected = np.linalg.solve(np.eye(len(W)) + 5 * full_laplacian(W), repeated)
    weight = repeats.astype(float)
    root = np.sqrt(weight)[:, None]
    A = closed_form_matrix(np.tril(np.exp(-cdist(Y_bar, Y_bar))), weight, lam=5.0)
    reduced = solve_positive_definite(A, Y_bar * root) / root
    np.testing.assert_allclose(np.repeat(reduced, repeats, axis=0), expected, atol=1e-12)
