"""Learn the noise model without truth: the votes of each source are explained by the others'.

Explained by itself, every vote would be its own most likely origin, and no source would be vague.

The other answers to an instance make its labels likely by x = m O + missed popularity: their mean
votes m, taken back to their origins O, and popularity for labels that they missed. No N x K matrix
is dense: all sums over votes are sums over pairs of votes on the same instance. The model has few
parameters, so that a sample of the instances is enough for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.methods.channel.answers import AnswerReader, VoteCounts, count_votes, make_reader
from mhpc.methods.channel.corruption import (
    Corruption,
    CorruptionPaths,
    NoiseModel,
    PathsToLabels,
    default_noise,
    multiply,
)
from mhpc.methods.channel.inversion import MIN_PROBABILITY, mean_votes, missed_share
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import (
    concatenate_ranges,
    row_blocks,
    row_indices,
    select_columns,
    spread_columns,
)

N_FOLDS = 5
"""Groups of sources that are explained by the others."""

N_ITER = 8

PRIOR_VOTES = 10.0
"""The weight of the default noise model, in votes per level."""

SOURCE_PRIOR_VOTES = 50.0
"""The weight of the noise model of all sources against that of one source, in votes per level."""

BLOCK_PAIRS = 1 << 21
"""Pairs of votes that are worked on at a time."""

NOISE_SAMPLE = 20_000
"""Instances that are enough to learn the noise model of all sources together."""


@dataclass(frozen=True, eq=False)
class LearnedNoise:
    """The noise model of all sources together.

    Attributes
    ----------
    noise : NoiseModel
        How vague and how noisy sources are.
    popularity : float array, (K,)
        How often each label is true, per answer.
    corruption : Corruption
        C, P(v is given | t is true).
    """

    noise: NoiseModel
    popularity: FloatArray
    corruption: Corruption


def learn_noise(
    partitions: PanelPartitions,
    paths: CorruptionPaths,
    reader: AnswerReader | None = None,
    *,
    block_pairs: int = BLOCK_PAIRS,
    max_instances: int = NOISE_SAMPLE,
) -> LearnedNoise:
    """Return the noise model of all sources together; the default one for a single source.

    Popularity is counted in all answers, the rest is learned from `max_instances` instances.
    """
    reader = make_reader(partitions) if reader is None else reader
    votes, answers, per_source = partitions.sum(partial(_count_totals, reader=reader))
    totals = VoteCounts(sparse.csr_array(votes[None, :]), np.array([float(answers)]))
    noise = default_noise(paths)
    if np.count_nonzero(per_source) >= 2:
        sample = SinglePartition(partitions.sample(max_instances), partitions.progress)
        noise = _learn_from_sample(sample, paths, reader, block_pairs)
    return LearnedNoise(noise, estimate_popularity(totals, noise, paths), noise.corruption(paths))


def _learn_from_sample(
    partitions: SinglePartition, paths: CorruptionPaths, reader: AnswerReader, block_pairs: int
) -> NoiseModel:
    """Explain the votes of each fold of sources by the others, in eight iterations."""
    votes, answers, per_source = partitions.sum(partial(_count_totals, reader=reader))
    totals = VoteCounts(sparse.csr_array(votes[None, :]), np.array([float(answers)]))
    sources, fold = np.flatnonzero(per_source), np.full(len(per_source), -1)
    fold[sources] = np.arange(len(sources)) % max(min(len(sources), N_FOLDS), 1)
    default = noise = default_noise(paths)
    popularity = estimate_popularity(totals, default, paths)
    given = np.flatnonzero(votes)
    to_given = paths.to_labels(given)
    for iteration in range(N_ITER):
        partitions.progress("learning the channel", iteration, N_ITER)
        explanation = _Explanation(noise.corruption(paths), popularity, given)
        explain = partial(
            _explain_folds,
            reader=reader,
            fold=fold,
            given=given,
            by_vote=explanation.by_vote(),
            by_popularity=explanation.by_popularity,
            block_pairs=block_pairs,
        )
        flow = explanation.flow(*partitions.sum(explain))
        counts = _count_corruptions(flow, noise, paths.level, to_given)
        noise = _estimate_noise(counts, default, PRIOR_VOTES)
        # The expected votes from a label, however vague or noisy they were.
        origins = _sum_by_origin(flow, explanation.corruption, given, to_given)
        popularity = origins / max(float(answers), MIN_PROBABILITY) + 1e-6
    return noise


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
    given = np.unique(votes.indices)
    totals, to_given = count_votes(panel, select_columns(votes, given)), paths.to_labels(given)
    common = learn_noise(SinglePartition(panel), paths)
    for source in range(len(panel.sources)):
        own = count_votes(panel, select_columns(votes, given), panel.source == source)
        others, noise = totals.subtract(own), common.noise
        # After a single iteration with the common noise model a source would hardly differ from it.
        for _ in range(N_ITER):
            explanation = _Explanation(
                noise.corruption(paths), common.popularity, given, others=common.corruption
            )
            sums = _explain_votes(
                own.votes, others, explanation.by_vote(), explanation.by_popularity
            )
            counts = _count_corruptions(explanation.flow(*sums), noise, paths.level, to_given)
            noise = _estimate_noise(counts, common.noise, SOURCE_PRIOR_VOTES)
        yield noise


def estimate_popularity(
    votes: VoteCounts, noise: NoiseModel, paths: CorruptionPaths, *, n_iter: int = 10
) -> FloatArray:
    """Return how often each label is true, (K,), from how often labels are given.

    Richardson-Lucy deconvolution: the popularity that C turns into the votes.
    """
    corruption = noise.corruption(paths)
    n_answers = max(float(votes.answers.sum()), MIN_PROBABILITY)
    given = np.asarray(votes.votes.sum(axis=0)).ravel() / n_answers + 1e-6
    popularity = given
    for _ in range(n_iter):
        expected = np.maximum(corruption.forward(popularity[None, :])[0], MIN_PROBABILITY)
        popularity = popularity * corruption.backward((given / expected)[None, :])[0]
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
    """How x = m O + missed popularity explains votes; see the module's docstring.

    Of all pairs of labels, only those with a label that somebody gave are computed.

    Attributes
    ----------
    corruption : Corruption
        C of the sources whose votes are explained.
    popularity : float array, (K,)
        How often each label is true, per answer.
    given : int array, (G,)
        The labels with a vote, increasing.
    others : Corruption, optional
        C of the other sources, by which their votes are taken back; by default the same.
    """

    corruption: Corruption
    popularity: FloatArray
    given: IntArray
    others: Corruption | None = None

    def by_vote(self) -> FloatArray:
        """Return how likely one vote makes another, O C, (G, G)."""
        joint = self.popularity[:, None] * self._others.columns(self.given)
        origins = (joint / np.maximum(joint.sum(axis=0), MIN_PROBABILITY)).T
        return self.corruption.forward(origins)[:, self.given]

    @property
    def by_popularity(self) -> FloatArray:
        """How likely popularity makes a vote, (G,)."""
        return np.asarray(self.corruption.forward(self.popularity[None, :])[0, self.given])

    def flow(self, pairs: Sparse, missed: FloatArray) -> FloatArray:
        """Return G_tv = sum over i of x_it votes_iv / (x C)_iv, (K, G).

        G_tv C_tv is the expected number of votes for v that come from t.
        """
        expected = self._others.forward(self.popularity[None, :])[0, self.given]
        total = np.maximum(expected, MIN_PROBABILITY)
        by_vote = (sparse.diags_array(1.0 / total, format="csr") @ pairs).tocsr()
        votes = spread_columns(by_vote.T.tocsr(), self.given, len(self.popularity))
        flow = self._others.backward(votes).T
        return np.asarray((flow + missed) * self.popularity[:, None])

    @property
    def _others(self) -> Corruption:
        return self.corruption if self.others is None else self.others


def _explain_folds(
    panel: Panel,
    *,
    reader: AnswerReader,
    fold: IntArray,
    given: IntArray,
    by_vote: FloatArray,
    by_popularity: FloatArray,
    block_pairs: int,
) -> _Sums:
    """Explain the votes of each fold of sources by those of the other folds."""
    panel, votes = reader.read(panel)
    votes = select_columns(votes, given)
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
    """Explain votes, (N, G), by the other votes on the same instance."""
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


def _count_corruptions(
    flow: FloatArray, noise: NoiseModel, level: IntArray, to_given: PathsToLabels
) -> FloatArray:
    """Return the expected votes by level, levels up, and whether to a sibling, (L, L, 2)."""
    depth = len(to_given.up)
    counts = np.zeros((depth, depth, 2))
    by_family = multiply(flow, to_given.members.T.tocsr())
    for h in range(depth):
        straight = _sum_rows(to_given.up[h], flow)
        sideways = _sum_rows(to_given.up_to_family[h], by_family)
        for is_sideways, by_label in enumerate((straight, sideways)):
            by_level = np.bincount(level, by_label, minlength=depth)
            share = noise.noise if is_sideways else 1 - noise.noise
            counts[:, h, is_sideways] = noise.vagueness[:, h] * share * by_level
    return counts


def _sum_by_origin(
    flow: FloatArray, corruption: Corruption, given: IntArray, to_given: PathsToLabels
) -> FloatArray:
    """Return the row sums of C x flow, entry by entry, (K,)."""
    by_family = multiply(flow, to_given.members.T.tocsr())
    straight = _sum_rows(select_columns(corruption.vague, given), flow)
    to_family = (corruption.vague @ corruption.to_family).tocsr()
    sideways = _sum_rows(select_columns(to_family, to_given.families), by_family)
    return np.asarray((1 - corruption.noise) * straight + corruption.noise * sideways)


def _sum_rows(matrix: Sparse, flow: FloatArray) -> FloatArray:
    """Return the row sums of matrix x flow, entry by entry, (K,)."""
    row = row_indices(matrix)
    entries = matrix.data * flow[row, matrix.indices]
    return np.bincount(row, entries, minlength=matrix.shape[0]).astype(float)


def _estimate_noise(counts: FloatArray, prior: NoiseModel, prior_votes: float) -> NoiseModel:
    levels_up = counts.sum(axis=2) + prior_votes * prior.vagueness
    noise = (counts[:, :, 1].sum() + prior_votes * prior.noise) / (counts.sum() + prior_votes)
    return NoiseModel(levels_up / levels_up.sum(axis=1, keepdims=True), float(noise))
