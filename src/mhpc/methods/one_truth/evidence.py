"""The votes on every instance beside the labels that could be its truth, laid out for EM."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.data.hierarchy import deepest
from mhpc.data.panel import Panel
from mhpc.methods.one_truth.label_relations import (
    LabelRelations,
    Relation,
    build_label_relations,
    relate_labels,
)
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import concatenate_ranges, incidence, row_blocks, row_digests, row_indices
from mhpc.system.caching import cached_property

MIN_STRENGTH = 1e-9
"""Votes weaker than this are left out."""

BLOCK_PAIRS = 1 << 22
"""Pairs of votes whose redundancy is computed in one block, which bounds memory."""

ENOUGH_OTHERS = 1.5
"""Independent other answers from which on they alone assess an answer: two that are not entirely
independent suffice."""


@dataclass(frozen=True, eq=False)
class SpecificVotes:
    """The most specific labels of every answer, one vote each, sorted by instance and source.

    Attributes
    ----------
    instance, source, label : int arrays, (V,)
        Which source gave which label to which instance.
    share : float array, (V,)
        1 / number of labels in the answer, so that the votes of an answer add up to one.
    strength : float array, (V,)
        The share x the score of the vote x the weight of the answer.
    """

    instance: IntArray
    source: IntArray
    label: IntArray
    share: FloatArray
    strength: FloatArray


def extract_specific_votes(panel: Panel) -> SpecificVotes:
    """Return the most specific labels of every answer; an empty answer gives none."""
    given = deepest(panel.augmented, panel.taxonomy)
    answer = row_indices(given)
    share = 1.0 / np.diff(given.indptr)[answer]
    strength = share * given.data * panel.answer_weights[answer]
    counts = strength > MIN_STRENGTH
    answer = answer[counts]
    return SpecificVotes(
        instance=panel.instance[answer],
        source=panel.source[answer],
        label=given.indices[counts].astype(np.int64),
        share=share[counts],
        strength=strength[counts],
    )


def digest_votes(votes: SpecificVotes, panel: Panel, *, n_sources: int) -> npt.NDArray[np.uint64]:
    """Return a 64-bit digest of the votes on every instance, (N,), equal for equal votes.

    `n_sources` is how many sources there were when digests were made that are compared with these.
    """
    cells = n_sources * len(panel.taxonomy)
    cell = votes.source * np.int64(len(panel.taxonomy)) + votes.label
    first = np.searchsorted(votes.instance, np.arange(len(panel.instances) + 1))
    # Both the strength and the share of a vote enter the likelihood, so that both are digested.
    entries = np.stack([votes.strength, votes.share], axis=1).ravel()
    columns = np.stack([cell, cell + cells], axis=1).ravel()
    # Sources that were new after that have columns beyond those of the others.
    shape = (len(panel.instances), cells + len(panel.sources) * len(panel.taxonomy))
    return row_digests(sparse.csr_array((entries, columns, 2 * first), shape=shape))


def find_candidates(votes: SpecificVotes, panel: Panel, known: Sparse | None = None) -> Sparse:
    """Return the labels that could be the truth of each instance, (N, K) with ones.

    These are the labels given to it and their ancestors; where the truth is known, only its most
    specific labels.
    """
    shape = (len(panel.instances), len(panel.taxonomy))
    given = incidence(votes.instance, votes.label, shape=shape)
    candidates = (given @ panel.taxonomy.closure_of(given.indices)).tocsr()
    if known is not None:
        is_unknown = (np.diff(known.indptr) == 0).astype(float)
        unknown = (sparse.diags_array(is_unknown, format="csr") @ candidates).tocsr()
        candidates = (unknown + deepest(known, panel.taxonomy)).tocsr()
    candidates.eliminate_zeros()
    candidates.data[:] = 1.0
    candidates.sort_indices()
    return candidates


def measure_redundancy(
    votes: SpecificVotes, dependence: FloatArray | None = None, *, block_pairs: int = BLOCK_PAIRS
) -> Sparse:
    """Return how far two votes on the same instance are the same evidence, (V, V).

    1 within an answer, the dependence of their sources otherwise. Only votes on the same instance
    are compared, a block of votes at a time.

    Parameters
    ----------
    votes : SpecificVotes
        V votes.
    dependence : float array, (M, M), optional
        The dependence between sources, in [0, 1]; none unless given.
    block_pairs : int
        Pairs of votes that are compared at a time.
    """
    if dependence is not None and not dependence.any():
        dependence = None
    group = votes.instance if dependence is not None else _number_answers(votes)
    size = np.bincount(group)
    first, size = (np.cumsum(size) - size)[group], size[group]
    blocks = [
        _redundancy_of_block(votes, dependence, block, first[block], size[block])
        for block in row_blocks(len(size), size, block_pairs)
    ]
    return sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array((0, 0))


def _number_answers(votes: SpecificVotes) -> IntArray:
    """Return the number of the answer that each vote belongs to, (V,)."""
    keys = np.stack([votes.instance, votes.source])
    return np.cumsum(np.diff(keys, axis=1, prepend=keys[:, :1]).any(axis=0))


def _redundancy_of_block(
    votes: SpecificVotes,
    dependence: FloatArray | None,
    block: slice,
    first: IntArray,
    size: IntArray,
) -> Sparse:
    row, vote = concatenate_ranges(first, size)
    redundancy = np.ones(len(row))
    if dependence is not None:
        source, of_vote = votes.source[row + block.start], votes.source[vote]
        redundancy = np.where(source == of_vote, 1.0, dependence[source, of_vote])
    positive = redundancy > 0
    shape = (len(size), len(votes.source))
    return incidence(row[positive], vote[positive], shape=shape, values=redundancy[positive])


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that stays the same while truths and source profiles are estimated.

    There are V votes, C candidates (labels that could be true, of all instances together) and P
    pairs of a vote and a candidate of its instance, sorted by vote, then by candidate.

    Attributes
    ----------
    votes : SpecificVotes
        The votes.
    candidates : csr_array, (N, K)
        Ones at the candidates; its C entries, row by row, number them.
    redundancy : csr_array, (V, V)
        How far two votes are the same evidence.
    vote, candidate : int arrays, (P,)
        The two members of each pair.
    relation : int array, (P,)
        The `Relation` of the label given to the candidate.
    label_relations : LabelRelations
        The near and far labels of every label.
    """

    votes: SpecificVotes
    candidates: Sparse
    redundancy: Sparse
    vote: IntArray
    candidate: IntArray
    relation: IntArray
    label_relations: LabelRelations

    @cached_property
    def candidate_instance(self) -> IntArray:
        """The instance of each candidate, (C,)."""
        return row_indices(self.candidates)

    @cached_property
    def candidate_label(self) -> IntArray:
        """The label of each candidate, (C,)."""
        return np.asarray(self.candidates.indices.astype(np.int64))

    @cached_property
    def independence(self) -> FloatArray:
        """1 / redundancy with all answers to the instance, (V,): 1/2 for each of two copies."""
        return np.asarray(1.0 / (self.redundancy @ self.votes.share))

    @cached_property
    def has_enough_others(self) -> BoolArray:
        """Whether enough independent others answered to assess a vote without it, (V,)."""
        weight = self.independence * self.votes.strength
        total = np.bincount(self.votes.instance, weight, minlength=self.candidates.shape[0])
        others = total[self.votes.instance] - self.redundancy @ weight
        return np.asarray(others > ENOUGH_OTHERS)

    @property
    def given(self) -> IntArray:
        """The label given, v, of each pair, (P,)."""
        return self.votes.label[self.vote]

    @property
    def truth(self) -> IntArray:
        """The candidate truth, z, of each pair, (P,)."""
        return self.candidate_label[self.candidate]

    @property
    def truth_cells(self) -> IntArray:
        """The number of the cell (source, z) of each pair, (P,)."""
        K = np.int64(self.candidates.shape[1])
        return np.asarray(self.votes.source[self.vote] * K + self.truth)

    @property
    def confusion_cells(self) -> IntArray:
        """The number of the cell (source, z, v) of each pair, (P,)."""
        return np.asarray(self.truth_cells * np.int64(self.candidates.shape[1]) + self.given)

    def vote_shares(self) -> FloatArray:
        """Return the share of the votes on its instance that give each candidate, (C,)."""
        is_exact = self.relation == Relation.EXACT
        strength = self.votes.strength[self.vote[is_exact]]
        n_candidates = len(self.candidate_instance)
        votes = np.bincount(self.candidate[is_exact], strength, minlength=n_candidates)
        totals = np.bincount(self.candidate_instance, votes, minlength=self.candidates.shape[0])
        total = totals[self.candidate_instance]
        return np.divide(votes, total, out=np.zeros(len(votes)), where=total > 0)

    def as_matrix(self, value: FloatArray) -> Sparse:
        """Return the values of the candidates, (C,), as a matrix, (N, K)."""
        return sparse.csr_array(
            (value, self.candidates.indices, self.candidates.indptr), shape=self.candidates.shape
        )


def build_evidence(
    panel: Panel, dependence: FloatArray | None = None, known: Sparse | None = None
) -> Evidence:
    """Pair the votes of a panel with the candidates of their instances.

    Memory grows with the number of pairs, and with that of the votes of dependent sources on the
    same instance.

    Parameters
    ----------
    panel : Panel
        Its scope is ignored.
    dependence : float array, (M, M), optional
        The dependence between sources, in [0, 1]; none unless given.
    known : csr_array, (N, K), optional
        True labels with their ancestors; the truth of an empty row is not known.
    """
    votes = extract_specific_votes(panel)
    candidates = find_candidates(votes, panel, known)
    n_candidates = np.diff(candidates.indptr)[votes.instance]
    vote, candidate = concatenate_ranges(candidates.indptr[votes.instance], n_candidates)
    truth = candidates.indices[candidate].astype(np.int64)
    return Evidence(
        votes=votes,
        candidates=candidates,
        redundancy=measure_redundancy(votes, dependence),
        vote=vote,
        candidate=candidate,
        relation=relate_labels(panel.taxonomy, votes.label[vote], truth),
        label_relations=build_label_relations(panel.taxonomy),
    )
