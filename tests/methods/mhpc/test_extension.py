"""A solution on landmarks, against the whole system and against its rows one by one."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.methods.mhpc import knn as local
from mhpc.methods.mhpc.knn import Solution, local_similarity, solve_local
from mhpc.methods.mhpc.landmarks import GraphRows, LandmarkExtension, solve_extension, vertices_of
from mhpc.numerics.arrays import FloatArray


def instances(rows: int, *, seed: int = 0) -> GraphRows:
    """Vectors of thirds, some of them equal, with one to three answers."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (rows, 3)) / 3
    values = np.hstack([X, rng.random((rows, 2)).round(1)])
    n = rng.integers(1, 3, rows).astype(float)
    return GraphRows(sparse.csr_array(X), sparse.csr_array(values), n)


def solved(
    rows: GraphRows, *, neighbours: int = 4, sigma: float | None = 0.4, lam: float = 3.0
) -> tuple[LandmarkExtension, Solution]:
    return solve_extension(vertices_of(rows), neighbours=neighbours, sigma=sigma, lam=lam)


def test_equal_instances_are_one_vertex_that_counts_them() -> None:
    once = instances(30)
    twice = once.rows(np.repeat(np.arange(30), 2))
    here, there = vertices_of(once), vertices_of(twice)
    assert there.counts.tolist() == (2 * here.counts).tolist()
    assert there.distinct.compared.toarray().tolist() == here.distinct.compared.toarray().tolist()


def test_instances_with_unlike_evidence_are_two_vertices() -> None:
    row = instances(1)
    both = GraphRows(
        sparse.vstack([row.compared] * 2, format="csr"),
        sparse.vstack([row.values] * 2, format="csr"),
        np.array([1.0, 2.0]),
    )
    assert vertices_of(both).counts.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("lam", [0.0, 3.0, 50.0])
@pytest.mark.parametrize("sigma", [0.4, None])
def test_vertices_have_the_solution_of_the_local_graph(lam: float, sigma: float | None) -> None:
    rows = instances(200)
    extension, _ = solved(rows, sigma=sigma, lam=lam)
    vertices = vertices_of(rows)
    X, c = vertices.distinct.compared.toarray(), vertices.counts
    W = local_similarity(X, neighbours=4, sigma=sigma)
    B = np.sqrt(c)[:, None] * vertices.distinct.values.toarray()
    Z = solve_local(W, B, counts=c, evidence=vertices.distinct.evidence, lam=lam)
    np.testing.assert_allclose(extension.solved, Z / np.sqrt(c)[:, None], atol=1e-9)


def test_an_instance_that_is_a_vertex_takes_its_solution_as_it_is() -> None:
    rows = instances(60)
    extension, solution = solved(rows)
    vertex = [
        next(
            v
            for v, digest in enumerate(extension.digests)
            if digest == rows.rows(np.array([i])).digests()[0]
        )
        for i in range(60)
    ]
    assert extension(rows).tolist() == solution.values[vertex].tolist()


def row_by_loops(
    extension: LandmarkExtension, x: FloatArray, y: FloatArray, n: float
) -> FloatArray:
    """Solve row i of the whole system for z_i, the landmarks' z being known."""
    X = extension.landmarks.vectors.toarray()
    far = [float(np.sqrt(np.sum((x - other) ** 2))) for other in X]
    near = sorted(range(len(X)), key=lambda j: (round(far[j] ** 2, 12), j))
    d, pull = 1.0, np.zeros(len(y))
    for j in near[: extension.neighbours]:
        d += extension.counts[j] * np.exp(-far[j] / extension.sigma)
    for j in near[: extension.neighbours]:
        w = extension.counts[j] * np.exp(-far[j] / extension.sigma)
        pull += w / np.sqrt(d * extension.degree[j]) * extension.solved[j]
    lam = extension.lam
    return np.asarray((n * y + lam * pull) / (n + lam * (1 - 1 / d)))


def test_another_instance_is_its_row_of_the_system() -> None:
    extension, _ = solved(instances(60))
    others = instances(40, seed=5)
    found = extension(others)
    known = set(extension.digests.tolist())
    new = [i for i, digest in enumerate(others.digests().tolist()) if digest not in known]
    assert len(new) > 10
    for i in new:
        expected = row_by_loops(
            extension,
            others.compared.toarray()[i],
            others.values.toarray()[i],
            float(others.evidence[i]),
        )
        np.testing.assert_allclose(found[i], expected, atol=1e-12)


def test_without_landmarks_an_instance_keeps_its_own_value() -> None:
    rows = instances(5)
    extension, _ = solved(rows.rows(np.arange(0)))
    np.testing.assert_allclose(extension(rows), rows.values.toarray())


def test_many_vertices_are_solved_in_steps_that_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = instances(200)
    _, factored = solved(rows)
    monkeypatch.setattr(local, "_FACTORED", 10)
    monkeypatch.setattr(local, "_COLUMNS", 2)
    _, stepped = solved(rows)
    assert factored.steps == 0 < stepped.steps
    assert 0 < stepped.residual <= 1e-5
    np.testing.assert_allclose(stepped.values, factored.values, atol=1e-4)
