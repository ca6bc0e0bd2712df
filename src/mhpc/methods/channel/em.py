"""Learn the corruption without truth.

Explained by itself, each vote would be its own best origin, and no source would ever be vague.

What the others make likely is x = m O + lost pop: their mean votes m, taken to their origins O, and
popularity for what was lost. Nothing of N x K is dense: whatever is summed over votes is a
sum over pairs of a vote and another of the same instance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.hierarchy import most_specific
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.methods.channel.corruption import CorruptionPaths, NoiseModel, default_noise
from mhpc.methods.source_weights import (
    SourceWeighting,
    SourceWeights,
    apply_weights,
    learn_source_weights,
)
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse, dense
from mhpc.parameters import registered


@dataclass(frozen=True, eq=False)
class VoteCounts:
    """Votes summed over the answers of every instance, (N, K), and how many answers, (N,)."""

    votes: Sparse
    answers: FloatArray

    def without(self, other: "VoteCounts") -> "VoteCounts":
        """Return what is left when some answers are taken away."""
        rest = (self.votes - other.votes).tocsr()
        rest.data = np.maximum(rest.data, 0.0)
        rest.eliminate_zeros()
        return VoteCounts(rest, np.maximum(self.answers - other.answers, 0.0))


@registered("channel.answer-reader")
@dataclass(frozen=True, eq=False)
class AnswerReader:
    """How answers are read, the same in every part: who is heard, and whether they are sets.

    Attributes
    ----------
    heard : Hearing or None
        How much sources count.
    sets : bool
        Whether no answer has a score.
    """

    heard: SourceWeights | None
    sets: bool

    def of(self, panel: Panel) -> tuple[Panel, Sparse]:
        """Return the panel as it is heard, and what its answers claim."""
        return apply_weights(panel, self.heard), _claimed(panel, self.sets)


def answer_reader(parts: PanelPartitions, sources: SourceWeighting = "equal") -> AnswerReader:
    """Return how the answers of all parts are to be read."""
    heard = learn_source_weights(parts, sources)
    (scored,) = parts.sum(_scored)
    return AnswerReader(heard, sets=scored == 0)


def read_answers(panel: Panel) -> Sparse:
    """Return what answers say of labels themselves: as said, or with scores beyond their children.

    A model that gives 0.9 to an animal and 0.8 to a dog claims a dog, and hardly a mere animal.
    """
    return _claimed(panel, _scored(panel)[0] == 0)


def count_votes(panel: Panel, folder_lock: Sparse, answers: BoolArray | None = None) -> VoteCounts:
    """Sum up what was claimed, in all answers or in some of them."""
    some = np.ones(len(panel.instance), dtype=bool) if answers is None else answers
    weight = np.ones(len(some)) if panel.weight is None else panel.weight
    instance, weight = panel.instance[some], weight[some]
    N = len(panel.instances)
    by = sparse.csr_array((weight, (instance, np.arange(len(instance)))), shape=(N, len(instance)))
    votes = (by @ folder_lock[some]).tocsr()
    votes.eliminate_zeros()
    return VoteCounts(votes, np.bincount(instance, weight, minlength=N).astype(float))


def _scored(panel: Panel) -> tuple[int]:
    return (int(np.count_nonzero(panel.raw.data != 1.0)),)


def _claimed(panel: Panel, sets: bool) -> Sparse:
    return panel.raw if sets else most_specific(panel.augmented, panel.taxonomy)


LOST = 0.1
"""The chance that one answer says nothing of a true label; ranks what nobody said."""

_FOLDS = 5
_ROUNDS = 8
_PRIOR = 10.0
"""How many votes what is usual is worth against what is learnt, on each level."""

_OF_A_SOURCE = 50.0
"""How many votes the habits of all sources are worth against those of one."""

_TINY = 1e-12
_PAIRS = 1 << 21
"""Pairs of votes looked at in one go."""

_FULL = 5
"""Cells to an entry up to which the product of two such matrices is faster if they are dense."""

_SPARSE = 200
"""Cells to an entry from which on a sparse product is faster than a dense one."""


@dataclass(frozen=True, eq=False)
class LearnedNoise:
    """The habits of all sources together, how often each label is true, and C."""

    habits: NoiseModel
    popularity: FloatArray
    C: Sparse


def learn_noise(
    parts: PanelPartitions,
    hops: CorruptionPaths,
    read: AnswerReader | None = None,
) -> LearnedNoise:
    """Return the habits of all sources together; what is usual where there is but one.

    One sum over all parts to count, and one for each of eight rounds.
    """
    read = answer_reader(parts) if read is None else read
    votes, answers, asked = parts.sum(partial(_counted, read=read))
    everyone = VoteCounts(sparse.csr_array(votes[None, :]), np.array([float(answers)]))
    usual = habits = default_noise(hops)
    sources = np.flatnonzero(asked)
    if len(sources) >= 2:
        fold = np.full(len(asked), -1)
        fold[sources] = np.arange(len(sources)) % min(len(sources), _FOLDS)
        popularity = popular(everyone, usual, hops)
        for at in range(_ROUNDS):
            parts.progress("learning the channel", at, _ROUNDS)
            C = habits.matrix(hops)
            ways = _Ways(origins(C, popularity), popularity, C)
            flow = ways.flow(*parts.sum(
                partial(_paired, read=read, fold=fold, likely=ways.likely, lost=ways.lost)
            ))  # fmt: skip
            habits = _habits(_counts(flow, habits, hops), usual, _PRIOR)
            popularity = _through(C, flow) / max(float(answers), _TINY) + 1e-6
    return LearnedNoise(habits, popular(everyone, habits, hops), habits.matrix(hops))


def habits_of_sources(
    panel: Panel, folder_lock: Sparse, hops: CorruptionPaths
) -> Iterator[NoiseModel]:
    """Give the habits of each source: from its own votes, and some of everyone's."""
    everyone = count_votes(panel, folder_lock)
    # The panel is weighted already, where its sources are.
    common = learn_noise(SinglePartition(panel), hops)
    back = origins(common.C, common.popularity)
    for m in range(len(panel.sources)):
        own = count_votes(panel, folder_lock, panel.source == m)
        rest = everyone.without(own)
        habits = common.habits
        # Counted by everyone's habits once, a source would hardly differ from everyone.
        for _ in range(_ROUNDS):
            ways = _Ways(back, common.popularity, habits.matrix(hops))
            flow = ways.flow(*_pairs(own.votes, rest, ways.likely, ways.lost))
            habits = _habits(_counts(flow, habits, hops), common.habits, _OF_A_SOURCE)
        yield habits


def popular(
    votes: VoteCounts, habits: NoiseModel, hops: CorruptionPaths, *, rounds: int = 10
) -> FloatArray:
    """Return how often each label is true, from how often labels are said (Richardson-Lucy)."""
    C = habits.matrix(hops)
    said = np.asarray(votes.votes.sum(axis=0)).ravel() / max(float(votes.answers.sum()), _TINY)
    said = said + 1e-6
    found = said
    for _ in range(rounds):
        found = found * (C @ (said / np.maximum(found @ C, _TINY)))
    return np.asarray(found)


def origins(C: Sparse, popularity: FloatArray) -> Sparse:
    """Return O, P(t is true | v is said), (K, K), by Bayes' rule."""
    joint = (sparse.diags_array(popularity, format="csr") @ C).T
    total = np.maximum(popularity @ C, _TINY)
    return (sparse.diags_array(1.0 / total, format="csr") @ joint).tocsr()


def first_guess(votes: VoteCounts, C: Sparse, popularity: FloatArray) -> FloatArray:
    """Return the likely origins of the votes, and popularity for what was lost, (N, K)."""
    lost = lost_share(votes.answers)
    x = gathered(_mean(votes), origins(C, popularity))
    x += lost * popularity
    return x


def lost_share(answers: FloatArray) -> FloatArray:
    """Return the chance that no answer says anything of a true label, (N, 1)."""
    return np.asarray(LOST ** np.maximum(answers, 1.0)[:, None])


def unexplained(votes: Sparse, x: FloatArray, C: Sparse) -> Sparse:
    """Return votes divided by how likely x makes them: v / (x C), at the votes only."""
    row = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    likely = through(x, C)[row, votes.indices]
    ratio = votes.data / np.maximum(likely, _TINY)
    return sparse.csr_array((ratio, votes.indices, votes.indptr), shape=votes.shape)


def through(x: FloatArray, way: Sparse) -> FloatArray:
    """Return x way, of which way has few entries: sparse or dense, whichever is faster."""
    if way.nnz * _SPARSE < np.prod(way.shape):
        return np.asarray((way.T @ x.T).T)
    return x @ dense(way)


def gathered(votes: Sparse, way: Sparse) -> FloatArray:
    """Return votes way, dense; both have few entries."""
    if way.nnz * _SPARSE < np.prod(way.shape):
        return dense(votes @ way)
    return np.asarray(votes @ dense(way))


def _mean(votes: VoteCounts) -> Sparse:
    """Return the mean votes, less what may be lost."""
    share = (1.0 - lost_share(votes.answers).ravel()) / np.maximum(votes.answers, 1e-9)
    return (sparse.diags_array(share, format="csr") @ votes.votes).tocsr()


_Pairs: TypeAlias = tuple[Sparse, FloatArray]
"""H, H[u, v] = sum_i m_iu votes_iv / (x C)_iv, and sum_i lost_i votes_iv / (x C)_iv."""


@dataclass(frozen=True, eq=False)
class _Ways:
    """What is needed of O, popularity and C to follow votes back, x being m O + lost pop."""

    origins: Sparse
    popularity: FloatArray
    C: Sparse

    @property
    def likely(self) -> FloatArray:
        """How likely a vote makes another, O C, (K, K)."""
        if _FULL * self.C.nnz > np.prod(self.C.shape):
            # Among hundreds of siblings each is as likely meant as the others: nothing is sparse.
            return dense(self.origins) @ dense(self.C)
        return dense(self.origins @ self.C)

    @property
    def lost(self) -> FloatArray:
        """How likely popularity makes a vote, (K,)."""
        return np.asarray(self.popularity @ self.C)

    def flow(self, pairs: Sparse, lost: FloatArray) -> FloatArray:
        """Return G, G[t, v] = sum_i x_it votes_iv / (x C)_iv: votes by true and said, over C."""
        return np.asarray(dense(self.origins.T @ pairs) + np.outer(self.popularity, lost))


def _counted(panel: Panel, *, read: AnswerReader) -> tuple[FloatArray, float, FloatArray]:
    panel, folder_lock = read.of(panel)
    everyone = count_votes(panel, folder_lock)
    votes = np.asarray(everyone.votes.sum(axis=0)).ravel()
    return votes, float(everyone.answers.sum()), panel.answers_per_source.astype(float)


def _paired(
    panel: Panel, *, read: AnswerReader, fold: IntArray, likely: FloatArray, lost: FloatArray
) -> _Pairs:
    """Return how the votes of every fold of sources came about, given the others'."""
    panel, folder_lock = read.of(panel)
    everyone, of = count_votes(panel, folder_lock), fold[panel.source]
    H, alone = sparse.csr_array(likely.shape), np.zeros(len(lost))
    for at in range(int(fold.max()) + 1):
        part = count_votes(panel, folder_lock, of == at)
        pairs = _pairs(part.votes, everyone.without(part), likely, lost)
        H, alone = H + pairs[0], alone + pairs[1]
    return H.tocsr(), alone


def _pairs(votes: Sparse, others: VoteCounts, likely: FloatArray, lost: FloatArray) -> _Pairs:
    """Explain votes by the others' of the same instance."""
    mean, lost_of = _mean(others), lost_share(others.answers).ravel()
    row = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    made = lost_of[row] * lost[votes.indices]
    fan = np.diff(mean.indptr)[row]
    until = np.cumsum(fan)
    cuts = np.searchsorted(until, np.arange(_PAIRS, until[-1] if len(until) else 0, _PAIRS))
    for some in np.split(np.arange(len(row)), cuts):
        within = np.arange(fan[some].sum()) - np.repeat(until[some] - fan[some], fan[some])
        if len(some):
            within += until[some[0]] - fan[some[0]]
        other = np.repeat(mean.indptr[row[some]], fan[some]) + within
        entry = np.repeat(np.arange(len(some)), fan[some])
        value = mean.data[other] * likely[mean.indices[other], votes.indices[some][entry]]
        made[some] += np.bincount(entry, value, minlength=len(some))
    ratio = votes.data / np.maximum(made, _TINY)
    odd = sparse.csr_array((ratio, votes.indices, votes.indptr), shape=votes.shape)
    return (mean.T @ odd).tocsr(), np.asarray(lost_of @ odd)


_Counts: TypeAlias = FloatArray
"""Expected votes by level, hops and whether a sibling was drawn, (levels, levels, 2)."""


def _counts(flow: FloatArray, habits: NoiseModel, hops: CorruptionPaths) -> _Counts:
    counts = np.zeros((hops.depth, hops.depth, 2))
    for h in range(hops.depth):
        for at, (way, share) in enumerate(
            ((hops.up[h], 1 - habits.noise), (hops.sideways[h], habits.noise))
        ):
            by_level = np.bincount(hops.level, _through(way, flow), minlength=hops.depth)
            counts[:, h, at] = habits.vagueness[:, h] * share * by_level
    return counts


def _through(way: Sparse, flow: FloatArray) -> FloatArray:
    """Return, for every true label, the votes that go this way."""
    row = np.repeat(np.arange(way.shape[0]), np.diff(way.indptr))
    found = np.bincount(row, way.data * flow[row, way.indices], minlength=way.shape[0])
    return found.astype(float)


def _habits(counts: _Counts, usual: NoiseModel, prior: float) -> NoiseModel:
    hopped = counts.sum(axis=2) + prior * usual.vagueness
    noise = (counts[:, :, 1].sum() + prior * usual.noise) / (counts.sum() + prior)
    return NoiseModel(hopped / hopped.sum(axis=1, keepdims=True), float(noise))
