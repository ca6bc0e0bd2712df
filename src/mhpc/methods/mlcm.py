"""MLCM: consensus on the instance-group graph.

Letters: a_ij how much instance i is in group j, R what divides each instance by sum_j a_ij.

Letters: a_ij how much instance i is in group j, u_i and q_j their label vectors, R what divides
each instance by sum_j a_ij, w_j = sum_i a_ij, E the groups' own labels. A round is

    u = R a q,    q = (a' u + alpha E) / (w + alpha),

and it settles where (diag(w + alpha) - a' R a) q = alpha E.
"""

import math
import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, Size
from mhpc.data.scores import Scores, Step
from mhpc.errors import ConvergenceWarning
from mhpc.methods.base import BaseMethod, FittedMethod
from mhpc.methods.pairs import rows_of
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse, dense
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.parameters import registered
from mhpc.system.memory import memory_budget


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups that have a member.

    Attributes
    ----------
    group, label : int arrays, (G,)
        Source x K + label, rising, and the label.
    weight : float array, (G,)
        sum_i a_ij.
    labels, votes : int
        K, and how many a_ij there are.
    """

    group: IntArray
    label: IntArray
    weight: FloatArray
    labels: int
    votes: int

    @property
    def own(self) -> FloatArray:
        """Vectors that mean nothing but the groups' own labels, (G, K)."""
        q = np.zeros((len(self.group), self.labels))
        q[np.arange(len(q)), self.label] = 1.0
        return q


def groups_in(parts: PanelPartitions) -> Groups:
    """Return the groups."""
    weight, votes = parts.sum(_weights)
    K = len(parts.taxonomy)
    weight.sort_indices()
    group = rows_of(weight) * np.int64(K) + weight.indices
    return Groups(group, group % K, weight.data, K, int(votes))


def _weights(panel: Panel) -> tuple[Sparse, int]:
    """Return the sum of every source's votes for every label, (M, K), and how many there are."""
    A = len(panel.source)
    entries = (np.ones(A), (panel.source, np.arange(A)))
    by_source = sparse.csr_array(entries, shape=(len(panel.sources), A))
    return (by_source @ panel.raw).tocsr(), panel.raw.nnz


@dataclass(frozen=True, eq=False)
class GroupVotes:
    """Votes for labels, as shares of all votes for their instance.

    Attributes
    ----------
    instance, cell, group : int arrays, (V,)
        The instance of each vote, its source x K + label, and the place of that in the groups.
    known : bool array, (V,)
        Where there is such a group.
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
    known: BoolArray
    share: FloatArray
    total: FloatArray
    shape: tuple[int, int, int]

    @property
    def by_group(self) -> Sparse:
        """R a, (N, G)."""
        N, _, G = self.shape
        instance, group = self.instance[self.known], self.group[self.known]
        return sparse.csr_array((self.share[self.known], (instance, group)), shape=(N, G))

    @property
    def without_group(self) -> Sparse:
        """The shares of votes that no group is known for, at their labels, (N, K)."""
        N, K, _ = self.shape
        instance, label = self.instance[~self.known], self.cell[~self.known] % K
        return sparse.csr_array((self.share[~self.known], (instance, label)), shape=(N, K))


def votes_for(panel: Panel, group: IntArray) -> GroupVotes:
    """Return the votes of a panel beside the groups that they are for."""
    answer, K = rows_of(panel.raw), len(panel.taxonomy)
    instance, cell = panel.instance[answer], panel.source[answer] * np.int64(K) + panel.raw.indices
    # The last group stands in where there is none.
    place = np.minimum(np.searchsorted(group, cell), len(group) - 1)
    N = len(panel.instances)
    total = np.bincount(instance, panel.raw.data, minlength=N).astype(float)
    return GroupVotes(
        instance=instance,
        cell=cell,
        group=place,
        known=group[place] == cell if len(group) else np.zeros(len(cell), dtype=bool),
        share=panel.raw.data / total[instance],
        total=total,
        shape=(N, K, len(group)),
    )


_STRIP = 1 << 23
"""Cells of the groups by groups that are summed in one pass over the answers."""

_PASS = 100
"""How many multiplications of dense matrices take the time of one of a vote."""

_LOOSEST = 1e-10
"""The least that alpha counts as, to the weight of the largest group: with less, too little is left
of it in the sum of both, and rounding would decide where all settles."""

_ROUNDS = 100
"""How many rounds it often takes."""


def settles_faster(groups: Groups) -> bool:
    """Tell whether a factor of groups by groups fits, and costs less than rounds."""
    G, K = len(groups.group), groups.labels
    factor = G**3 / 3 + 2 * G * G * K
    return memory_budget() >= G * G * 8 * 3 and factor <= _ROUNDS * _PASS * groups.votes * K


def solve_consensus(parts: PanelPartitions, groups: Groups, *, alpha: float) -> FloatArray:
    """Return where q settles, (G, K): G^3 / 3 + 2 G^2 K multiplications, whatever N is."""
    G = len(groups.group)
    A, step = np.empty((G, G)), max(1, _STRIP // max(G, 1))
    for start in range(0, G, step):
        strip = slice(start, start + step)
        (shared,) = parts.sum(partial(_shared, group=groups.group, strip=strip))
        A[:, strip] = -dense(shared)
        parts.progress("groups that share instances", min(start + step, G), G)
    alpha = max(alpha, _LOOSEST * float(groups.weight.max(initial=0.0)))
    A[np.diag_indices(G)] += groups.weight + alpha
    return solve_positive_definite(A, alpha * groups.own)


def _shared(panel: Panel, *, group: IntArray, strip: slice) -> tuple[Sparse]:
    """Return some columns of a' R a."""
    votes = votes_for(panel, group)
    a = votes.by_group
    some = sparse.diags_array(votes.total, format="csr") @ a[:, strip]
    return ((a.T.tocsr() @ some).tocsr(),)


def moved_on(groups: Groups, found: "Pass", *, alpha: float) -> FloatArray:
    """Return q after a round, from what a pass found."""
    after = found.sums.copy()
    after[np.arange(len(after)), groups.label] += alpha
    after /= (groups.weight + alpha)[:, None]
    return after


@dataclass(frozen=True, eq=False)
class Pass:
    """What a pass over all instances finds, given q and how far it moved.

    Attributes
    ----------
    sums : float array, (G, K)
        a' u.
    squares, moves : float
        |u|^2, and the same of how far it moved.
    total : float array, (K,)
        sum_i u_i.
    """

    sums: FloatArray
    squares: float
    moves: float
    total: FloatArray

    @property
    def size(self) -> float:
        """|u|."""
        return math.sqrt(self.squares)

    @property
    def moved(self) -> float:
        """How far u moved."""
        return math.sqrt(self.moves)

    def spread(self, instances: int) -> float:
        """Return how far instances lie from their mean."""
        common = float(self.total @ self.total) / max(instances, 1)
        return math.sqrt(max(self.squares - common, 0.0))


def pass_over(parts: PanelPartitions, groups: Groups, q: FloatArray, moved: FloatArray) -> Pass:
    """Return what is found: votes x K multiplications, three times."""
    return Pass(*parts.sum(partial(_passed, group=groups.group, q=q, moved=moved)))


def _passed(
    panel: Panel, *, group: IntArray, q: FloatArray, moved: FloatArray
) -> tuple[FloatArray, float, float, FloatArray]:
    votes = votes_for(panel, group)
    a = votes.by_group
    u = np.asarray(a @ q)
    squares, total = float(np.vdot(u, u)), u.sum(axis=0)
    u *= votes.total[:, None]
    sums = np.asarray(a.T @ u)
    # How far u moved is as large as u, and needs its place.
    del u
    move = np.asarray(a @ moved)
    return sums, squares, float(np.vdot(move, move)), total


class MLCM(BaseMethod):
    """Instances and (source, label) groups that average each other until they agree.

    Vertices are instances i, with label vectors u_i, and groups j = (source, label k), with
    q_j; a_ij is the score with which the source gives the label to i. In turn

        q_j = (sum_i a_ij u_i + alpha e_k) / (sum_i a_ij + alpha),   u_i = mean of its q_j,

    so that sources who group instances alike come to mean the same. Knows no hierarchy. This
    is MLCM-r without cluster predictions.

    All that is learnt are the q_j, (groups, K). Where they settle is one linear system, which
    costs groups^3 / 3 + 2 groups^2 K whatever the number of instances; an iteration towards it
    costs votes x K.
    """

    name: ClassVar[str] = "mlcm"
    summary: ClassVar[str] = "multi-label consensus maximisation, blind to the hierarchy"
    reference: ClassVar[str] = (
        "Xie, Kong, Gao, Fan, Yu: Multilabel Consensus Classification, ICDM 2013, arXiv 1310.4252"
    )

    alpha: Annotated[float, Field(gt=0)] = 2.0
    """How firmly a group holds on to its own label. Solved for at once, no less than 1e-10 of the
    votes of the largest group, where all that share instances mean the same but for rounding."""

    solver: Literal["auto", "exact", "alternate"] = "auto"
    """Solve for where they settle, or average in turn; ``auto``: what costs less and fits."""

    tol: Annotated[float, Field(ge=0)] = 1e-5
    """When averaging in turn, stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1)] = 500
    """Iterations at most."""

    def estimate_memory(self, size: Size) -> int:
        """Return what vectors of groups take, and their factor where there is one."""
        factor = 8 * size.groups**2
        vectors = 8 * 6 * size.groups * size.labels
        return vectors + (factor if 3 * factor <= memory_budget() else 0)

    def describe_memory(self, size: Size) -> str:
        """Return how many label vectors there are, and how long they are."""
        return (
            f"for {size.labels:,} numbers for each of {size.groups:,} pairs of a source and a label"
        )

    def fit(self, parts: PanelPartitions) -> "FittedMLCM":
        """Learn what each source means by each label."""
        groups = groups_in(parts)
        if self.solver == "exact" or (self.solver == "auto" and settles_faster(groups)):
            q, trace = self._at_once(parts, groups)
            return FittedMLCM(group=groups.group, q=q, trace=trace, converged=True)
        q, trace = self._in_turn(parts, groups)
        converged = trace[-1].change <= self.tol
        if not converged:
            warnings.warn(
                f"mlcm stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        return FittedMLCM(group=groups.group, q=q, trace=trace, converged=converged)

    def _at_once(
        self, parts: PanelPartitions, groups: Groups
    ) -> tuple[FloatArray, tuple[Step, ...]]:
        began, own = time.perf_counter(), groups.own
        votes = pass_over(parts, groups, own, own)
        q = solve_consensus(parts, groups, alpha=self.alpha)
        found = pass_over(parts, groups, q, q - own)
        return q, (_step(0, votes, votes, found, parts.instances, began),)

    def _in_turn(
        self, parts: PanelPartitions, groups: Groups
    ) -> tuple[FloatArray, tuple[Step, ...]]:
        q = groups.own
        votes = found = pass_over(parts, groups, q, q)
        trace = list[Step]()
        for iteration in range(self.max_iter):
            began, before, earlier = time.perf_counter(), q, found
            q = moved_on(groups, found, alpha=self.alpha)
            found = pass_over(parts, groups, q, q - before)
            trace.append(_step(iteration, votes, earlier, found, parts.instances, began))
            parts.progress("alternating", iteration + 1, self.max_iter)
            if trace[-1].change <= self.tol:
                break
        return q, tuple(trace)


@registered("mlcm.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMLCM(FittedMethod):
    """What each source means by each label.

    Attributes
    ----------
    group : int array, (G,)
        The groups that have a member, rising: source x K + label.
    q : float array, (G, K)
        Their label vectors.
    """

    group: IntArray
    q: FloatArray

    def predict(self, panel: Panel) -> Scores:
        """Return the instances' label vectors; a label new with its source means itself."""
        votes = votes_for(panel, self.group)
        u = np.asarray(votes.by_group @ self.q)
        if not votes.known.all():
            u += dense(votes.without_group)
        return Scores(u, u)


def _step(
    iteration: int, votes: Pass, before: Pass, after: Pass, instances: int, began: float
) -> Step:
    change = _ratio(after.moved, before.size)
    spread = _ratio(after.spread(instances), votes.spread(instances))
    return Step(iteration, change, None, spread, time.perf_counter() - began)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
