"""The fitted model reproduces its solution and scores new instances by their row."""

import pickle
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.methods.mhpc.algorithm import Solution
from mhpc.methods.mhpc.exact import make_smoother
from mhpc.methods.mhpc.fitted import Extension, InstanceRows, distinct_vertices
from mhpc.methods.mhpc.knn import local_graph, solve_on_graph
from mhpc.methods.mhpc.landmarks import solve_extension
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import small_panel
from tests.fixtures.local_mhpc import local_mhpc

pytestmark = pytest.mark.filterwarnings("ignore::mhpc.errors.ConvergenceWarning")


def instance_rows(count: int, *, seed: int = 0) -> InstanceRows:
    """Vectors of thirds, some of them equal, with one or two answers."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (count, 3)) / 3
    values = np.hstack([X, rng.random((count, 2)).round(1)])
    evidence = rng.integers(1, 3, count).astype(float)
    return InstanceRows(sparse.csr_array(X), sparse.csr_array(values), evidence)


def extend(
    rows: InstanceRows, *, n_neighbors: int = 4, sigma: float | None = 0.4, lam: float = 3.0
) -> tuple[Extension, Solution]:
    vertices = distinct_vertices(rows)
    return solve_extension(vertices, n_neighbors=n_neighbors, sigma=sigma, lam=lam)


def allowed_combinations(**values: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return every combination of parameters, except those that the method refuses."""
    variants = [
        dict(zip(values, combination, strict=True)) for combination in product(*values.values())
    ]
    return [
        variant
        for variant in variants
        if (variant["votes"], variant.get("graph")) != ("each", "raw")
        and not (variant["votes"] == "raw" and variant.get("fill_strength"))
    ]


PAPER_VARIANTS = allowed_combinations(
    votes=("raw", "augmented", "each"), graph=(None, "raw", "augmented"),
    average=("answers", "all-sources"), anchor=("mean", "previous"), max_iter=(0, 3),
)  # fmt: skip

LOCAL_VARIANTS = allowed_combinations(
    votes=("raw", "each"), n_neighbors=(None, 4), anchor_weight=("none", "answers"),
    sigma=(0.3, None), fill_strength=(0.0, 0.3), source_weights=("equal", "learned"),
    max_iter=(0, 2),
)  # fmt: skip


def assert_scores_are_reproduced(method: mhpc.MHPC | mhpc.MPCU, panel: Panel) -> None:
    consolidation = method.consolidate(panel)
    assert consolidation.fitted is not None
    for fitted in (consolidation.fitted(), method.fit(SinglePartition(panel))):
        assert fitted is not None
        scores = fitted.predict(panel)
        for view in ("score", "specific"):
            expected = dense(getattr(consolidation, view))
            np.testing.assert_allclose(dense(getattr(scores, view)), expected, atol=1e-12)


@pytest.mark.parametrize("kind", [mhpc.MHPC, mhpc.MPCU])
@pytest.mark.parametrize("parameters", PAPER_VARIANTS, ids=str)
def test_predicting_the_training_panel_gives_its_scores(
    kind: type[mhpc.MHPC] | type[mhpc.MPCU], parameters: dict[str, Any]
) -> None:
    assert_scores_are_reproduced(kind(lam=3.0, **parameters), small_panel(instances=15))


@pytest.mark.parametrize("parameters", LOCAL_VARIANTS, ids=str)
def test_predicting_the_training_panel_locally_gives_its_scores(parameters: dict[str, Any]) -> None:
    assert_scores_are_reproduced(local_mhpc(lam=3.0, **parameters), small_panel(instances=15))


@pytest.mark.parametrize("parameters", [{}, {"anchor": "previous", "max_iter": 2}], ids=str)
def test_a_run_solves_only_once(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    solves = []
    solve = type(make_smoother(1.0, 0.3)).solve
    monkeypatch.setattr(
        "mhpc.methods.mhpc.algorithm.DenseSmoother.solve",
        lambda *arguments: solves.append(1) or solve(*arguments),  # type: ignore[func-returns-value]
    )
    panel = small_panel()
    consolidation = mhpc.MHPC(**parameters).consolidate(panel)
    assert consolidation.fitted is not None
    consolidation.fitted()
    assert len(solves) == len(consolidation.trace)


@pytest.mark.parametrize(
    "method",
    [
        mhpc.MHPC(lam=3.0),
        mhpc.MHPC(lam=3.0, graph="augmented"),
        mhpc.MHPC(lam=3.0, anchor="previous", max_iter=2),
        mhpc.LocalMHPC(n_neighbors=4),
        mhpc.LocalMHPC(n_neighbors=4, landmarks=20, solver="graph"),
    ],
    ids=["dense", "graph", "previous", "local", "landmarks"],
)
def test_predictions_are_the_same_one_at_a_time_and_together(method: mhpc.MHPC) -> None:
    panel = small_panel(instances=40)
    fitted = method.fit(SinglePartition(panel.select_instances(np.arange(0, 40, 2))))
    predicted_together = fitted.predict(panel)
    restored = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    for i in range(len(panel.instances)):
        predicted_alone = restored.predict(panel.select_instances(np.array([i])))
        for view in ("score", "specific"):
            expected = dense(getattr(predicted_together, view))[i]
            np.testing.assert_allclose(
                dense(getattr(predicted_alone, view))[0], expected, atol=1e-12
            )


@pytest.mark.parametrize("anchor", ["mean", "previous"])
def test_a_new_instance_scores_nearly_as_if_it_had_been_fitted(anchor: Any) -> None:
    garden = mhpc.load_garden()
    votes = mhpc.simulate(garden.truth, garden.taxonomy, [mhpc.Profile(0.8, 0.7)] * 4, seed=0)
    panel = mhpc.encode(votes, garden.taxonomy)
    new = np.arange(0, len(panel.instances), 5)
    old = np.setdiff1d(np.arange(len(panel.instances)), new)
    method = mhpc.MHPC(anchor=anchor, max_iter=4)
    expected = dense(method.consolidate(panel).score)[new]
    fitted = method.fit(SinglePartition(panel.select_instances(old)))
    predicted = dense(fitted.predict(panel.select_instances(new)).score)
    assert np.abs(predicted - expected).max() < 0.02
    assert np.abs(dense(panel.mean("raw", "answers"))[new] - expected).max() > 0.5


def test_equal_instances_are_one_vertex_that_counts_them() -> None:
    rows = instance_rows(30)
    repeated_rows = rows.take(np.repeat(np.arange(30), 2))
    single, double = distinct_vertices(rows), distinct_vertices(repeated_rows)
    assert double.counts.tolist() == (2 * single.counts).tolist()
    assert double.rows.compared.toarray().tolist() == single.rows.compared.toarray().tolist()


def test_instances_with_different_evidence_are_two_vertices() -> None:
    row = instance_rows(1)
    rows = InstanceRows(
        sparse.vstack([row.compared] * 2, format="csr"),
        sparse.vstack([row.values] * 2, format="csr"),
        np.array([1.0, 2.0]),
    )
    assert distinct_vertices(rows).counts.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("lam", [0.0, 3.0, 50.0])
@pytest.mark.parametrize("sigma", [0.4, None])
def test_vertices_have_the_solution_of_the_local_graph(lam: float, sigma: float | None) -> None:
    rows = instance_rows(200)
    extension, _ = extend(rows, sigma=sigma, lam=lam)
    vertices = distinct_vertices(rows)
    X, c = vertices.rows.compared.toarray(), vertices.counts
    W, _ = local_graph(X, n_neighbors=4, sigma=sigma)
    B = np.sqrt(c)[:, None] * vertices.rows.values.toarray()
    Z = solve_on_graph(W, B, counts=c, evidence=vertices.rows.evidence, lam=lam).values
    np.testing.assert_allclose(extension.solved, Z / np.sqrt(c)[:, None], atol=1e-9)


def test_an_instance_that_equals_a_vertex_has_its_solution() -> None:
    rows = instance_rows(60)
    extension, solution = extend(rows)
    vertex = [extension.digests.tolist().index(digest) for digest in rows.digests().tolist()]
    assert extension.solve(rows).tolist() == solution.values[vertex].tolist()


def row_by_loops(extension: Extension, x: FloatArray, y: FloatArray, n: float) -> FloatArray:
    """Solve row i of the system for z_i, the vertices' z being known."""
    X = extension.landmarks.vectors.toarray()
    distance = [float(np.sqrt(np.sum((x - vertex) ** 2))) for vertex in X]
    near = sorted(range(len(X)), key=lambda j: (round(distance[j] ** 2, 12), j))
    near = near[: extension.n_neighbors]
    weight = {j: extension.counts[j] * np.exp(-distance[j] / extension.sigma) for j in near}
    d, pull = 1.0 + sum(weight.values()), np.zeros(len(y))
    for j in near:
        pull += weight[j] / np.sqrt(d * extension.degree[j]) * extension.solved[j]
    lam = extension.lam
    return np.asarray((n * y + lam * pull) / (n + lam * (1 - 1 / d)))


@pytest.mark.parametrize("n_neighbors", [4, None])
@pytest.mark.parametrize("block_cells", [1, 1 << 22])
def test_a_new_instance_is_its_row_of_the_system(n_neighbors: int | None, block_cells: int) -> None:
    extension = replace(extend(instance_rows(60))[0], n_neighbors=n_neighbors)
    new_rows = instance_rows(40, seed=5)
    z = extension.solve(new_rows, block_cells=block_cells)
    known_digests = set(extension.digests.tolist())
    new = [i for i, digest in enumerate(new_rows.digests().tolist()) if digest not in known_digests]
    assert len(new) > 10
    for i in new:
        x, y = new_rows.compared.toarray()[i], new_rows.values.toarray()[i]
        expected = row_by_loops(extension, x, y, float(new_rows.evidence[i]))
        np.testing.assert_allclose(z[i], expected, atol=1e-6)


def test_without_vertices_an_instance_keeps_its_own_value() -> None:
    rows = instance_rows(5)
    extension, _ = extend(rows.take(np.arange(0)))
    np.testing.assert_allclose(extension.solve(rows), rows.values.toarray())


def test_many_vertices_are_solved_by_conjugate_gradients() -> None:
    vertices = distinct_vertices(instance_rows(200))
    factored, stepped = (
        solve_extension(vertices, n_neighbors=4, sigma=0.4, lam=3.0, max_factored=limit)[1]
        for limit in (200, 10)
    )
    assert factored.steps == 0 < stepped.steps
    assert 0 < stepped.residual <= 1e-5
    np.testing.assert_allclose(stepped.values, factored.values, atol=1e-4)


vertices_and_others = pytest.mark.parametrize(
    "rows", [instance_rows(60), instance_rows(40, seed=5)], ids=["vertices", "others"]
)


@vertices_and_others
def test_neighbors_that_are_known_change_no_solution(rows: InstanceRows) -> None:
    extension = extend(instance_rows(60))[0]
    neighbors = extension.find_neighbors(rows)
    np.testing.assert_allclose(extension.solve(rows, neighbors), extension.solve(rows), atol=1e-12)


@vertices_and_others
def test_instances_average_their_neighbours_but_not_themselves(rows: InstanceRows) -> None:
    extension = extend(instance_rows(60))[0]
    neighbors, X = extension.find_neighbors(rows), extension.landmarks.vectors.toarray()
    averaging = dense(neighbors.averaging_matrix(extension.counts))
    for i, (x, own) in enumerate(zip(rows.compared.toarray(), neighbors.vertex, strict=True)):
        distance = np.sqrt(np.round(((X - x) ** 2).sum(axis=1), 12))
        others = [int(j) for j in np.argsort(distance, kind="stable") if j != own]
        weight = np.zeros(len(X))
        for j in others[: extension.n_neighbors]:
            weight[j] = extension.counts[j] * np.exp(-distance[j] / extension.sigma)
        if own >= 0:
            weight[own] = extension.counts[own] - 1
        np.testing.assert_allclose(averaging[i], weight / weight.sum(), atol=1e-12)
