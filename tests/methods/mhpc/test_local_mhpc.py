"""The parameters of LocalMHPC, each against a slow twin or what it must leave unchanged."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mhpc.data.hierarchy import fill_down
from mhpc.data.panel import Average, SinglePartition
from mhpc.errors import ParameterError
from mhpc.methods.mhpc.algorithm import label_support
from mhpc.methods.source_weights import weight_answers
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, Row, panel_of, small_panel
from tests.fixtures.local_mhpc import local_mhpc


def graph_by_loops(X: FloatArray, n_neighbors: int | None, sigma: float | None) -> FloatArray:
    """Return W on distinct rows, each joined to its nearest rows; equal rows share them."""
    distinct, of = np.unique(X, axis=0, return_inverse=True)
    d = cdist(distinct, distinct)
    V = len(d)
    others = [[j for j in np.argsort(d[i], kind="stable") if j != i] for i in range(V)]
    if sigma is None:
        sigma = float(np.mean([d[i, others[i][:15]] for i in range(V)]))
    W = np.eye(V)
    for i in range(V):
        for j in others[i][:n_neighbors]:
            W[i, j] = W[j, i] = np.exp(-d[i, j] / sigma)
    return np.asarray(W[np.ix_(of.ravel(), of.ravel())])


def smooth(W: FloatArray, n: FloatArray, Y: FloatArray, lam: float) -> FloatArray:
    half = np.diag(W.sum(axis=1) ** -0.5)
    L = np.eye(len(W)) - half @ W @ half
    return np.asarray(np.linalg.solve(np.diag(n) + lam * L, n[:, None] * Y))


@pytest.mark.parametrize("n_neighbors", [None, 4])
@pytest.mark.parametrize("sigma", [0.3, None])
@pytest.mark.parametrize("anchor_weight", ["none", "answers"])
def test_one_solve_on_the_local_graph_is_a_dense_solve(
    n_neighbors: int | None, sigma: float | None, anchor_weight: Any
) -> None:
    panel = small_panel()
    method = local_mhpc(
        lam=3,
        n_neighbors=n_neighbors,
        sigma=sigma,
        anchor_weight=anchor_weight,
        votes="each",
        max_iter=0,
    )
    consolidation = method.consolidate(panel)
    raw, closed = (dense(panel.mean(kind, "answers"))[:-1] for kind in ("raw", "augmented"))
    n = panel.evidence[:-1] if anchor_weight == "answers" else np.ones(len(raw))
    # Vertices are distinct in their votes and in the values that they are anchored to.
    far = np.hstack(
        [closed * np.sqrt(label_support(SinglePartition(panel), alpha=0.05)), 1e-13 * raw]
    )
    far = np.hstack([far, 1e-13 * n[:, None]])
    W = graph_by_loops(far, n_neighbors, sigma)
    np.testing.assert_allclose(dense(consolidation.score)[:-1], smooth(W, n, closed, 3), atol=1e-4)
    np.testing.assert_allclose(dense(consolidation.specific)[:-1], smooth(W, n, raw, 3), atol=1e-4)
    assert not dense(consolidation.score)[-1].any()
    assert not dense(consolidation.specific)[-1].any()


def test_each_view_is_smoothed_on_the_graph_of_votes_with_ancestors() -> None:
    panel = small_panel()
    views = local_mhpc(votes="each", lam=2, max_iter=0).consolidate(panel)
    closed = local_mhpc(votes="augmented", lam=2, max_iter=0).consolidate(panel)
    raw = local_mhpc(votes="raw", graph="augmented", lam=2, max_iter=0).consolidate(panel)
    np.testing.assert_allclose(dense(views.score), dense(closed.score), atol=1e-12)
    np.testing.assert_allclose(dense(views.specific), dense(raw.score), atol=1e-12)


def test_with_all_as_neighbors_it_is_the_dense_graph() -> None:
    panel = small_panel()
    for votes in ("raw", "augmented", "each"):
        dense_graph, local_graph = (
            local_mhpc(votes=votes, lam=2, n_neighbors=n_neighbors, max_iter=0).consolidate(panel)
            for n_neighbors in (None, 1000)
        )
        np.testing.assert_allclose(dense(local_graph.score), dense(dense_graph.score), atol=1e-4)


def test_the_anchor_weight_changes_nothing_if_all_have_one_answer() -> None:
    panel = panel_of([("x", "s", "d"), ("y", "t", "c"), ("z", "s", "e")], DAG)
    equal, by_answers = (
        local_mhpc(lam=2, anchor_weight=anchor_weight).consolidate(panel)
        for anchor_weight in ("none", "answers")
    )
    np.testing.assert_allclose(dense(by_answers.score), dense(equal.score), atol=1e-12)


def test_an_instance_with_more_answers_is_smoothed_less() -> None:
    rows: list[Row] = [("few", "s0", "d"), ("other", "s0", "e"), ("other", "s1", "e")]
    rows += [("many", f"s{s}", "c") for s in range(20)]
    panel = panel_of(rows, DAG)
    mean = dense(panel.mean("raw", "answers"))
    consolidation = local_mhpc(lam=2, sigma=1, anchor_weight="answers", max_iter=0).consolidate(
        panel
    )
    change = np.abs(dense(consolidation.score) - mean).max(axis=1)
    row = panel.instances.positions
    assert change[row["many"]] < 0.2 * change[row["few"]]


def test_filling_goes_down_from_the_smoothed_answers() -> None:
    panel = small_panel()
    unfilled = local_mhpc(votes="each", lam=2, max_iter=0).consolidate(panel)
    filled = local_mhpc(votes="each", lam=2, max_iter=0, fill_strength=0.4).consolidate(panel)
    expected = fill_down(
        dense(unfilled.score)[:-1], panel.evidence[:-1], panel.popularity, DAG, strength=0.4
    )
    np.testing.assert_allclose(dense(filled.score)[:-1], expected, atol=1e-12)
    np.testing.assert_allclose(dense(filled.specific), dense(unfilled.specific), atol=1e-12)
    assert not dense(filled.score)[-1].any()


def test_filling_does_not_depend_on_the_divisor_of_the_mean() -> None:
    # Labels have the same share of their root, and only the score of the root has the divisor.
    panel = panel_of([("x", "s", "d"), ("x", "t", "c"), ("y", "t", "d")], DAG)
    averages: tuple[Average, ...] = ("answers", "all-sources")
    by_answers, by_sources = (
        dense(
            local_mhpc(votes="augmented", lam=0, fill_strength=0.4, average=average)
            .consolidate(panel)
            .score
        )
        for average in averages
    )
    root = DAG.labels.positions["a"]
    np.testing.assert_allclose(
        by_sources / by_sources[:, [root]], by_answers / by_answers[:, [root]]
    )
    assert by_sources[1, root] < by_answers[1, root]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fill_strength": 0.3}, "fill_strength = 0.3 is not allowed with votes = 'raw'"),
        ({"votes": "each", "graph": "raw"}, "graph = 'raw' is not allowed with votes = 'each'"),
    ],
)
def test_parameters_that_exclude_each_other_are_refused(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        local_mhpc(**parameters).consolidate(small_panel())


@pytest.mark.parametrize(
    "parameters",
    [{"n_neighbors": 0}, {"fill_strength": -1}, {"sigma": 0}, {"source_weights": "some"}],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="is not allowed; give"):
        local_mhpc(**parameters)


def test_weights_of_one_change_nothing() -> None:
    panel = small_panel()
    ones = replace(panel, weight=np.ones(len(panel.instance)))
    method = local_mhpc(
        votes="each",
        lam=2,
        n_neighbors=3,
        anchor_weight="answers",
        sigma=None,
        fill_strength=0.3,
        max_iter=0,
    )
    unweighted, weighted = (dense(method.consolidate(votes).score) for votes in (panel, ones))
    np.testing.assert_allclose(weighted, unweighted, atol=1e-12)


def test_learned_source_weights_are_those_of_weight_answers() -> None:
    panel = small_panel()
    learned = local_mhpc(lam=2, max_iter=0, source_weights="learned").consolidate(panel)
    weighted = local_mhpc(lam=2, max_iter=0).consolidate(weight_answers(panel))
    assert dense(learned.score).tobytes() == dense(weighted.score).tobytes()


def test_the_objective_weights_instances_by_their_answers() -> None:
    panel = small_panel()
    method = local_mhpc(lam=3, sigma=0.5, anchor_weight="answers", max_iter=0)
    consolidation = method.consolidate(panel)
    Y, votes = dense(consolidation.score)[:-1], dense(panel.raw)
    # Every answer counts once: the term of an instance in eq. 1 times its answers.
    fit = sum(np.sum((Y[i] - votes[a]) ** 2) for a, i in enumerate(panel.instance))
    mean = dense(panel.mean("raw", "answers"))[:-1]
    W = np.exp(
        -cdist(mean, mean, "euclidean", w=label_support(SinglePartition(panel), alpha=0.05)) / 0.5
    )
    d = W.sum(axis=1)
    L = np.eye(len(d)) - W / np.sqrt(np.outer(d, d))
    assert consolidation.trace[0].objective == pytest.approx(
        fit + 3 * np.trace(Y.T @ L @ Y), rel=1e-9
    )
