"""MHPC against the paper's text, written as slowly and plainly as it reads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import beta

import mhpc
from mhpc.data.panel import Panel
from mhpc.errors import ConvergenceWarning, ParameterError, TooLargeError
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.system.memory import use_memory_budget
from tests.fixtures.build import DAG, panel_of


def transcription(panel: Panel, method: mhpc.MHPC) -> list[FloatArray]:
    """The paper, equation by equation, on M dense matrices; Y after every solve."""
    M, N, K = len(panel.sources), len(panel.instances), len(panel.taxonomy)
    cube = {"raw": np.zeros((M, N, K)), "augmented": np.zeros((M, N, K))}
    for kind, Y in cube.items():
        votes = dense(panel.votes("raw" if kind == "raw" else "augmented"))
        for answer in range(len(panel.instance)):
            Y[panel.source[answer], panel.instance[answer]] = votes[answer]
    asked = panel.answers_per_instance if method.average == "answers" else np.full(N, M)
    mean = {kind: Y.sum(axis=0) / asked[:, None] for kind, Y in cube.items()}
    # Equations 8 to 10, one trial an answer.
    C = cube["augmented"].sum(axis=(0, 1))
    S = np.nan_to_num(beta.ppf(method.alpha / 2, C, len(panel.instance) - C + 1))
    Y_bar, X_bar = mean[method.votes], mean[method.graph or method.votes]
    Y, X, solves = Y_bar, X_bar, []
    for _ in range(method.max_iter + 1):
        W = np.exp(-cdist(X, X, "euclidean", w=S) / method.sigma)
        D = np.diag(W.sum(axis=1))
        half = np.diag(W.sum(axis=1) ** -0.5)
        inverse = np.linalg.inv(np.eye(N) + method.lam * half @ (D - W) @ half)
        Y = inverse @ (Y_bar if method.anchor == "mean" else Y)
        X = inverse @ (X_bar if method.anchor == "mean" else X)
        solves.append(Y)
    return solves


def small_panel(*, seed: int, instances: int = 25, sources: int = 3) -> Panel:
    """Votes on a DAG, with scores, missing answers and "none of these"; everyone answered."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, str, str | None, float]] = []
    for i in range(instances):
        for s in range(sources):
            if s and rng.random() < 0.3:
                continue
            said = [k for k in DAG if rng.random() < 0.3]
            rows += [(f"x{i}", f"s{s}", k, rng.choice([0.5, 1.0])) for k in said]
            rows += [(f"x{i}", f"s{s}", None, 1.0)] if not said else []
    return panel_of(rows, DAG)


@pytest.mark.parametrize("anchor", ["mean", "previous"])
@pytest.mark.parametrize("votes", ["raw", "augmented"])
@pytest.mark.parametrize("graph", [None, "raw", "augmented"])
@pytest.mark.parametrize("average", ["answers", "all-sources"])
def test_every_reading_agrees_with_the_transcription(
    anchor: Any, votes: Any, graph: Any, average: Any
) -> None:
    panel = small_panel(seed=1)
    method = mhpc.MHPC(
        lam=10, sigma=0.3, anchor=anchor, votes=votes, graph=graph, average=average,
        tol=0, max_iter=3,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        found = method.consolidate(panel)
    np.testing.assert_allclose(dense(found.score), transcription(panel, method)[-1], atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.floats(0, 100), st.floats(0.01, 10), st.integers(1, 30),
    st.integers(1, 4),
)  # fmt: skip
def test_one_solve_agrees_with_the_transcription(
    seed: int, lam: float, sigma: float, instances: int, sources: int
) -> None:
    panel = small_panel(seed=seed, instances=instances, sources=sources)
    method = mhpc.MHPC(lam=lam, sigma=sigma, max_iter=0)
    found = method.consolidate(panel)
    np.testing.assert_allclose(dense(found.score), transcription(panel, method)[-1], atol=1e-9)


def test_the_papers_own_reading_has_a_name() -> None:
    paper = mhpc.MHPC.as_published(lam=25)
    assert (paper.votes, paper.graph, paper.average, paper.anchor, paper.lam) == (
        "raw", None, "all-sources", "previous", 25,
    )  # fmt: skip


def test_generated_yeast_votes_agree_with_the_transcription_to_1e_8(data_folder: Path) -> None:
    file = data_folder / "yeast_funcat" / "cellcycle_FUN.valid.arff.gz"
    taxonomy, truth = mhpc.read_taxonomy(file), mhpc.read_truth(file)
    votes = mhpc.simulate(truth, taxonomy, [mhpc.Profile()] * 4, seed=0)
    panel = mhpc.encode(votes, taxonomy)
    method = mhpc.MHPC(lam=10, sigma=0.3)
    found = method.consolidate(panel)
    solves = transcription(panel, method.model_copy(update={"max_iter": len(found.trace) - 1}))
    np.testing.assert_allclose(dense(found.score), solves[-1], atol=1e-8)


def test_lambda_zero_is_averaging() -> None:
    panel = small_panel(seed=2)
    found = mhpc.MHPC(lam=0).consolidate(panel)
    np.testing.assert_allclose(dense(found.score), dense(panel.mean("raw", "answers")), atol=1e-14)


def test_a_large_lambda_makes_all_instances_one_popularity_vector() -> None:
    panel = small_panel(seed=3)
    spread = mhpc.MHPC(lam=1e9, max_iter=0).consolidate(panel).trace[-1].spread
    assert spread < 0.3 * mhpc.MHPC(lam=1, max_iter=0).consolidate(panel).trace[-1].spread


def test_a_tiny_sigma_leaves_instances_alone() -> None:
    panel = small_panel(seed=4)
    found = mhpc.MHPC(sigma=1e-9, max_iter=0).consolidate(panel)
    mean = dense(panel.mean("raw", "answers"))
    np.testing.assert_allclose(dense(found.score), mean, atol=1e-12)


def test_the_trace_tells_change_objective_and_spread_of_every_solve() -> None:
    panel = small_panel(seed=5)
    method = mhpc.MHPC(lam=3, sigma=0.5, tol=0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        found = method.consolidate(panel)
    solves = transcription(panel, method)
    mean = dense(panel.mean("raw", "answers"))
    assert [step.iteration for step in found.trace] == [0, 1, 2]
    before = [mean, *solves[:-1]]
    for step, Y, Y_before in zip(found.trace, solves, before, strict=True):
        change = np.linalg.norm(Y - Y_before) / np.linalg.norm(Y_before)
        assert step.change == pytest.approx(change, rel=1e-8)
        spread = np.linalg.norm(Y - Y.mean(0)) / np.linalg.norm(mean - mean.mean(0))
        assert step.spread == pytest.approx(spread, rel=1e-8)
    assert not found.converged


def test_the_iteration_stops_at_the_first_change_below_tol() -> None:
    found = mhpc.MHPC(lam=1, sigma=1, tol=1e-3, max_iter=50).consolidate(small_panel(seed=5))
    run_starts = [step.change for step in found.trace]
    assert found.converged
    assert len(run_starts) < 51
    assert run_starts[-1] < 1e-3 <= min(run_starts[:-1])


def test_the_first_objective_is_the_papers_cost() -> None:
    panel = small_panel(seed=6)
    method = mhpc.MHPC(lam=3, sigma=0.5, max_iter=0)
    found = method.consolidate(panel)
    Y = dense(found.score)
    votes, asked = dense(panel.raw), panel.answers_per_instance
    fit = sum(np.sum((Y[i] - votes[a]) ** 2) / asked[i] for a, i in enumerate(panel.instance))
    mean = dense(panel.mean("raw", "answers"))
    C = dense(panel.augmented).sum(axis=0)
    S = np.nan_to_num(beta.ppf(0.025, C, len(panel.instance) - C + 1))
    W = np.exp(-cdist(mean, mean, "euclidean", w=S) / 0.5)
    d = W.sum(axis=1)
    L = np.eye(len(d)) - W / np.sqrt(np.outer(d, d))
    assert found.trace[0].objective == pytest.approx(fit + 3 * np.trace(Y.T @ L @ Y), rel=1e-9)


def test_smoothing_again_and_again_makes_instances_alike() -> None:
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
        ({"alpha": 1}, "alpha = 1 is not allowed; give number > 0, < 1"),
        ({"anchor": "median"}, "anchor = 'median' is not allowed; give previous | mean"),
        ({"lamda": 1}, "no parameter 'lamda' \\(nearest: 'lam'\\)"),
        ({"lam": float("nan")}, "lam = nan is not allowed"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        mhpc.MHPC(**parameters)


def test_a_graph_that_cannot_fit_is_refused_before_it_is_tried() -> None:
    with (
        use_memory_budget(1),
        pytest.raises(TooLargeError, match="25 instances and 5 labels needs .* solver=graph"),
    ):
        mhpc.MHPC(solver="exact").consolidate(small_panel(seed=8))
