"""Consensus of instances and groups: where their label vectors settle, and rounds towards it.

Letters: a_ij how much instance i is in group j, u_i and q_j their label vectors, R what divides
each instance by sum_j a_ij, w_j = sum_i a_ij, E the groups' own labels. A round is

    u = R a q,    q = (a' u + alpha E) / (w + alpha),

and it settles where (diag(w + alpha) - a' R a) q = alpha E.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from mhpc.consolidate.groups import Groups, votes_for
from mhpc.core.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.core.memory import memory_budget
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress
from mhpc.graph.solve import solve_positive_definite

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


def settled(parts: Parts, groups: Groups, *, alpha: float, progress: Progress) -> FloatArray:
    """Return where q settles, (G, K): G^3 / 3 + 2 G^2 K multiplications, whatever N is."""
    G = len(groups.group)
    A, step = np.empty((G, G)), max(1, _STRIP // max(G, 1))
    for start in range(0, G, step):
        strip = slice(start, start + step)
        (shared,) = parts.total(partial(_shared, group=groups.group, strip=strip))
        A[:, strip] = -dense(shared)
        progress("groups that share instances", min(start + step, G), G)
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


def pass_over(parts: Parts, groups: Groups, q: FloatArray, moved: FloatArray) -> Pass:
    """Return what is found: votes x K multiplications, three times."""
    return Pass(*parts.total(partial(_passed, group=groups.group, q=q, moved=moved)))


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
