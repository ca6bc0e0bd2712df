"""The landmark solver: exact with all instances as landmarks, close to it with some of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.panel import SinglePartition
from mhpc.data.taxonomy import build_taxonomy
from mhpc.encoding.gold import encode_truth
from mhpc.errors import ParameterError, TooLargeError
from mhpc.methods.memory import check_memory
from mhpc.methods.mhpc.fitted import UNREACHED, Solver
from mhpc.methods.source_weights import weight_answers
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import dense
from mhpc.system.memory import use_memory_budget
from tests.fixtures.build import DAG, GARDEN, Row, panel_of, small_panel
from tests.fixtures.local_mhpc import local_mhpc, local_mpcu

BEYOND: dict[str, Any] = {
    "votes": "each", "n_neighbors": 4, "anchor_weight": "answers", "sigma": None,
    "fill_strength": 0.3, "lam": 3.0, "max_iter": 0,
}  # fmt: skip

SOLVERS: tuple[Solver, ...] = ("exact", "graph")


@pytest.mark.parametrize("make", [local_mhpc, local_mpcu])
@pytest.mark.parametrize(
    "parameters",
    [
        BEYOND,
        {**BEYOND, "source_weights": "learned"},
        {**BEYOND, "average": "all-sources"},
        {**BEYOND, "votes": "augmented"},
        {"n_neighbors": 3, "lam": 2.0, "max_iter": 0},
        {"n_neighbors": 3, "lam": 2.0, "max_iter": 0, "graph": "augmented"},
        {"n_neighbors": 3, "lam": 2.0, "max_iter": 0, "votes": "augmented", "graph": "raw"},
    ],
    ids=["beyond", "independent", "all-sources", "augmented", "raw", "on augmented", "on raw"],
)
def test_with_all_instances_as_landmarks_the_solution_is_exact(
    make: Any, parameters: dict[str, Any]
) -> None:
    panel = small_panel(instances=40)
    exact = make(**parameters, solver="exact").consolidate(panel)
    on_landmarks = make(**parameters, solver="graph").consolidate(panel)
    for view in ("closed", "specific"):
        np.testing.assert_allclose(
            dense(on_landmarks.view(view)), dense(exact.view(view)), atol=1e-6
        )


def test_with_scopes_the_solution_is_exact_too() -> None:
    panel = small_panel(instances=40)
    # The first source cannot give e, and its votes for it are dropped.
    scope = np.ones((4, 5))
    scope[0, 4] = 0.0
    is_in_scope = sparse.csr_array(scope[panel.source])
    panel = replace(
        panel,
        scope=sparse.csr_array(scope),
        raw=panel.raw.multiply(is_in_scope).tocsr(),
        augmented=panel.augmented.multiply(is_in_scope).tocsr(),
    )
    exact, on_landmarks = (
        local_mpcu(**BEYOND, solver=solver).consolidate(panel) for solver in SOLVERS
    )
    np.testing.assert_allclose(dense(on_landmarks.score), dense(exact.score), atol=1e-6)


def test_the_default_number_of_neighbors_is_fifteen() -> None:
    panel = small_panel(instances=40)
    default, fifteen = (
        local_mhpc(solver="graph", n_neighbors=n_neighbors).consolidate(panel)
        for n_neighbors in (None, 15)
    )
    assert dense(default.score).tobytes() == dense(fifteen.score).tobytes()


def test_the_graph_is_solved_once_however_many_iterations_are_allowed() -> None:
    panel = small_panel(instances=40)
    without_iterations, with_iterations = (
        local_mhpc(solver="graph", max_iter=max_iter, tol=0).consolidate(panel)
        for max_iter in (0, 9)
    )
    assert dense(without_iterations.score).tobytes() == dense(with_iterations.score).tobytes()
    assert len(with_iterations.trace) == 1
    assert with_iterations.converged


def test_the_trace_equals_that_of_the_exact_solver() -> None:
    panel = small_panel(instances=40)
    exact = local_mpcu(**BEYOND, solver="exact").consolidate(panel).trace[0]
    on_landmarks = local_mpcu(**BEYOND, solver="graph").consolidate(panel).trace[0]
    assert on_landmarks.change == pytest.approx(exact.change)
    assert on_landmarks.spread == pytest.approx(exact.spread)


def test_labels_that_no_path_reaches_are_ranked_by_popularity() -> None:
    # Nothing joins p to the birds; finch is given twice as often as oak.
    rows: list[Row] = [("p", "ann", "monarda"), ("q", "ann", "finch"), ("r", "ann", "finch")]
    rows += [("r", "bob", "oak")]
    method = local_mpcu(solver="graph", sigma=1e-3, n_neighbors=1, lam=1.0)
    scores = dense(method.consolidate(panel_of(rows)).score)[0]
    column = GARDEN.labels.positions
    assert scores[column["finch"]] > scores[column["oak"]] > 0 == scores[column["fuchsia"]]
    assert scores[column["finch"]] == pytest.approx(UNREACHED * 2 / 4)


def test_an_unanswered_instance_scores_zero() -> None:
    for panel in (
        small_panel(instances=40),
        panel_of([("x", "s", None)], DAG, instances=["lonely"]),
    ):
        on_landmarks = local_mpcu(**BEYOND, solver="graph").consolidate(panel)
        assert not dense(on_landmarks.score)[-1].any()
        assert not dense(on_landmarks.specific)[-1].any()


def test_labels_that_nobody_gave_change_nothing() -> None:
    rows: list[Row] = [("x", "s", "b"), ("y", "t", "e"), ("y", "s", "b"), ("z", "s", "e")]
    small = build_taxonomy(["a", "b", "e"], [("b", "a"), ("e", "a")])
    for solver in SOLVERS:
        method = local_mhpc(lam=2, n_neighbors=2, solver=solver, max_iter=0)
        larger = dense(method.consolidate(panel_of(rows, DAG)).score)
        smaller = dense(method.consolidate(panel_of(rows, small)).score)
        np.testing.assert_allclose(larger[:, [0, 1, 4]], smaller, atol=1e-12)
        assert not larger[:, 2:4].any()


def test_few_instances_are_solved_exactly_and_many_on_a_graph() -> None:
    panel = small_panel(instances=40)
    exact = local_mpcu(**BEYOND).consolidate(panel)
    (note,) = exact.notes
    assert note == "The exact solver was used: there are at most 10,000 distinct instances"
    for source_weights in ("equal", "learned"):
        method = local_mpcu(**{**BEYOND, "source_weights": source_weights})
        notes = method.fit(SinglePartition(panel), max_exact=20).notes
        assert notes == (
            "The landmark solver was used: there are more than 20 distinct instances",
            "solved on 40 distinct of 42 landmarks, by a Cholesky factor",
        )


@pytest.mark.parametrize("method", [mhpc.MHPC(), mhpc.MPCU()])
def test_the_papers_methods_solve_many_instances_on_a_graph(
    method: mhpc.MHPC | mhpc.MPCU,
) -> None:
    panel = small_panel(instances=40)
    fitted = method.fit(SinglePartition(panel), max_exact=20)
    assert fitted.notes[0].startswith("The landmark solver")
    local = local_mhpc if isinstance(method, mhpc.MHPC) else local_mpcu
    expected = local(solver="graph", n_neighbors=15).consolidate(panel)
    np.testing.assert_allclose(dense(fitted.predict(panel).score), dense(expected.score))


def test_equal_instances_count_once() -> None:
    panel = panel_of([(f"x{i}", "s", "d") for i in range(10)], DAG)
    fitted = local_mpcu(**BEYOND).fit(SinglePartition(panel), max_exact=3)
    assert fitted.notes == ("The exact solver was used: there are at most 3 distinct instances",)


def test_a_graph_that_does_not_fit_is_solved_on_landmarks_or_refused() -> None:
    panel = small_panel(instances=40)
    with use_memory_budget(1):
        notes = local_mpcu(**BEYOND).consolidate(panel).notes
        assert notes[0].startswith("The landmark solver was used: all instances need 10 kB")
        with pytest.raises(TooLargeError, match="solver=graph"):
            check_memory(local_mpcu(**BEYOND, solver="exact"), SinglePartition(panel))


@pytest.mark.parametrize("parameters", [{"landmarks": 0}, {"solver": "some"}])
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="is not allowed; give"):
        local_mhpc(**parameters)


def test_parameters_that_exclude_each_other_are_refused_when_fitted() -> None:
    with pytest.raises(
        ParameterError, match="fill_strength = 0.3 is not allowed with votes = 'raw'"
    ):
        local_mhpc(fill_strength=0.3).fit(SinglePartition(small_panel(instances=40)))


def test_source_weights_apply_on_the_graph() -> None:
    panel = small_panel(instances=40)
    learned = local_mpcu(**{**BEYOND, "source_weights": "learned"}, solver="graph").consolidate(
        panel
    )
    weighted = local_mpcu(**BEYOND, solver="graph").consolidate(weight_answers(panel))
    np.testing.assert_allclose(dense(learned.score), dense(weighted.score), atol=1e-12)
    ones = replace(panel, weight=np.ones(len(panel.instance)))
    unweighted, all_ones = (
        dense(local_mpcu(**BEYOND, solver="graph").consolidate(votes).score)
        for votes in (panel, ones)
    )
    np.testing.assert_allclose(unweighted, all_ones, atol=1e-12)


def test_half_of_the_instances_as_landmarks_rank_better_than_averaging() -> None:
    garden = mhpc.load_garden()
    votes = mhpc.simulate(garden.truth, garden.taxonomy, [mhpc.Profile(0.8, 0.5)] * 4, seed=0)
    panel = mhpc.encode(votes, garden.taxonomy, instances=garden.truth.instances)
    truth = encode_truth(garden.truth, panel.taxonomy, panel.instances)
    half = len(panel.instances) // 2
    on_landmarks = local_mpcu(**BEYOND, solver="graph", landmarks=half).consolidate(panel)
    averaged = mhpc.SA(votes="augmented").consolidate(panel)

    def loss(scores: Any) -> float:
        return ranking_loss(truth.closed, scores)

    assert loss(on_landmarks.score) < loss(averaged.score)


@pytest.mark.parametrize("sigma", [5e-324, 0.3, 1e300])
@pytest.mark.parametrize("lam", [0.0, 1.0, 1e8, 1e300])
def test_with_all_instances_as_neighbors_every_solver_gives_the_same_scores(
    lam: float, sigma: float
) -> None:
    panel = small_panel()

    def compute_scores(**parameters: Any) -> Any:
        method = local_mpcu(lam=lam, sigma=sigma, max_iter=0, **parameters)
        return dense(method.consolidate(panel).score)

    dense_graph = compute_scores(solver="exact")
    local_graph = compute_scores(solver="exact", n_neighbors=len(panel.instances))
    landmarks = compute_scores(solver="graph", n_neighbors=len(panel.instances))
    np.testing.assert_allclose(local_graph, dense_graph, atol=1e-6)
    np.testing.assert_allclose(landmarks, dense_graph, atol=1e-6)


@pytest.mark.parametrize("method", [mhpc.MHPC, mhpc.MPCU])
def test_sigma_ranges_from_separate_means_to_one_common_mean(
    method: type[mhpc.MHPC] | type[mhpc.MPCU],
) -> None:
    panel = small_panel()
    mean = dense(mhpc.SA().consolidate(panel).score)
    answered = panel.answers_per_instance > 0
    unsmoothed = dense(method(sigma=5e-324).consolidate(panel).score)
    np.testing.assert_allclose(unsmoothed, mean, atol=1e-12)
    smoothed = dense(method(sigma=1e300, lam=4.0).consolidate(panel).score)
    common = mean[answered].mean(axis=0)
    np.testing.assert_allclose(smoothed[answered], (mean[answered] + 4 * common) / 5, atol=1e-12)
