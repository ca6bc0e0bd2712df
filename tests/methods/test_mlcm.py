from typing import Literal

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.errors import ConvergenceWarning
from mhpc.methods.base import predict_scores
from mhpc.methods.mlcm import find_groups, is_faster_to_solve, solve_consensus
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.system.memory import use_memory_budget
from tests.fixtures.build import GARDEN, Row, panel_of

ROWS: list[Row] = [
    ("p1", "ann", "monarda"),
    ("p1", "bob", "flower"),
    ("p2", "ann", "monarda", 0.5),
    ("p2", "cid", "bird"),
    ("p3", "bob", "oak"),
    ("p4", "cid", None),
]


def alternate_by_loops(panel: Panel, alpha: float, rounds: int) -> FloatArray:
    """The two updates of MLCM-r, group by group and instance by instance."""
    K = len(panel.taxonomy)
    votes = panel.raw.tocoo()
    members: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for answer, label, score in zip(votes.row, votes.col, votes.data, strict=True):
        group = (int(panel.source[answer]), int(label))
        members.setdefault(group, []).append((int(panel.instance[answer]), score))
    q = {group: np.eye(K)[group[1]] for group in members}
    u = np.zeros((len(panel.instances), K))
    for _ in range(rounds + 1):
        for i in range(len(u)):
            votes_of_instance = [
                (a, q[g]) for g, instances in members.items() for j, a in instances if j == i
            ]
            if votes_of_instance:
                u[i] = sum(a * v for a, v in votes_of_instance) / sum(
                    a for a, _ in votes_of_instance
                )
        for group, instances in members.items():
            own = alpha * np.eye(K)[group[1]]
            total = sum(a * u[i] for i, a in instances)
            q[group] = (total + own) / (sum(a for _, a in instances) + alpha)
    return u


def test_mlcm_agrees_with_updating_one_vertex_after_the_other() -> None:
    panel = panel_of(ROWS)
    with pytest.warns(ConvergenceWarning):
        consolidation = mhpc.MLCM(alpha=1.5, solver="alternate", tol=0, max_iter=4).consolidate(
            panel
        )
    np.testing.assert_allclose(
        dense(consolidation.score), alternate_by_loops(panel, 1.5, 4), atol=1e-12
    )


@pytest.mark.parametrize("solver", ["exact", "alternate"])
def test_mlcm_converges_to_a_fixed_point(solver: Literal["exact", "alternate"]) -> None:
    panel = panel_of(ROWS)
    consolidation = mhpc.MLCM(solver=solver, tol=1e-12, max_iter=5000).consolidate(panel)
    assert consolidation.converged
    np.testing.assert_allclose(
        dense(consolidation.score), alternate_by_loops(panel, 2.0, 500), atol=1e-9
    )


def test_labels_given_to_the_same_instances_come_to_mean_the_same() -> None:
    # ann gives monarda wherever bob gives flower, so p2, which only bob answered, gains monarda.
    rows: list[Row] = [(f"p{n}", "ann", "monarda") for n in range(2)]
    rows += [(f"p{n}", "bob", "flower") for n in range(3)]
    scores = dense(mhpc.MLCM().consolidate(panel_of(rows)).score)
    assert scores[2, GARDEN.labels.positions["monarda"]] > 0.1


def test_the_trace_has_the_change_and_spread_of_every_iteration() -> None:
    panel = panel_of(ROWS)
    with pytest.warns(ConvergenceWarning):
        consolidation = mhpc.MLCM(solver="alternate", tol=0, max_iter=3).consolidate(panel)
    rounds = [alternate_by_loops(panel, 2.0, n) for n in range(4)]
    centred = [u - u.mean(axis=0) for u in rounds]
    for n, step in enumerate(consolidation.trace):
        assert step.iteration == n
        change = np.linalg.norm(rounds[n + 1] - rounds[n]) / np.linalg.norm(rounds[n])
        assert step.change == pytest.approx(change)
        spread = np.linalg.norm(centred[n + 1]) / np.linalg.norm(centred[0])
        assert step.spread == pytest.approx(spread)


def many_rows() -> list[Row]:
    rng = np.random.default_rng(6)
    return [
        (f"p{i}", f"s{s}", str(rng.choice(list(GARDEN))), float(rng.choice([0.4, 1.0])))
        for i in range(40)
        for s in range(4)
        if rng.random() < 0.8
    ]


@pytest.mark.parametrize("solver", ["exact", "alternate"])
def test_results_do_not_depend_on_how_instances_are_divided(
    solver: Literal["exact", "alternate"],
) -> None:
    panel, method = panel_of(many_rows(), instances=["unanswered"]), mhpc.MLCM(solver=solver)
    undivided = method.consolidate(panel)
    fitted = method.fit(SinglePartition(panel, max_instances=7))
    divided = predict_scores(method, fitted, panel, max_instances=7)
    np.testing.assert_allclose(dense(divided.score), dense(undivided.score), atol=1e-12)
    for step, expected in zip(divided.trace, undivided.trace, strict=True):
        assert (step.change, step.spread) == pytest.approx(
            (expected.change, expected.spread), abs=1e-12
        )


def test_the_solution_does_not_depend_on_the_width_of_strips() -> None:
    partitions = SinglePartition(panel_of(many_rows()))
    groups = find_groups(partitions)
    wide, narrow = (
        solve_consensus(partitions, groups, alpha=2.0, strip_cells=cells) for cells in (1 << 23, 50)
    )
    np.testing.assert_allclose(narrow, wide, atol=1e-12)


def test_the_iteration_converges_to_the_solution_of_the_linear_system() -> None:
    panel = panel_of(many_rows())
    exact = mhpc.MLCM(solver="exact").consolidate(panel)
    iterated = mhpc.MLCM(solver="alternate", tol=1e-13, max_iter=5000).consolidate(panel)
    np.testing.assert_allclose(dense(iterated.score), dense(exact.score), atol=1e-9)
    assert len(exact.trace) == 1
    assert exact.trace[0].spread == pytest.approx(iterated.trace[-1].spread)


def test_auto_iterates_if_solving_costs_more_or_does_not_fit() -> None:
    panel = panel_of(many_rows())
    assert len(mhpc.MLCM().consolidate(panel).trace) == 1
    groups = find_groups(SinglePartition(panel))
    assert is_faster_to_solve(groups)
    assert not is_faster_to_solve(groups, dense_speed=0)
    with use_memory_budget(1000):
        assert not is_faster_to_solve(groups)
        assert len(mhpc.MLCM().consolidate(panel).trace) > 1


def test_a_label_that_is_new_with_its_source_means_itself() -> None:
    rows: list[Row] = [*ROWS, ("p9", "bob", "finch"), ("p9", "ann", "monarda")]
    panel = panel_of(rows)
    last = panel.instances.positions["p9"]
    earlier = panel.select_instances(np.delete(np.arange(len(panel.instances)), last))
    fitted = mhpc.MLCM().fit(SinglePartition(earlier))
    scores = dense(fitted.predict(panel).score)
    monarda = fitted.predict(panel_of([("x", "ann", "monarda"), ("x", "bob", None)])).score
    expected = (dense(monarda)[0] + np.eye(len(GARDEN))[GARDEN.labels.positions["finch"]]) / 2
    np.testing.assert_allclose(scores[last], expected, atol=1e-12)


@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e-12])
def test_with_a_tiny_alpha_all_groups_mean_the_same(alpha: float) -> None:
    # ann and bob share instances, so all their labels come to mean one mixture.
    rows: list[Row] = [("x", "ann", "oak"), ("x", "bob", "finch"), ("y", "ann", "oak")]
    scores = dense(mhpc.MLCM(alpha=alpha, solver="exact").consolidate(panel_of(rows)).score)
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
    assert scores.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_with_a_huge_alpha_groups_keep_their_own_labels() -> None:
    panel = panel_of(ROWS)
    votes = dense(panel.sum_answers(panel.raw))
    share = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-9)
    scores = dense(mhpc.MLCM(alpha=1e12).consolidate(panel).score)
    np.testing.assert_allclose(scores, share, atol=1e-11)
