from typing import Literal

import numpy as np
import pytest

import mhpc
from mhpc.data import panel as parts
from mhpc.data.panel import Panel, SinglePartition
from mhpc.errors import ConvergenceWarning
from mhpc.methods import mlcm as consensus
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import GARDEN, Row, panel_of

ROWS: list[Row] = [
    ("p1", "ann", "monarda"),
    ("p1", "bob", "flower"),
    ("p2", "ann", "monarda", 0.5),
    ("p2", "cid", "bird"),
    ("p3", "bob", "oak"),
    ("p4", "cid", None),
]


def alternation(panel: Panel, alpha: float, rounds: int) -> FloatArray:
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
            mine = [(a, q[g]) for g, who in members.items() for j, a in who if j == i]
            if mine:
                u[i] = sum(a * v for a, v in mine) / sum(a for a, _ in mine)
        for group, who in members.items():
            own = alpha * np.eye(K)[group[1]]
            total = sum(a * u[i] for i, a in who)
            q[group] = (total + own) / (sum(a for _, a in who) + alpha)
    return u


def test_mlcm_agrees_with_updating_one_vertex_after_the_other() -> None:
    panel = panel_of(ROWS)
    with pytest.warns(ConvergenceWarning):
        found = mhpc.MLCM(alpha=1.5, solver="alternate", tol=0, max_iter=4).consolidate(panel)
    np.testing.assert_allclose(dense(found.score), alternation(panel, 1.5, 4), atol=1e-12)


@pytest.mark.parametrize("solver", ["exact", "alternate"])
def test_mlcm_settles_at_a_fixed_point(solver: Literal["exact", "alternate"]) -> None:
    panel = panel_of(ROWS)
    found = mhpc.MLCM(solver=solver, tol=1e-12, max_iter=5000).consolidate(panel)
    assert found.converged
    np.testing.assert_allclose(dense(found.score), alternation(panel, 2.0, 500), atol=1e-9)


def test_sources_that_group_instances_alike_come_to_mean_the_same() -> None:
    # ann says monarda wherever bob says flower, so p3, which only bob saw, gains monarda.
    rows = [(f"p{n}", who, label) for n in range(3) for who, label in
            (("ann", "monarda"), ("bob", "flower")) if not (n == 2 and who == "ann")]  # fmt: skip
    found = dense(mhpc.MLCM().consolidate(panel_of(rows)).score)
    assert found[2, GARDEN.labels.positions["monarda"]] > 0.1


def test_the_trace_tells_change_and_spread_of_every_round() -> None:
    panel = panel_of(ROWS)
    with pytest.warns(ConvergenceWarning):
        found = mhpc.MLCM(solver="alternate", tol=0, max_iter=3).consolidate(panel)
    rounds = [alternation(panel, 2.0, n) for n in range(4)]
    centred = [u - u.mean(axis=0) for u in rounds]
    for n, step in enumerate(found.trace):
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
    monkeypatch: pytest.MonkeyPatch, solver: Literal["exact", "alternate"]
) -> None:
    panel, method = panel_of(many_rows(), instances=["silent"]), mhpc.MLCM(solver=solver)
    whole = method.consolidate(panel)
    monkeypatch.setattr(consensus, "_STRIP", 50)
    monkeypatch.setattr(parts, "_INSTANCES", 7)
    plan_partitions = method.consolidate(panel)
    np.testing.assert_allclose(dense(plan_partitions.score), dense(whole.score), atol=1e-12)
    for one, other in zip(plan_partitions.trace, whole.trace, strict=True):
        assert (one.change, one.spread) == pytest.approx((other.change, other.spread), abs=1e-12)


def test_rounds_lead_to_what_is_solved_at_once() -> None:
    panel = panel_of(many_rows())
    exact = mhpc.MLCM(solver="exact").consolidate(panel)
    turns = mhpc.MLCM(solver="alternate", tol=1e-13, max_iter=5000).consolidate(panel)
    np.testing.assert_allclose(dense(turns.score), dense(exact.score), atol=1e-9)
    assert len(exact.trace) == 1
    assert exact.trace[0].spread == pytest.approx(turns.trace[-1].spread)


def test_auto_averages_in_turn_where_a_factor_does_not_fit_or_costs_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panel = panel_of(many_rows())
    assert len(mhpc.MLCM().consolidate(panel).trace) == 1
    monkeypatch.setattr(consensus, "_PASS", 0)
    assert len(mhpc.MLCM().consolidate(panel).trace) > 1


def test_a_label_that_its_source_never_said_before_means_itself() -> None:
    rows: list[Row] = [*ROWS, ("p9", "bob", "finch"), ("p9", "ann", "monarda")]
    panel = panel_of(rows)
    last = panel.instances.positions["p9"]
    append_gold_source = panel.select_instances(np.delete(np.arange(len(panel.instances)), last))
    fitted = mhpc.MLCM().fit(SinglePartition(append_gold_source))
    found = dense(fitted.predict(panel).score)
    monarda = fitted.predict(panel_of([("x", "ann", "monarda"), ("x", "bob", None)])).score
    expected = (dense(monarda)[0] + np.eye(len(GARDEN))[GARDEN.labels.positions["finch"]]) / 2
    np.testing.assert_allclose(found[last], expected, atol=1e-12)


@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e-12])
def test_groups_that_hold_on_to_nothing_mean_all_the_same(alpha: float) -> None:
    # ann and bob meet on both instances: whatever they say, they come to mean one mixture.
    rows: list[Row] = [("x", "ann", "oak"), ("x", "bob", "finch"), ("y", "ann", "oak")]
    found = dense(mhpc.MLCM(alpha=alpha, solver="exact").consolidate(panel_of(rows)).score)
    assert found[0] == pytest.approx(found[1], abs=1e-5)
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_groups_that_hold_on_to_all_mean_what_they_say() -> None:
    panel = panel_of(ROWS)
    votes = dense(panel.sum_answers(panel.raw))
    share = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-9)
    found = dense(mhpc.MLCM(alpha=1e300).consolidate(panel).score)
    np.testing.assert_allclose(found, share, atol=1e-12)
