"""Beyond 10,000 instances: solve on landmarks, extend to the rest.

n: how much an instance holds on to its own value y. c: how many instances a vertex stands for.
d: degree. (n + lam - lam / d_i) z_i = n y_i + lam sum_j c_j w_ij / sqrt(d_i d_j) z_j is row i of
(n + lam L) Z = n Y, with W_ii = 1 and the neighbours' z known.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.data.hierarchy import fill_down
from mhpc.data.panel import Average, Panel, PanelPartitions, VotesKind, dense_blocks, panel_block
from mhpc.data.scores import Scores, Step
from mhpc.methods.base import FittedMethod
from mhpc.methods.mhpc.algorithm import strength
from mhpc.methods.mhpc.knn import Solution, joined, solution_of
from mhpc.methods.source_weights import SourceWeights, apply_weights
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.neighbors import REACH, Landmarks, exp_similarity, mean_distance
from mhpc.numerics.sparse import distinct_digests, row_digests
from mhpc.parameters import registered


@dataclass(frozen=True, eq=False)
class GraphRows:
    """Instances as they are smoothed.

    Attributes
    ----------
    compared : csr_array, (N, K)
        What distances are taken of, weighted.
    values : csr_array, (N, columns)
        y, what is smoothed.
    evidence : float array, (N,)
        n.
    """

    compared: Sparse
    values: Sparse
    evidence: FloatArray

    def rows(self, which: IntArray) -> "GraphRows":
        """Return some of the instances."""
        return GraphRows(self.compared[which], self.values[which], self.evidence[which])

    def digests(self) -> npt.NDArray[np.uint64]:
        """Return a number an instance, the same for those that cannot be told apart."""
        told_by = [self.values, self.compared, sparse.csr_array(self.evidence[:, None])]
        return row_digests(sparse.hstack(told_by, format="csr"))


@registered("mhpc.landmark-extension")
@dataclass(frozen=True, eq=False)
class LandmarkExtension:
    """A solution on vertices, and what it takes to extend it to any instance.

    Attributes
    ----------
    landmarks : Landmarks
        What the V vertices are compared by.
    solved : float array, (V, columns)
        z of the vertices.
    counts, degree : float arrays, (V,)
        c and d.
    digests : uint64 array, (V,)
        By which an instance is known to be a vertex.
    neighbours : int
        How many vertices an instance is joined to.
    sigma, lam : float
        Reach of similarity, strength of smoothing.
    """

    landmarks: Landmarks
    solved: FloatArray
    counts: FloatArray
    degree: FloatArray
    digests: npt.NDArray[np.uint64]
    neighbours: int
    sigma: float
    lam: float

    def __call__(self, instances: GraphRows) -> FloatArray:
        """Return z of instances, (N, columns): that of a vertex as it is, else by one row."""
        vertex = self._vertex(instances)
        known, other = np.flatnonzero(vertex >= 0), np.flatnonzero(vertex < 0)
        if not len(other):
            return np.asarray(self.solved[vertex])
        if not len(known):
            return self._joined(instances)
        z = np.empty(instances.values.shape)
        z[known] = self.solved[vertex[known]]
        z[other] = self._joined(instances.rows(other))
        return z

    def _vertex(self, instances: GraphRows) -> IntArray:
        """Return the vertex that each instance is, -1 where it is none."""
        if not len(self.digests):
            return np.full(len(instances.evidence), -1)
        digests, order = instances.digests(), np.argsort(self.digests)
        at = np.searchsorted(self.digests, digests, sorter=order)
        vertex = order[np.minimum(at, len(order) - 1)]
        return np.where(self.digests[vertex] == digests, vertex, -1)

    def _joined(self, instances: GraphRows) -> FloatArray:
        near, far = self.landmarks.nearest(instances.compared, self.neighbours)
        weight = self.counts[near] * exp_similarity(far, self.sigma)
        degree = 1.0 + weight.sum(axis=1)
        n, lam = instances.evidence, strength(self.lam)
        shares = lam * weight / np.sqrt(degree[:, None] * self.degree[near])
        start = np.arange(len(near) + 1) * near.shape[1]
        around = sparse.csr_array(
            (shares.ravel(), near.ravel(), start), shape=(len(near), len(self.counts))
        )
        z = around @ self.solved
        z += dense(sparse.diags_array(n, format="csr") @ instances.values)
        # Never below n, as lam - lam / degree is where rounding leaves nothing of an own value.
        z /= np.maximum(n + lam * (weight.sum(axis=1) / degree), 1e-12)[:, None]
        return np.asarray(z)


@dataclass(frozen=True, eq=False)
class Vertices:
    """Distinct instances, and how many each stands for."""

    distinct: GraphRows
    counts: FloatArray
    digests: npt.NDArray[np.uint64]


def vertices_of(instances: GraphRows) -> Vertices:
    """Return the distinct among some instances, in their order."""
    digests = instances.digests()
    first, _, counts = distinct_digests(digests)
    return Vertices(instances.rows(first), counts, digests[first])


def solve_extension(
    vertices: Vertices, *, neighbours: int, sigma: float | None, lam: float
) -> tuple[LandmarkExtension, Solution]:
    """Join every vertex to its nearest, solve, and return what extends that to others.

    Nothing of vertices x vertices is dense. V * V * K multiplications in single precision to
    find the nearest, and V * neighbours * columns a step of the solver.

    Parameters
    ----------
    vertices : Vertices
        V of them.
    neighbours : int
        How many nearest vertices each is joined to, and it to whose nearest it belongs.
    sigma : float or None
        Reach of similarity; None: the mean distance to the nearest vertices.
    lam : float
        Strength of the smoothing.
    """
    distinct, counts = vertices.distinct, vertices.counts
    landmarks = Landmarks(distinct.compared)
    near, far = _nearest_others(landmarks, max(neighbours, REACH if sigma is None else 1))
    sigma = mean_distance(far[:, :REACH]) if sigma is None else sigma
    near, far = near[:, :neighbours], far[:, :neighbours]
    W = joined(near, exp_similarity(far, sigma))
    root = np.sqrt(counts)
    B = (sparse.diags_array(root, format="csr") @ distinct.values).tocsr()
    solution = solution_of(W, B, counts=counts, evidence=distinct.evidence, lam=lam)
    solved = np.ascontiguousarray(solution.values)
    solved /= root[:, None]
    extension = LandmarkExtension(
        landmarks, solved, counts, W @ counts, vertices.digests, neighbours, sigma, lam
    )
    return extension, Solution(solved, solution.steps, solution.residual)


def _nearest_others(landmarks: Landmarks, count: int) -> tuple[IntArray, FloatArray]:
    V = len(landmarks)
    return landmarks.nearest(landmarks.vectors, min(count, V - 1), but=np.arange(V))


UNREACHED = 1e-7
"""What a label's share of the answers counts: enough to rank labels that no path reaches."""


@registered("mhpc.answer-view")
@dataclass(frozen=True, eq=False)
class AnswerView:
    """How answers become what is smoothed and compared.

    Attributes
    ----------
    smoothed, compared : "raw" or "augmented"
        Which votes.
    average, shrink
        As in the method.
    each : bool
        Whether votes with ancestors are smoothed beside those as said.
    heard : Hearing or None
        How sources are heard.
    weights : float array, (K,)
        Weight of each label in a distance; empty: all alike.
    """

    smoothed: VotesKind
    compared: VotesKind
    average: Average
    shrink: Literal["none", "answers"]
    each: bool = False
    heard: SourceWeights | None = None
    weights: FloatArray = field(default_factory=lambda: np.ones(0))

    def graph_rows(self, panel: Panel, answered: IntArray, used: IntArray) -> GraphRows:
        """Return the answered instances of a panel that is heard already, and of labels used."""
        relate_labels = {self.smoothed, self.compared, *(("augmented",) if self.each else ())}
        mean = {kind: panel.mean(kind, self.average)[answered][:, used] for kind in relate_labels}
        compared = mean[self.compared]
        if len(self.weights):
            scale = sparse.diags_array(np.sqrt(self.weights[used]), format="csr")
            compared = (compared @ scale).tocsr()
        values = mean[self.smoothed]
        if self.each:
            values = sparse.hstack([values, mean["augmented"]], format="csr")
        n = panel.evidence[answered] if self.shrink == "answers" else np.ones(len(answered))
        return GraphRows(compared, values, n)

    def filled(
        self,
        closed: FloatArray,
        panel: Panel,
        answered: IntArray,
        popularity: FloatArray,
        total: float | None,
        strength: float,
    ) -> FloatArray:
        """Return means with what was left open below them, from the top down."""
        # What the mean was divided by, so that both together are the answers for a label.
        plan_partitions = panel.evidence[answered]
        if self.average == "all-sources":
            plan_partitions = np.full(len(plan_partitions), float(len(panel.sources)))
            total = None if total is None else float(len(panel.sources)) * total
        return fill_down(
            closed, plan_partitions, popularity, panel.taxonomy, strength=strength, total=total
        )


@registered("mhpc.landmarks")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedLandmarks(FittedMethod):
    """What was solved on landmarks, for any instance to be joined to.

    Attributes
    ----------
    reading : Reading
        How answers are read.
    used : int array
        Labels that anyone said.
    extension : Extension
        The solution.
    share : pair of float arrays, (K,)
        Of the answers that hold each label, as smoothed and with ancestors.
    popularity : float array, (K,)
        How often each label is said.
    total : float
        What popularity is counted in.
    fill : float
        As in the method.
    """

    reading: AnswerView
    used: IntArray
    extension: LandmarkExtension
    share: tuple[FloatArray, FloatArray]
    popularity: FloatArray
    total: float
    fill: float

    def predict(self, panel: Panel) -> Scores:
        """Return the solution of landmarks, and of others by one row each."""
        panel = apply_weights(panel, self.reading.heard)
        answered = np.flatnonzero(panel.answers_per_instance > 0)
        z = self.extension(self.reading.graph_rows(panel, answered, self.used))
        first = self._over_labels(z[:, : len(self.used)], self.share[0])
        closed = self._over_labels(z[:, -len(self.used) :], self.share[1]) if self._each else first
        if self.fill:
            closed = self.reading.filled(
                closed, panel, answered, self.popularity, self.total, self.fill
            )
        score = _over_instances(closed, answered, len(panel.instances))
        if not self._each:
            return Scores(score, score)
        return Scores(score, _over_instances(first, answered, len(panel.instances)))

    @property
    def _each(self) -> bool:
        return self.reading.each

    def _over_labels(self, z: FloatArray, share: FloatArray) -> FloatArray:
        found = np.zeros((len(z), len(share)))
        found[:, self.used] = z
        found += UNREACHED * share
        return found


def smooth_landmarks(
    parts: PanelPartitions,
    reading: AnswerView,
    *,
    landmarks: int,
    neighbours: int,
    sigma: float | None,
    lam: float,
    fill: float,
) -> FittedLandmarks:
    """Solve on a sample of the instances."""
    said, popularity, occurs, evidence, answered = parts.sum(
        partial(_counted, reading=reading), stage="counting"
    )
    used = np.flatnonzero(occurs > 0)
    sample = apply_weights(parts.sample(landmarks), reading.heard)
    there = np.flatnonzero(sample.answers_per_instance > 0)
    parts.progress("solving", 0, 1)
    began = time.perf_counter()
    vertices = vertices_of(reading.graph_rows(sample, there, used))
    extension, solution = solve_extension(vertices, neighbours=neighbours, sigma=sigma, lam=lam)
    step = _step(vertices, solution, len(used), time.perf_counter() - began)
    parts.progress("solving", 1, 1)
    counted = max(float(evidence), 1.0)
    return FittedLandmarks(
        reading=reading, used=used, extension=extension, fill=fill, popularity=popularity,
        share=(said / counted, popularity / counted), converged=solution.settled,
        total=float(answered if reading.average == "all-sources" else evidence),
        trace=(step,), notes=(_described(len(there), vertices, solution),),
    )  # fmt: skip


def distinct_in(panel: Panel, reading: AnswerView) -> int:
    """Return how many answered instances of a panel differ, some at a time."""
    used = np.arange(len(panel.taxonomy))

    def digests() -> Iterator[np.ndarray]:
        for span in dense_blocks(len(panel.instances), len(panel.taxonomy)):
            part = apply_weights(panel_block(panel, span), reading.heard)
            answered = np.flatnonzero(part.answers_per_instance > 0)
            yield reading.graph_rows(part, answered, used).digests()

    return len(np.unique(np.concatenate(list(digests()))))


def _counted(
    panel: Panel, *, reading: AnswerView
) -> tuple[FloatArray, FloatArray, FloatArray, float, int]:
    panel = apply_weights(panel, reading.heard)
    said = np.asarray(panel.sum_answers(panel.votes(reading.smoothed)).sum(axis=0)).ravel()
    answered = int((panel.answers_per_instance > 0).sum())
    return said, panel.popularity, panel.occurrences, float(panel.evidence.sum()), answered


def _over_instances(rows: FloatArray, answered: IntArray, instances: int) -> FloatArray:
    if len(rows) == instances:
        return rows
    scores = np.zeros((instances, rows.shape[1]))
    scores[answered] = rows
    return scores


def _step(vertices: Vertices, solution: Solution, labels: int, seconds: float) -> Step:
    """Return what the solve did to the landmarks, without a dense matrix of what they were."""
    Y, Z = vertices.distinct.values[:, :labels].tocsr(), solution.values[:, :labels]
    c = vertices.counts
    before, after = _squares(Y, c), float(c @ np.einsum("ij,ij->i", Z, Z))
    row = np.repeat(np.arange(len(c)), np.diff(Y.indptr))
    crossed = float((c[row] * Y.data) @ Z[row, Y.indices])
    moved = max(before - 2 * crossed + after, 0.0)
    spread_before = max(before - _of_mean(Y.T @ c, c), 0.0)
    spread_after = max(after - _of_mean(Z.T @ c, c), 0.0)
    return Step(
        0, _root_ratio(moved, before), None, _root_ratio(spread_after, spread_before), seconds
    )


def _squares(Y: Sparse, counts: FloatArray) -> float:
    return float(counts @ np.asarray(Y.multiply(Y).sum(axis=1)).ravel())


def _of_mean(total: FloatArray, counts: FloatArray) -> float:
    return float(total @ total) / max(float(counts.sum()), 1.0)


def _root_ratio(part: float, whole: float) -> float:
    return float(np.sqrt(part / whole)) if whole > 0 else 0.0


def _described(instances: int, vertices: Vertices, solution: Solution) -> str:
    how = (
        f"{solution.steps} steps of conjugate gradients, relative residual "
        f"{solution.residual:.1g} at most"
        if solution.steps
        else "by a factor"
    )
    return f"solved on {len(vertices.counts):,} distinct of {instances:,} landmarks, {how}"


def mean_of_used(
    panel: Panel, votes: VotesKind, average: Average, answered: IntArray, used: IntArray
) -> FloatArray:
    """Return the mean answers of some instances, for some labels."""
    return dense(panel.mean(votes, average)[answered][:, used])


def spread_out(
    values: FloatArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]
) -> FloatArray:
    """Return the values at their instances and labels, 0 elsewhere."""
    if values.shape == shape:
        return values
    full = np.zeros(shape)
    full[np.ix_(rows, columns)] = values
    return full
