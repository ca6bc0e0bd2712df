"""Learn the noise model without truth: the votes of each source are explained by the others'.

Explained by itself, every vote would be its own most likely origin, and no source would be vague.

The other answers to an instance make its labels likely by x = m O + missed popularity: their mean
votes m, taken back to their origins O, and popularity for labels that they missed. No N x K matrix
is dense: all sums over votes are sums over pairs of votes on the same instance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.methods.channel.answers import AnswerReader, VoteCounts, count_votes, make_reader
from mhpc.methods.channel.corruption import CorruptionPaths, NoiseModel, default_noise
from mhpc.methods.channel.inversion import MIN_PROBABILITY, invert, mean_votes, missed_share
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.sparse import concatenate_ranges, row_blocks, row_indices

N_FOLDS = 5
"""Groups of sources that are explained by the others."""

N_ITER = 8

PRIOR_VOTES = 10.0
"""The weight of the default noise model, in votes per level."""

SOURCE_PRIOR_VOTES = 50.0
"""The weight of the noise model of all sources against that of one source, in votes per level."""

BLOCK_PAIRS = 1 << 21
"""Pairs of votes that are worked on at a time."""

DENSE_CELLS = 5
"""Cells per entry up to which the product of two such matrices is faster if they are dense."""


@dataclass(frozen=True, eq=False)
class LearnedNoise:
    """The noise model of all sources together.

    Attributes
    ----------
    noise : NoiseModel
        How vague and how noisy sources are.
    popularity : float array, (K,)
        How often each label is true, per answer.
    C : csr_array, (K, K)
        P(v is given | t is true).
    """

    noise: NoiseModel
    popularity: FloatArray
    C: Sparse


def learn_noise(
    partitions: PanelPartitions,
    paths: CorruptionPaths,
    reader: AnswerReader | None = None,
    *,
    block_pairs: int = BLOCK_PAIRS,
) -> LearnedNoise:
    """Return the noise model of all sources together; the default one for a single source.

    Takes one sum over all partitions to count votes, and one in each of eight iterations.
    """
    reader = make_reader(partitions) if reader is None else reader
    votes, answers, per_source = partitions.sum(partial(_count_totals, reader=reader))
    totals = VoteCounts(sparse.csr_array(votes[None, :]), np.array([float(answers)]))
    default = noise = default_noise(paths)
    sources = np.flatnonzero(per_source)
    if len(sources) >= 2:
        fold = np.full(len(per_source), -1)
        fold[sources] = np.arange(len(sources)) % min(len(sources), N_FOLDS)
        popularity = estimate_popularity(totals, default, paths)
        for iteration in range(N_ITER):
            partitions.progress("learning the channel", iteration, N_ITER)
            C = noise.matrix(paths)
            explanation = _Explanation(invert(C, popularity), popularity, C)
            explain = partial(
                _explain_folds,
                reader=reader,
                fold=fold,
                by_vote=explanation.by_vote(),
                by_popularity=explanation.by_popularity,
                block_pairs=block_pairs,
            )
            flow = explanation.flow(*partitions.sum(explain))
            noise = _estimate_noise(_count_corruptions(flow, noise, paths), default, PRIOR_VOTES)
            popularity = _sum_rows(C, flow) / max(float(answers), MIN_PROBABILITY) + 1e-6
    return LearnedNoise(noise, estimate_popularity(totals, noise, paths), noise.matrix(paths))


def learn_source_noise(panel: Panel, votes: Sparse, paths: CorruptionPaths) -> Iterator[NoiseModel]:
    """Yield the noise model of each source, shrunk towards that of all sources.

    Parameters
    ----------
    panel : Panel
        With weights, if sources are weighted.
    votes : csr_array, (A, K)
        The votes of its answers.
    paths : CorruptionPaths
        Of its taxonomy.
    """
    totals = count_votes(panel, votes)
    common = learn_noise(SinglePartition(panel), paths)
    origins = invert(common.C, common.popularity)
    for source in range(len(panel.sources)):
        own = count_votes(panel, votes, panel.source == source)
        others, noise = totals.subtract(own), common.noise
        # After a single iteration with the common noise model a source would hardly differ from it.
        for _ in range(N_ITER):
            explanation = _Explanation(origins, common.popularity, noise.matrix(paths))
            sums = _explain_votes(
                own.votes, others, explanation.by_vote(), explanation.by_popularity
            )
            counts = _count_corruptions(explanation.flow(*sums), noise, paths)
            noise = _estimate_noise(counts, common.noise, SOURCE_PRIOR_VOTES)
        yield noise


def estimate_popularity(
    votes: VoteCounts, noise: NoiseModel, paths: CorruptionPaths, *, n_iter: int = 10
) -> FloatArray:
    """Return how often each label is true, (K,), from how often labels are given.

    Richardson-Lucy deconvolution: the popularity that C turns into the votes.
    """
    C = noise.matrix(paths)
    n_answers = max(float(votes.answers.sum()), MIN_PROBABILITY)
    given = np.asarray(votes.votes.sum(axis=0)).ravel() / n_answers + 1e-6
    popularity = given
    for _ in range(n_iter):
        expected = np.maximum(popularity @ C, MIN_PROBABILITY)
        popularity = popularity * (C @ (given / expected))
    return np.asarray(popularity)


def _count_totals(panel: Panel, *, reader: AnswerReader) -> tuple[FloatArray, float, FloatArray]:
    """Return the votes for each label, the answers, and the answers of each source."""
    panel, votes = reader.read(panel)
    totals = count_votes(panel, votes)
    per_label = np.asarray(totals.votes.sum(axis=0)).ravel()
    return per_label, float(totals.answers.sum()), panel.answers_per_source.astype(float)


_Sums: TypeAlias = tuple[Sparse, FloatArray]
"""H_uv = sum over i of m_iu votes_iv / (x C)_iv, and sum over i of missed_i votes_iv / (x C)_iv."""


@dataclass(frozen=True, eq=False)
class _Explanation:
    """How x = m O + missed popularity explains votes; see the module's docstring."""

    origins: Sparse
    popularity: FloatArray
    C: Sparse

    def by_vote(self, *, dense_cells: int = DENSE_CELLS) -> FloatArray:
        """Return how likely one vote makes another, O C, (K, K)."""
        if dense_cells * self.C.nnz > np.prod(self.C.shape):
            # Hundreds of siblings are given for each other: nothing is sparse.
            return dense(self.origins) @ dense(self.C)
        return dense(self.origins @ self.C)

    @property
    def by_popularity(self) -> FloatArray:
        """How likely popularity makes a vote, (K,)."""
        return np.asarray(self.popularity @ self.C)

    def flow(self, pairs: Sparse, missed: FloatArray) -> FloatArray:
        """Return G_tv = sum over i of x_it votes_iv / (x C)_iv, (K, K).

        G_tv C_tv is the expected number of votes for v that come from t.
        """
        return np.asarray(dense(self.origins.T @ pairs) + np.outer(self.popularity, missed))


def _explain_folds(
    panel: Panel,
    *,
    reader: AnswerReader,
    fold: IntArray,
    by_vote: FloatArray,
    by_popularity: FloatArray,
    block_pairs: int,
) -> _Sums:
    """Explain the votes of each fold of sources by those of the other folds."""
    panel, votes = reader.read(panel)
    totals, fold_of_answer = count_votes(panel, votes), fold[panel.source]
    pairs, missed = sparse.csr_array(by_vote.shape), np.zeros(len(by_popularity))
    for number in range(int(fold.max()) + 1):
        own = count_votes(panel, votes, fold_of_answer == number)
        others = totals.subtract(own)
        sums = _explain_votes(own.votes, others, by_vote, by_popularity, block_pairs=block_pairs)
        pairs, missed = pairs + sums[0], missed + sums[1]
    return pairs.tocsr(), missed


def _explain_votes(
    votes: Sparse,
    others: VoteCounts,
    by_vote: FloatArray,
    by_popularity: FloatArray,
    *,
    block_pairs: int = BLOCK_PAIRS,
) -> _Sums:
    """Explain votes, (N, K), by the other votes on the same instance."""
    mean, missed = mean_votes(others), missed_share(others.answers).ravel()
    row = row_indices(votes)
    likelihood = missed[row] * by_popularity[votes.indices]
    n_others = np.diff(mean.indptr)[row]
    for block in row_blocks(len(row), n_others, block_pairs):
        vote, other = concatenate_ranges(mean.indptr[row[block]], n_others[block])
        likelihoods = mean.data[other] * by_vote[mean.indices[other], votes.indices[block][vote]]
        likelihood[block] += np.bincount(vote, likelihoods, minlength=block.stop - block.start)
    ratio = votes.data / np.maximum(likelihood, MIN_PROBABILITY)
    ratios = sparse.csr_array((ratio, votes.indices, votes.indptr), shape=votes.shape)
    return (mean.T @ ratios).tocsr(), np.asarray(missed @ ratios)


def _count_corruptions(flow: FloatArray, noise: NoiseModel, paths: CorruptionPaths) -> FloatArray:
    """Return the expected votes by level, levels up, and whether to a sibling, (L, L, 2)."""
    counts = np.zeros((paths.depth, paths.depth, 2))
    for h in range(paths.depth):
        ways = (paths.up[h], 1 - noise.noise), (paths.sideways[h], noise.noise)
        for is_sideways, (way, share) in enumerate(ways):
            by_level = np.bincount(paths.level, _sum_rows(way, flow), minlength=paths.depth)
            counts[:, h, is_sideways] = noise.vagueness[:, h] * share * by_level
    return counts


def _sum_rows(matrix: Sparse, flow: FloatArray) -> FloatArray:
    """Return the row sums of matrix x flow, entry by entry, (K,)."""
    row = row_indices(matrix)
    entries = matrix.data * flow[row, matrix.indices]
    return np.bincount(row, entries, minlength=matrix.shape[0]).astype(float)


def _estimate_noise(counts: FloatArray, prior: NoiseModel, prior_votes: float) -> NoiseModel:
    levels_up = counts.sum(axis=2) + prior_votes * prior.vagueness
    noise = (counts[:, :, 1].sum() + prior_votes * prior.noise) / (counts.sum() + prior_votes)
    return NoiseModel(levels_up / levels_up.sum(axis=1, keepdims=True), float(noise))
