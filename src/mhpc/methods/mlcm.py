"""MLCM: multi-label consensus maximization on the bipartite graph of instances and groups.

A group j = (source, label) holds the instances to which the source gives the label; a_ij is the
score with which it does. Instances have label vectors u_i, groups q_j, and E holds the groups' own
labels. With w_j = sum_i a_ij and R dividing every instance by sum_j a_ij, one iteration is

    u = R a q,    q = (a' u + alpha E) / (w + alpha),

and its fixed point solves (diag(w + alpha) - a' R a) q = alpha E.
"""

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.scores import Scores, Step
from mhpc.data.size import Size
from mhpc.errors import ConvergenceWarning, warn
from mhpc.methods.base import MAX_ANSWERS, MAX_ITER, BaseMethod
from mhpc.methods.fitted import FittedMethod, SourceChange
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse, dense, ratio
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.numerics.sparse import incidence, row_blocks, row_indices
from mhpc.system.memory import memory_budget

STRIP_CELLS = 1 << 23
"""Cells of the groups x groups matrix that are summed in one pass over the answers."""

DENSE_SPEED = 100
"""Multiplications of dense matrices in the time of one multiplication of a vote."""

USUAL_ITERATIONS = 100
"""The number of iterations that is often needed."""

MIN_RELATIVE_ALPHA = 1e-10
"""The smallest alpha of the linear system, relative to the weight of the largest group: with less,
rounding errors would decide the solution."""


class MLCM(BaseMethod):
    """Instances and (source, label) groups average each other's label vectors until they agree.

    Vertices are instances i, with label vectors u_i, and groups j = (source, label k), with q_j;
    a_ij is the score with which the source gives the label to i. In turn

        q_j = (sum_i a_ij u_i + alpha e_k) / (sum_i a_ij + alpha),   u_i = mean of its q_j,

    so that labels of sources that group instances alike come to mean the same. Ignores the
    hierarchy. This is MLCM-r without cluster predictions.

    Only the q_j are fitted, (groups, K). Their fixed point is one linear system, which costs
    groups^3 / 3 + 2 groups^2 K whatever the number of instances; an iteration costs votes x K.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.MLCM()).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "mlcm"
    summary: ClassVar[str] = "multi-label consensus maximisation, blind to the hierarchy"
    reference: ClassVar[str] = (
        "Xie, Kong, Gao, Fan, Yu: Multilabel Consensus Classification, ICDM 2013, arXiv 1310.4252"
    )

    alpha: Annotated[float, Field(gt=0, le=MAX_ANSWERS)] = 2.0
    """How strongly a group holds on to its own label. The linear system uses at least 1e-10 of the
    weight of the largest group, at which all groups that share instances mean the same up to
    rounding."""

    solver: Literal["auto", "exact", "alternate"] = "auto"
    """Solve the linear system, or iterate; ``auto``: whatever fits in memory and costs less."""

    tol: Annotated[float, Field(ge=0)] = 1e-5
    """When iterating, stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1, le=MAX_ITER)] = 500
    """Iterations at most."""

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes of the groups' label vectors, and of the factor if there is one."""
        factor = 8 * size.groups**2
        vectors = 8 * 6 * size.groups * size.labels
        return vectors + (factor if 3 * factor <= memory_budget() else 0)

    def describe_memory(self, size: Size) -> str:
        """Return how many label vectors there are, and how long they are."""
        return (
            f"for {size.labels:,} numbers for each of {size.groups:,} pairs of a source and a label"
        )

    def fit(self, partitions: PanelPartitions) -> "FittedMLCM":
        """Estimate the label vectors of all groups: what each source means by each label."""
        groups = find_groups(partitions)
        if self.solver == "exact" or (self.solver == "auto" and is_faster_to_solve(groups)):
            q, trace = self._solve(partitions, groups)
            return FittedMLCM(group=groups.group, q=q, trace=trace, converged=True)
        q, trace = self._iterate(partitions, groups)
        converged = trace[-1].change <= self.tol
        if not converged:
            warn(
                f"mlcm stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        return FittedMLCM(group=groups.group, q=q, trace=trace, converged=converged)

    def _solve(
        self, partitions: PanelPartitions, groups: "Groups"
    ) -> tuple[FloatArray, tuple[Step, ...]]:
        start, own = time.perf_counter(), groups.own_labels
        initial = update_instances(partitions, groups, own, own)
        q = solve_consensus(partitions, groups, alpha=self.alpha)
        solution = update_instances(partitions, groups, q, q - own)
        step = _make_step(0, initial, initial, solution, partitions.instances, start)
        return q, (step,)

    def _iterate(
        self, partitions: PanelPartitions, groups: "Groups"
    ) -> tuple[FloatArray, tuple[Step, ...]]:
        q = groups.own_labels
        initial = current = update_instances(partitions, groups, q, q)
        trace = list[Step]()
        for iteration in range(self.max_iter):
            start, previous_q, previous = time.perf_counter(), q, current
            q = update_groups(groups, current, alpha=self.alpha)
            current = update_instances(partitions, groups, q, q - previous_q)
            step = _make_step(iteration, initial, previous, current, partitions.instances, start)
            trace.append(step)
            partitions.progress("iterating", iteration + 1, self.max_iter)
            if step.change <= self.tol:
                break
        return q, tuple(trace)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMLCM(FittedMethod, saved_as="mlcm.fitted"):
    """What each source means by each label.

    Attributes
    ----------
    group : int array, (G,)
        The groups that have a member, ascending: source x K + label.
    q : float array, (G, K)
        Their label vectors.
    """

    group: IntArray
    q: FloatArray

    def with_sources(self, sources: SourceChange) -> "FittedMLCM":
        """Return the model for other sources, whose labels mean themselves if they are new."""
        source, label = np.divmod(self.group, self.q.shape[1])
        group = sources.locate(source) * np.int64(self.q.shape[1]) + label
        return replace(self, group=group)

    def predict(self, panel: Panel) -> Scores:
        """Return the instances' label vectors; a label that is new with its source means itself."""
        votes = group_votes(panel, self.group)
        u = np.asarray(votes.by_group @ self.q)
        if not votes.is_known.all():
            u += dense(votes.by_new_label)
        # They are means of labels' shares; the linear system leaves rounding errors.
        np.clip(u, 0.0, 1.0, out=u)
        return Scores(u, u)


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that have a member.

    Attributes
    ----------
    group, label : int arrays, (G,)
        Source x K + label, ascending, and the label.
    weight : float array, (G,)
        w_j = sum_i a_ij.
    n_labels, n_votes : int
        K, and the number of nonzero a_ij.
    """

    group: IntArray
    label: IntArray
    weight: FloatArray
    n_labels: int
    n_votes: int

    @property
    def own_labels(self) -> FloatArray:
        """E: vectors that mean nothing but the groups' own labels, (G, K)."""
        E = np.zeros((len(self.group), self.n_labels))
        E[np.arange(len(E)), self.label] = 1.0
        return E


def find_groups(partitions: PanelPartitions) -> Groups:
    """Return the groups of all partitions."""
    weight, n_votes = partitions.sum(_sum_votes)
    weight.sort_indices()
    K = len(partitions.taxonomy)
    group = row_indices(weight) * np.int64(K) + weight.indices
    return Groups(group, group % K, weight.data, K, int(n_votes))


def _sum_votes(panel: Panel) -> tuple[Sparse, int]:
    """Return the sum of every source's votes for every label, (M, K), and their number."""
    by_source = incidence(panel.source, shape=(len(panel.sources), len(panel.source)))
    return (by_source @ panel.raw).tocsr(), panel.raw.nnz


@dataclass(frozen=True, eq=False)
class GroupVotes:
    """Votes for labels, as shares of all votes for their instance.

    Attributes
    ----------
    instance, cell, group : int arrays, (V,)
        The instance of each vote, its source x K + label, and the position of that in the groups.
    is_known : bool array, (V,)
        Whether there is such a group.
    share : float array, (V,)
        a_ij / sum_j a_ij.
    total : float array, (N,)
        sum_j a_ij.
    shape : triple of int
        N, K and G.
    """

    instance: IntArray
    cell: IntArray
    group: IntArray
    is_known: BoolArray
    share: FloatArray
    total: FloatArray
    shape: tuple[int, int, int]

    @property
    def by_group(self) -> Sparse:
        """R a, (N, G)."""
        N, _, G = self.shape
        known = self.is_known
        return incidence(
            self.instance[known], self.group[known], shape=(N, G), values=self.share[known]
        )

    @property
    def by_new_label(self) -> Sparse:
        """The shares of votes whose group is not known, at their labels, (N, K)."""
        N, K, _ = self.shape
        new = ~self.is_known
        return incidence(
            self.instance[new], self.cell[new] % K, shape=(N, K), values=self.share[new]
        )


def group_votes(panel: Panel, group: IntArray) -> GroupVotes:
    """Return the votes of a panel with the groups that they belong to."""
    answer, K, N = row_indices(panel.raw), len(panel.taxonomy), len(panel.instances)
    instance, cell = panel.instance[answer], panel.source[answer] * np.int64(K) + panel.raw.indices
    # Where there is no group, the last one takes its place.
    position = np.minimum(np.searchsorted(group, cell), len(group) - 1)
    total = np.bincount(instance, panel.raw.data, minlength=N).astype(float)
    return GroupVotes(
        instance=instance,
        cell=cell,
        group=position,
        is_known=group[position] == cell if len(group) else np.zeros(len(cell), dtype=bool),
        share=panel.raw.data / total[instance],
        total=total,
        shape=(N, K, len(group)),
    )


def is_faster_to_solve(groups: Groups, *, dense_speed: int = DENSE_SPEED) -> bool:
    """Return whether the linear system fits in memory and costs less than the iteration."""
    G, K = len(groups.group), groups.n_labels
    if memory_budget() < G * G * 8 * 3:
        return False
    factor = G**3 / 3 + 2 * G * G * K
    return factor <= USUAL_ITERATIONS * dense_speed * groups.n_votes * K


def solve_consensus(
    partitions: PanelPartitions, groups: Groups, *, alpha: float, strip_cells: int = STRIP_CELLS
) -> FloatArray:
    """Return the fixed point of q, (G, K), in G^3 / 3 + 2 G^2 K multiplications."""
    G = len(groups.group)
    A = np.empty((G, G))
    for strip in row_blocks(G, max(G, 1), strip_cells):
        (overlap,) = partitions.sum(partial(_sum_overlap, group=groups.group, strip=strip))
        A[:, strip] = -dense(overlap)
        partitions.progress("summing the overlap of groups", strip.stop, G)
    alpha = max(alpha, MIN_RELATIVE_ALPHA * float(groups.weight.max(initial=0.0)))
    A[np.diag_indices(G)] += groups.weight + alpha
    return solve_positive_definite(A, alpha * groups.own_labels)


def _sum_overlap(panel: Panel, *, group: IntArray, strip: slice) -> tuple[Sparse]:
    """Return some columns of a' R a."""
    votes = group_votes(panel, group)
    R_a = votes.by_group
    a_strip = sparse.diags_array(votes.total, format="csr") @ R_a[:, strip]
    return ((R_a.T.tocsr() @ a_strip).tocsr(),)


@dataclass(frozen=True, eq=False)
class InstanceSums:
    """Sums over the label vectors u of all instances, given q and how far it moved.

    Attributes
    ----------
    by_group : float array, (G, K)
        a' u.
    squares, moved_squares : float
        |u|^2, and the same of how far u moved.
    by_label : float array, (K,)
        sum_i u_i.
    """

    by_group: FloatArray
    squares: float
    moved_squares: float
    by_label: FloatArray

    def spread(self, instances: int) -> float:
        """Return the distance of the instances from their mean."""
        common = float(self.by_label @ self.by_label) / max(instances, 1)
        return math.sqrt(max(self.squares - common, 0.0))


def update_instances(
    partitions: PanelPartitions, groups: Groups, q: FloatArray, moved: FloatArray
) -> InstanceSums:
    """Compute u = R a q for all instances, and return the sums over it, in votes x K x 3."""
    return InstanceSums(*partitions.sum(partial(_sum_u, group=groups.group, q=q, moved=moved)))


def _sum_u(
    panel: Panel, *, group: IntArray, q: FloatArray, moved: FloatArray
) -> tuple[FloatArray, float, float, FloatArray]:
    votes = group_votes(panel, group)
    R_a = votes.by_group
    u = np.asarray(R_a @ q)
    squares, by_label = float(np.vdot(u, u)), u.sum(axis=0)
    u *= votes.total[:, None]
    by_group = np.asarray(R_a.T @ u)
    # How far u moved is as large as u, and takes its place in memory.
    del u
    moved_u = np.asarray(R_a @ moved)
    return by_group, squares, float(np.vdot(moved_u, moved_u)), by_label


def update_groups(groups: Groups, sums: InstanceSums, *, alpha: float) -> FloatArray:
    """Return q = (a' u + alpha E) / (w + alpha), (G, K)."""
    q = sums.by_group.copy()
    q[np.arange(len(q)), groups.label] += alpha
    q /= (groups.weight + alpha)[:, None]
    return q


def _make_step(
    iteration: int,
    initial: InstanceSums,
    before: InstanceSums,
    after: InstanceSums,
    instances: int,
    start: float,
) -> Step:
    change = ratio(math.sqrt(after.moved_squares), math.sqrt(before.squares))
    spread = ratio(after.spread(instances), initial.spread(instances))
    return Step(iteration, change, None, spread, time.perf_counter() - start)
