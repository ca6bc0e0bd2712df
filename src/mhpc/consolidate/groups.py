"""Groups: the instances that a source gives a label.

Letters: a_ij how much instance i is in group j, R what divides each instance by sum_j a_ij.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.consolidate.pairs import rows_of
from mhpc.core.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.core.memory import as_text, memory_budget
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts
from mhpc.errors import TooLargeError


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


def groups_in(parts: Parts) -> Groups:
    """Return the groups; refuses more than fit."""
    weight, votes = parts.total(_weights)
    G, K = weight.nnz, len(parts.taxonomy)
    needed, budget = 8 * 6 * G * K, memory_budget()
    if needed > budget:
        raise TooLargeError(
            f"mlcm keeps {K:,} numbers for each of {G:,} pairs of a source and a label, which "
            f"needs about {as_text(needed)}, and {as_text(budget)} may be used; "
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
