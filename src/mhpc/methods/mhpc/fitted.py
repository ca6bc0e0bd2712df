"""The fitted model: vertices with their solution, and how any other instance is added to them.

Letters as in `algorithm`; for one instance: y its mean answer, n how strongly it holds on to it,
z its solution, d its degree. Row i of (n + lambda L) Z = n Y is, with W_ii = 1,

    (n + lambda - lambda / d_i) z_i = n y_i + lambda sum_j c_j w_ij / sqrt(d_i d_j) z_j

where c_j is the number of instances that vertex j stands for. With the z_j of the vertices known,
this gives z of an instance that was not in the graph.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.data.hierarchy import fill_down
from mhpc.data.panel import Average, Panel, PanelPartitions, VotesKind
from mhpc.data.scores import Scores
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.mhpc.algorithm import MAX_LAM, Anchor
from mhpc.methods.source_weights import (
    SourceWeighting,
    SourceWeights,
    apply_weights,
    learn_source_weights,
)
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Single, Sparse, dense
from mhpc.numerics.landmark_search import FAST_SEARCH, SearchOptions
from mhpc.numerics.neighbors import Landmarks, exp_similarity
from mhpc.numerics.sparse import (
    average_in_single,
    distinct_digests,
    incidence,
    row_blocks,
    row_digests,
)
from mhpc.parameters import registered
from mhpc.system.caching import cached_property

AnchorWeight: TypeAlias = Literal["none", "answers"]
Solver: TypeAlias = Literal["auto", "exact", "graph"]

BLOCK_CELLS = 1 << 22
"""Instances x vertices whose similarities are computed at once: 32 MB."""

UNREACHED = 1e-7
"""The weight of a label's popularity in a score: enough to rank labels that no path reaches."""


@dataclass(frozen=True)
class GraphSettings:
    """Every parameter of the method; `mhpc.MHPC` and `mhpc.LocalMHPC` document them."""

    lam: float
    sigma: float | None
    votes: VotesKind | Literal["each"]
    graph: VotesKind | None
    average: Average
    anchor: Anchor
    tol: float
    max_iter: int
    n_neighbors: int | None = None
    anchor_weight: AnchorWeight = "none"
    fill_strength: float = 0.0
    source_weights: SourceWeighting = "equal"
    solver: Solver = "auto"
    landmarks: int = 50_000

    @property
    def both_views(self) -> bool:
        """Whether votes with and without ancestors are smoothed side by side."""
        return self.votes == "each"

    @property
    def is_one_local_solve(self) -> bool:
        """Whether a graph of nearest neighbours is solved once, whatever the solver."""
        return self.n_neighbors is not None and self.max_iter == 0

    @property
    def smoothed(self) -> VotesKind:
        """The votes that are smoothed; with `both_views` those for `specific`."""
        return "raw" if self.votes == "each" else self.votes

    @property
    def compared(self) -> VotesKind:
        """The votes that similarity is estimated on."""
        return self.graph or ("augmented" if self.votes == "each" else self.smoothed)

    def read(
        self, partitions: PanelPartitions, support: FloatArray, *, exact: bool
    ) -> "GraphInput":
        """Return how answers become rows of the graph, with source weights if they are learned."""
        return GraphInput(
            self.smoothed,
            self.compared,
            self.average,
            self.anchor_weight,
            # The exact solver estimates similarity again, from what it is estimated on, smoothed.
            smooth_compared=self.both_views or (exact and self.compared != self.smoothed),
            source_weights=learn_source_weights(partitions, self.source_weights),
            support=support,
        )


@dataclass(frozen=True, eq=False)
class InstanceRows:
    """Instances as they enter the graph.

    Attributes
    ----------
    compared : csr_array, (N, K)
        The label vectors that distances are taken of, weighted by the support.
    values : csr_array, (N, columns)
        y, what is smoothed.
    evidence : float array, (N,)
        n.
    """

    compared: Sparse
    values: Sparse
    evidence: FloatArray

    def take(self, rows: IntArray) -> "InstanceRows":
        """Return the given rows."""
        return InstanceRows(self.compared[rows], self.values[rows], self.evidence[rows])

    def digests(self) -> npt.NDArray[np.uint64]:
        """Return a number per instance, equal for instances that cannot be distinguished."""
        columns = [self.values, self.compared, sparse.csr_array(self.evidence[:, None])]
        return row_digests(sparse.hstack(columns, format="csr"))


@registered("mhpc.input")
@dataclass(frozen=True, eq=False)
class GraphInput:
    """How the answers of a panel become rows of the graph.

    Attributes
    ----------
    smoothed, compared : "raw" or "augmented"
        Which votes are smoothed, and which ones similarity is estimated on.
    average, anchor_weight
        As in the method.
    smooth_compared : bool
        Whether the votes that are compared are smoothed too, in columns of their own.
    source_weights : SourceWeights or None
        How much the answers of each source count; None: all the same.
    support : float array, (K,)
        Weight of each label in a distance; empty: all the same.
    """

    smoothed: VotesKind
    compared: VotesKind
    average: Average
    anchor_weight: AnchorWeight
    smooth_compared: bool = False
    source_weights: SourceWeights | None = None
    support: FloatArray = field(default_factory=lambda: np.ones(0))

    def weigh(self, panel: Panel) -> Panel:
        """Return the panel with its answers weighted by their sources."""
        return apply_weights(panel, self.source_weights)

    def rows(self, panel: Panel, answered: IntArray, used: IntArray) -> InstanceRows:
        """Return the answered instances of a weighted panel, over the labels that are used."""
        kinds = {self.smoothed, self.compared}
        mean = {kind: panel.mean(kind, self.average)[answered][:, used] for kind in kinds}
        compared = values = mean[self.compared]
        if len(self.support):
            scale = sparse.diags_array(np.sqrt(self.support[used]), format="csr")
            compared = (compared @ scale).tocsr()
        if self.smooth_compared:
            values = sparse.hstack([mean[self.smoothed], mean[self.compared]], format="csr")
        else:
            values = mean[self.smoothed]
        by_answers = self.anchor_weight == "answers"
        evidence = panel.evidence[answered] if by_answers else np.ones(len(answered))
        return InstanceRows(compared, values, evidence)


@dataclass(frozen=True, eq=False)
class Vertices:
    """Distinct instances.

    Attributes
    ----------
    rows : InstanceRows
        V of them.
    counts : float array, (V,)
        How many instances each stands for.
    digests : uint64 array, (V,)
        What an instance that equals a vertex is recognised by.
    """

    rows: InstanceRows
    counts: FloatArray
    digests: npt.NDArray[np.uint64]


def distinct_vertices(rows: InstanceRows) -> Vertices:
    """Return the distinct instances, in the order of their first appearance."""
    digests = rows.digests()
    first, _, counts = distinct_digests(digests)
    return Vertices(rows.take(first), counts, digests[first])


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The place of N instances among the V vertices of a graph of nearest neighbours.

    Attributes
    ----------
    vertex : int array, (N,)
        The vertex that equals each instance; -1: none.
    weight : csr_array, (N, V)
        c_j w_ij of the vertices that each instance is joined to, other than its own.
    """

    vertex: IntArray
    weight: Sparse

    def averaging_matrix(self, counts: FloatArray) -> Sparse:
        """Return the weights by which instances average others, (N, V); rows add up to 1, or to 0.

        An instance that equals a vertex averages the others that the vertex stands for as well.
        """
        known = np.flatnonzero(self.vertex >= 0)
        own = self.vertex[known]
        equals = incidence(known, own, shape=self.weight.shape, values=counts[own] - 1.0)
        weight = self.weight + equals
        total = np.asarray(weight.sum(axis=1)).ravel()
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return (sparse.diags_array(scale, format="csr") @ weight).tocsr()


@registered("mhpc.extension")
@dataclass(frozen=True, eq=False)
class Extension:
    """A solution on vertices, extended to any instance.

    Attributes
    ----------
    landmarks : Landmarks
        What the V vertices are compared by, as in the last solve.
    solved : float array, (V, columns)
        z of the vertices.
    counts, degree : float array, (V,)
        c and d of the vertices.
    digests : uint64 array, (V,)
        What an instance that equals a vertex is recognised by.
    n_neighbors : int or None
        How many vertices an instance is joined to; None: to all.
    sigma, lam : float
        Of the graph.
    anchor : "previous" or "mean"
        As in the method.
    iterations : int
        How often similarity is estimated again from the solution.
    scale : float array, (K,)
        Root of the support, by which columns are weighted for that.
    near, distance : int and float array, (V, n_neighbors)
        The vertices that each vertex was joined to, the nearest first; empty if not recorded.
    """

    landmarks: Landmarks
    solved: FloatArray
    counts: FloatArray
    degree: FloatArray
    digests: npt.NDArray[np.uint64]
    n_neighbors: int | None
    sigma: float
    lam: float
    anchor: Anchor = "mean"
    iterations: int = 0
    scale: FloatArray = field(default_factory=lambda: np.ones(0))
    near: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    distance: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def solve(
        self,
        rows: InstanceRows,
        neighbors: Neighbors | None = None,
        *,
        block_cells: int = BLOCK_CELLS,
    ) -> FloatArray:
        """Return z, (N, columns): of a vertex as it was solved, of other instances by one row.

        Parameters
        ----------
        rows : InstanceRows
            N instances.
        neighbors : Neighbors, optional
            Their place in the graph, if it is known; only for a graph that is solved once.
        block_cells : int
            Instances x vertices whose similarities are computed at once.
        """
        vertex = self.find_vertices(rows) if neighbors is None else neighbors.vertex
        known, new = np.flatnonzero(vertex >= 0), np.flatnonzero(vertex < 0)
        if not len(new):
            return np.asarray(self.solved[vertex])
        z = np.empty(rows.values.shape)
        z[known] = self.solved[vertex[known]]
        if neighbors is not None:
            others = rows.take(new)
            z[new] = self._pull(neighbors.weight[new], dense(others.values), others.evidence)
            return z
        for part in self._blocks(len(new), block_cells):
            z[new[part]] = self._solve_new(rows.take(new[part]))
        return z

    def find_neighbors(
        self, rows: InstanceRows, *, options: SearchOptions = FAST_SEARCH
    ) -> Neighbors:
        """Return where instances are in a graph of nearest neighbours.

        Parameters
        ----------
        rows : InstanceRows
            N instances.
        options : SearchOptions
            How the nearest vertices of an instance that equals none are searched.
        """
        vertex = self.find_vertices(rows)
        known, new = np.flatnonzero(vertex >= 0), np.flatnonzero(vertex < 0)
        near = np.empty((len(vertex), self.near.shape[1]), dtype=np.int64)
        distance = np.empty(near.shape)
        near[known], distance[known] = self.near[vertex[known]], self.distance[vertex[known]]
        near[new], distance[new] = self.landmarks.nearest(
            rows.compared[new], near.shape[1], options=options
        )
        return Neighbors(vertex, self._similarities(near, distance))

    def find_vertices(self, rows: InstanceRows) -> IntArray:
        """Return the vertex that equals each instance, -1 if there is none."""
        if not len(self.digests):
            return np.full(len(rows.evidence), -1)
        digests, order = rows.digests(), np.argsort(self.digests)
        position = np.searchsorted(self.digests, digests, sorter=order)
        vertex = order[np.minimum(position, len(order) - 1)]
        return np.where(self.digests[vertex] == digests, vertex, -1)

    def _blocks(self, n_rows: int, block_cells: int) -> Iterator[slice]:
        # Nearest vertices are searched in blocks by `Landmarks` itself.
        cost = len(self.counts) if self.n_neighbors is None else 0
        return row_blocks(n_rows, cost, block_cells)

    def _solve_new(self, rows: InstanceRows) -> FloatArray:
        """Iterate as the vertices did, their solution being fixed."""
        own = dense(rows.values)
        z = self._solve_row(rows.compared, own, rows.evidence)
        for _ in range(self.iterations):
            compared = sparse.csr_array(z[:, -len(self.scale) :] * self.scale)
            z = self._solve_row(compared, own if self.anchor == "mean" else z, rows.evidence)
        return z

    def _solve_row(self, compared: Sparse, own: FloatArray, n: FloatArray) -> FloatArray:
        return self._pull(self._weights(compared), own, n)

    def _pull(self, weight: Block, own: FloatArray, n: FloatArray) -> FloatArray:
        """Return z of instances from the solution of the vertices that they are joined to."""
        total = np.asarray(weight.sum(axis=1)).ravel()
        degree, lam = 1.0 + total, min(self.lam, MAX_LAM)
        if isinstance(weight, np.ndarray):
            pull = weight / np.sqrt(self.degree) @ self.solved
        else:
            pull = average_in_single(weight, self._scaled)
        z = np.asarray(lam / np.sqrt(degree)[:, None] * pull + n[:, None] * own)
        # lambda - lambda / d, without the cancellation.
        z /= np.maximum(n + lam * (total / degree), 1e-12)[:, None]
        return z

    @cached_property
    def _scaled(self) -> Single:
        """The solution, divided by the roots of the degrees."""
        return (self.solved / np.sqrt(self.degree)[:, None]).astype(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        # What is derived from the rest is computed again where it is needed, rather than sent.
        return {key: value for key, value in vars(self).items() if key != "_scaled"}

    def _weights(self, compared: Sparse) -> Block:
        """Return c_j w_ij, (N, V)."""
        if self.n_neighbors is None:
            return self.counts * exp_similarity(self.landmarks.distances(compared), self.sigma)
        return self._similarities(*self.landmarks.nearest(compared, self.n_neighbors))

    def _similarities(self, near: IntArray, distance: FloatArray) -> Sparse:
        weight = self.counts[near] * exp_similarity(distance, self.sigma)
        row_ends = np.arange(len(near) + 1) * near.shape[1]
        entries = (weight.ravel(), near.ravel(), row_ends)
        return sparse.csr_array(entries, shape=(len(near), len(self.counts)))


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMHPC(FittedMethod, saved_as="mhpc.fitted"):
    """A solution that any instance can be added to.

    Attributes
    ----------
    inputs : GraphInput
        How answers become rows of the graph.
    used : int array
        The labels that somebody gave.
    extension : Extension
        The solution.
    both_views : bool
        Whether the last columns are `score` and the first `specific`, or one is both.
    popularity : float array, (K,)
        How often each label was given, by itself or through a label below it.
    total : float
        The number of answers that popularity was counted in, or of instances if the mean is over
        all sources.
    fill_strength : float
        As in the method.
    shares : pair of float arrays, (K,), or None
        The share of answers that contain each label, as smoothed and with ancestors, for ranking
        labels that no path of the graph reaches.
    n_sampled : int
        The number of instances in the sample that the vertices stand for.
    """

    inputs: GraphInput
    used: IntArray
    extension: Extension
    both_views: bool
    popularity: FloatArray
    total: float
    fill_strength: float
    shares: tuple[FloatArray, FloatArray] | None = None
    n_sampled: int = 0

    def predict(self, panel: Panel) -> Scores:
        """Return the scores: of vertices as they were solved, of other instances by one row."""
        panel = self.inputs.weigh(panel)
        answered = np.flatnonzero(panel.answers_per_instance > 0)
        z = self.extension.solve(self.inputs.rows(panel, answered, self.used))
        return self._make_scores(z, panel, answered)

    def predict_with_neighbors(self, panel: Panel) -> tuple[Scores, Neighbors]:
        """Return the scores, and where the answered instances are in the graph."""
        panel = self.inputs.weigh(panel)
        answered = np.flatnonzero(panel.answers_per_instance > 0)
        rows = self.inputs.rows(panel, answered, self.used)
        neighbors = self.extension.find_neighbors(rows)
        z = self.extension.solve(rows, neighbors)
        return self._make_scores(z, panel, answered), neighbors

    def find_vertices(self, panel: Panel) -> IntArray:
        """Return the vertex that equals each answered instance of a panel, -1 if there is none."""
        panel = self.inputs.weigh(panel)
        answered = np.flatnonzero(panel.answers_per_instance > 0)
        return self.extension.find_vertices(self.inputs.rows(panel, answered, self.used))

    def _make_scores(self, z: FloatArray, panel: Panel, answered: IntArray) -> Scores:
        # Conjugate gradients may end a little below 0.
        K, z = len(self.used), np.maximum(z, 0.0)
        specific = score = self._over_labels(z[:, :K], 0)
        if self.both_views:
            score = self._over_labels(z[:, K:], 1)
        if self.fill_strength:
            score = self._fill_down(score, panel, answered)
        score = _over_instances(score, answered, len(panel.instances))
        if not self.both_views:
            return Scores(score, score)
        return Scores(score, _over_instances(specific, answered, len(panel.instances)))

    def _over_labels(self, z: FloatArray, view: int) -> FloatArray:
        if len(self.used) < len(self.popularity):
            scores = np.zeros((len(z), len(self.popularity)))
            scores[:, self.used] = z
        else:
            scores = z
        return scores if self.shares is None else scores + UNREACHED * self.shares[view]

    def _fill_down(self, score: FloatArray, panel: Panel, answered: IntArray) -> FloatArray:
        """Return scores with the labels that sources left open, from the roots down."""
        evidence, total = panel.evidence[answered], self.total
        if self.inputs.average == "all-sources":
            # What the mean was divided by: both together are the answers for a label.
            evidence = np.full(len(evidence), float(len(panel.sources)))
            total *= float(len(panel.sources))
        return fill_down(
            score, evidence, self.popularity, panel.taxonomy,
            strength=self.fill_strength, total=total,
        )  # fmt: skip


def _over_instances(rows: FloatArray, answered: IntArray, n_instances: int) -> FloatArray:
    if len(rows) == n_instances:
        return rows
    scores = np.zeros((n_instances, rows.shape[1]))
    scores[answered] = rows
    return scores
