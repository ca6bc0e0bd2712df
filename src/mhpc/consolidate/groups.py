"""Groups: the instances that a source gives a label, and passes from them to instances and back.

Letters: a_ij how much instance i is in group j, u_i and q_j their label vectors, R what divides
each instance by sum_j a_ij.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.consolidate.pairs import rows_of
from mhpc.core.arrays import BoolArray, FloatArray, IntArray, Sparse, dense
from mhpc.core.memory import memory_budget
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts
from mhpc.errors import TooLargeError

_STRIP = 1 << 23
"""Cells of the groups by groups that are summed in one pass over the answers."""

_PASS = 30
"""How many multiplications of dense matrices take the time of one of a vote."""


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


class Pass(NamedTuple):
    """What a pass over all instances finds, given q.

    Attributes
    ----------
    sums : float array, (G, K)
        sum_i a_ij u_i.
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
        return math.sqrt(max(self.squares, 0.0))

    @property
    def moved(self) -> float:
        """How far u moved."""
        return math.sqrt(max(self.moves, 0.0))

    def spread(self, instances: int) -> float:
        """Return how far instances lie from their mean."""
        common = float(self.total @ self.total) / max(instances, 1)
        return math.sqrt(max(self.squares - common, 0.0))


Way: TypeAlias = Callable[[FloatArray, FloatArray, float], Pass]
"""From q, how far it moved, and |u|^2 before it did, to what a pass finds."""


def groups_in(parts: Parts) -> Groups:
    """Return the groups; refuses more than fit."""
    weight, votes = parts.total(_weights)
    G, K = weight.nnz, len(parts.taxonomy)
    needed, budget = 8 * 6 * G * K, memory_budget()
    if needed > budget:
        raise TooLargeError(
            f"mlcm keeps {K:,} numbers for each of {G:,} pairs of a source and a label, which "
            f"needs about {needed / 1e9:.1f} GB, and {budget / 1e9:.1f} GB may be used; "
            "raise --memory, or use --method majority"
        )
    weight.sort_indices()
    group = rows_of(weight) * np.int64(K) + weight.indices
    return Groups(group, group % K, weight.data, K, int(votes))


def _weights(panel: Panel) -> tuple[Sparse, int]:
    """Return the sum of every source's votes for every label, (M, K), and how many there are."""
    A = len(panel.source)
    entries = (np.ones(A), (panel.source, np.arange(A)))
    by_source = sparse.csr_array(entries, shape=(len(panel.sources), A))
    return (by_source @ panel.raw).tocsr(), panel.raw.nnz


def cheaper_way(parts: Parts, groups: Groups) -> Way:
    """Return the cheaper way: through the instances, or through groups that share them."""
    G = len(groups.group)
    between = G * G
    if between > _PASS * groups.votes or between > memory_budget() / (4 * 2 * 8):
        return partial(_through_instances, parts, groups.group)
    return _Between(*_between(parts, groups.group))


def _through_instances(
    parts: Parts, group: IntArray, q: FloatArray, moved: FloatArray, before: float
) -> Pass:
    return Pass(*parts.total(partial(_passed, group=group, q=q, moved=moved)))


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


@dataclass(frozen=True, eq=False)
class _Between:
    """Passes without instances: u = R a q, so that sums over them are products between groups.

    Attributes
    ----------
    once, twice : float arrays, (G, G)
        a' R a and a' R R a.
    share : float array, (G,)
        1' R a.
    """

    once: FloatArray
    twice: FloatArray
    share: FloatArray

    def __call__(self, q: FloatArray, moved: FloatArray, before: float) -> Pass:
        T = self.twice @ moved
        # |a + b|^2 = |a|^2 + 2 ab + |b|^2, which spares a product with q.
        moves, along = float(np.vdot(moved, T)), float(np.vdot(q, T))
        return Pass(self.once @ q, before + 2 * along - moves, moves, self.share @ q)


def _between(parts: Parts, group: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum the products, some columns at a time, so that no more than they is needed."""
    G = len(group)
    once, twice, share = np.empty((G, G)), np.empty((G, G)), np.zeros(G)
    step = max(1, _STRIP // max(G, 1))
    for start in range(0, G, step):
        strip = slice(start, start + step)
        one, two, share = parts.total(partial(_products, group=group, strip=strip))
        once[:, strip], twice[:, strip] = dense(one), dense(two)
    return once, twice, share


def _products(panel: Panel, *, group: IntArray, strip: slice) -> tuple[Sparse, Sparse, FloatArray]:
    votes = votes_for(panel, group)
    a = votes.by_group
    some, back = a[:, strip], a.T.tocsr()
    once = (back @ (sparse.diags_array(votes.total, format="csr") @ some)).tocsr()
    return once, (back @ some).tocsr(), np.asarray(a.sum(axis=0)).ravel()


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
