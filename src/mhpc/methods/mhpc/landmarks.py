"""The landmark solver, for many instances: solve once on a sample, and add the rest to it.

Every landmark is joined to its nearest ones only, and nothing of landmarks x landmarks is dense.
"""

import time
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, dense_blocks, panel_block
from mhpc.data.scores import Step
from mhpc.methods.mhpc.algorithm import Solution
from mhpc.methods.mhpc.fitted import (
    Extension,
    FittedMHPC,
    GraphInput,
    GraphSettings,
    Vertices,
    distinct_vertices,
)
from mhpc.methods.mhpc.knn import MAX_FACTORED, graph_of_nearest, solve_on_graph
from mhpc.numerics.arrays import FloatArray, Sparse, ratio
from mhpc.numerics.landmark_search import DEFAULT_SEARCH, SAMPLE_SEARCH, SearchOptions
from mhpc.numerics.neighbors import SIGMA_NEIGHBORS, Landmarks
from mhpc.numerics.sparse import row_indices

N_NEIGHBORS = 15
"""How many landmarks each is joined to, unless the method says otherwise."""


def fit_landmarks(
    partitions: PanelPartitions,
    support: FloatArray,
    settings: GraphSettings,
    *,
    n_landmarks: int | None = None,
) -> FittedMHPC:
    """Solve once on a sample of `n_landmarks` instances, by default `settings.landmarks`."""
    inputs = settings.read(partitions, support, exact=False)
    occurrences, popularity, used_weight, evidence, n_answered = partitions.sum(
        partial(_count, inputs=inputs), stage="counting"
    )
    used = np.flatnonzero(used_weight > 0)
    n_landmarks = settings.landmarks if n_landmarks is None else n_landmarks
    sample = inputs.weigh(partitions.sample(n_landmarks))
    answered = np.flatnonzero(sample.answers_per_instance > 0)
    partitions.progress("solving", 0, 1)
    began = time.perf_counter()
    vertices = distinct_vertices(inputs.rows(sample, answered, used))
    extension, solution = solve_extension(
        vertices,
        n_neighbors=settings.n_neighbors or N_NEIGHBORS,
        sigma=settings.sigma,
        lam=settings.lam,
        # A sample is an approximation already.
        options=DEFAULT_SEARCH if n_landmarks >= partitions.instances else SAMPLE_SEARCH,
    )
    step = _describe_step(vertices, solution, len(used), time.perf_counter() - began)
    partitions.progress("solving", 1, 1)
    n_answers = max(float(evidence), 1.0)
    return FittedMHPC(
        inputs=inputs,
        used=used,
        extension=extension,
        both_views=settings.both_views,
        popularity=popularity,
        total=float(n_answered if settings.average == "all-sources" else evidence),
        fill_strength=settings.fill_strength,
        shares=(occurrences / n_answers, popularity / n_answers),
        n_sampled=n_landmarks,
        trace=(step,),
        converged=solution.converged,
        notes=(_describe_solution(len(answered), vertices, solution),),
    )


def _count(
    panel: Panel, *, inputs: GraphInput
) -> tuple[FloatArray, FloatArray, FloatArray, float, int]:
    panel = inputs.weigh(panel)
    occurrences = np.asarray(panel.sum_answers(panel.votes(inputs.smoothed)).sum(axis=0)).ravel()
    n_answered = int((panel.answers_per_instance > 0).sum())
    evidence = float(panel.evidence.sum())
    return occurrences, panel.popularity, panel.occurrences, evidence, n_answered


def solve_extension(
    vertices: Vertices,
    *,
    n_neighbors: int,
    sigma: float | None,
    lam: float,
    max_factored: int = MAX_FACTORED,
    options: SearchOptions = DEFAULT_SEARCH,
) -> tuple[Extension, Solution]:
    """Join every vertex to its nearest ones, solve, and return what extends that to others.

    Costs V * V * K multiplications in single precision to find the nearest vertices, and
    V * n_neighbors * columns per step of the solver.

    Parameters
    ----------
    vertices : Vertices
        V of them.
    n_neighbors : int
        How many nearest vertices each is joined to.
    sigma : float or None
        sigma of eq. 7; None: the mean distance to the nearest vertices.
    lam : float
        Strength of the smoothing.
    max_factored : int
        Vertices up to which a Cholesky factor is used.
    options : SearchOptions
        How nearest vertices are searched.
    """
    rows, counts = vertices.rows, vertices.counts
    landmarks, V = Landmarks(rows.compared), len(counts)
    n_searched = max(n_neighbors, SIGMA_NEIGHBORS if sigma is None else 1)
    near, distance = landmarks.nearest(
        rows.compared, min(n_searched, V - 1), exclude=np.arange(V), options=options
    )
    W, sigma = graph_of_nearest(near, distance, n_neighbors=n_neighbors, sigma=sigma)
    root = np.sqrt(counts)
    solution = solve_on_graph(
        W,
        (sparse.diags_array(root, format="csr") @ rows.values).tocsr(),
        counts=counts,
        evidence=rows.evidence,
        lam=lam,
        max_factored=max_factored,
    )
    solved = np.ascontiguousarray(solution.values)
    solved /= root[:, None]
    extension = Extension(
        landmarks=landmarks,
        solved=solved,
        counts=counts,
        degree=solution.degree,
        digests=vertices.digests,
        n_neighbors=n_neighbors,
        sigma=sigma,
        lam=lam,
        near=near[:, :n_neighbors],
        distance=distance[:, :n_neighbors],
    )
    return extension, replace(solution, values=solved, sigma=sigma)


def has_more_distinct(panel: Panel, inputs: GraphInput, limit: int) -> bool:
    """Return whether more than `limit` answered instances of a panel are distinct.

    Blocks of instances are looked at one by one until that is known.
    """
    used, digests = np.arange(len(panel.taxonomy)), np.zeros(0, dtype=np.uint64)
    for block in dense_blocks(len(panel.instances), len(panel.taxonomy)):
        part = inputs.weigh(panel_block(panel, block))
        answered = np.flatnonzero(part.answers_per_instance > 0)
        digests = np.union1d(digests, inputs.rows(part, answered, used).digests())
        if len(digests) > limit:
            return True
    return False


def _describe_step(vertices: Vertices, solution: Solution, n_labels: int, seconds: float) -> Step:
    """Return what the solve changed, without making the sparse means dense."""
    Y, Z = vertices.rows.values[:, :n_labels].tocsr(), solution.values[:, :n_labels]
    c = vertices.counts
    before, after = _squares(Y, c), float(c @ np.einsum("ij,ij->i", Z, Z))
    row = row_indices(Y)
    cross = float((c[row] * Y.data) @ Z[row, Y.indices])
    change = max(before - 2 * cross + after, 0.0)
    spread_before = max(before - _squares_of_mean(Y.T @ c, c), 0.0)
    spread_after = max(after - _squares_of_mean(Z.T @ c, c), 0.0)
    return Step(
        iteration=0,
        change=float(np.sqrt(ratio(change, before))),
        objective=None,
        spread=float(np.sqrt(ratio(spread_after, spread_before))),
        seconds=seconds,
    )


def _squares(Y: Sparse, counts: FloatArray) -> float:
    return float(counts @ np.asarray(Y.multiply(Y).sum(axis=1)).ravel())


def _squares_of_mean(total: FloatArray, counts: FloatArray) -> float:
    return float(total @ total) / max(float(counts.sum()), 1.0)


def _describe_solution(n_instances: int, vertices: Vertices, solution: Solution) -> str:
    how = (
        f"{solution.steps} conjugate gradient steps, relative residual at most "
        f"{solution.residual:.1g}"
        if solution.steps
        else "by a Cholesky factor"
    )
    return f"solved on {len(vertices.counts):,} distinct of {n_instances:,} landmarks, {how}"
