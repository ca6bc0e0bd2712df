"""Learn habits without truth: every source is explained by what the others make likely.

Explained by itself, each vote would be its own best origin, and no source would ever be vague.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from mhpc.consolidate.hops import Habits, Hops, usual_habits
from mhpc.core.arrays import BoolArray, FloatArray, Sparse
from mhpc.core.hierarchy import most_specific
from mhpc.core.panel import Panel

LOST = 0.1
"""The chance that one answer says nothing of a true label; ranks what nobody said."""

_FOLDS = 5
_ROUNDS = 8
_PRIOR = 10.0
"""How many votes what is usual is worth against what is learnt, on each level."""

_OF_A_SOURCE = 50.0
"""How many votes the habits of all sources are worth against those of one."""

_TINY = 1e-12
_STRIP = 20_000


@dataclass(frozen=True, eq=False)
class Tally:
    """Votes summed over the answers of every instance, (N, K), and how many answers, (N,)."""

    votes: Sparse
    answers: FloatArray

    def without(self, other: "Tally") -> "Tally":
        """Return what is left when some answers are taken away."""
        rest = (self.votes - other.votes).tocsr()
        rest.data = np.maximum(rest.data, 0.0)
        rest.eliminate_zeros()
        return Tally(rest, np.maximum(self.answers - other.answers, 0.0))


def tally(panel: Panel, claimed: Sparse, answers: BoolArray | None = None) -> Tally:
    """Sum up what was claimed, in all answers or in some of them."""
    some = np.ones(len(panel.instance), dtype=bool) if answers is None else answers
    weight = np.ones(len(some)) if panel.weight is None else panel.weight
    instance, weight = panel.instance[some], weight[some]
    N = len(panel.instances)
    by = sparse.csr_array((weight, (instance, np.arange(len(instance)))), shape=(N, len(instance)))
    votes = (by @ claimed[some]).tocsr()
    votes.eliminate_zeros()
    return Tally(votes, np.bincount(instance, weight, minlength=N).astype(float))


def claims(panel: Panel) -> Sparse:
    """Return what answers say of labels themselves: as said, or with scores beyond their children.

    A model that gives 0.9 to an animal and 0.8 to a dog claims a dog, and hardly a mere animal.
    """
    sets = bool(np.all(panel.raw.data == 1.0))
    return panel.raw if sets else most_specific(panel.augmented, panel.taxonomy)


def learn(panel: Panel, claimed: Sparse, hops: Hops) -> Habits:
    """Return the habits of the panel's sources together; what is usual where there is but one."""
    usual = usual_habits(hops)
    sources = np.unique(panel.source)
    if len(sources) < 2:
        return usual
    everyone = tally(panel, claimed)
    fold = np.searchsorted(sources, panel.source) % min(len(sources), _FOLDS)
    parts = [tally(panel, claimed, fold == at) for at in range(int(fold.max()) + 1)]
    habits, popularity = usual, popular(everyone, usual, hops)
    for _ in range(_ROUNDS):
        counts, origin = _explained(everyone, parts, habits, popularity, hops)
        habits = _habits(counts, usual, _PRIOR)
        popularity = origin / max(float(everyone.answers.sum()), _TINY) + 1e-6
    return habits


def habits_of_sources(panel: Panel, claimed: Sparse, hops: Hops) -> Iterator[Habits]:
    """Give the habits of each source: from its own votes, and some of everyone's."""
    everyone, common = tally(panel, claimed), learn(panel, claimed, hops)
    C, popularity = common.matrix(hops), popular(everyone, common, hops)
    for m in range(len(panel.sources)):
        own = tally(panel, claimed, panel.source == m)
        at = np.flatnonzero(own.answers > 0)
        rest = everyone.without(own)
        x = first_guess(Tally(rest.votes[at], rest.answers[at]), C, popularity)
        habits = common
        # Counted by everyone's habits once, a source would hardly differ from everyone.
        for _ in range(_ROUNDS):
            flow = _flow(own.votes[at], x, habits.matrix(hops))
            habits = _habits(_counted(flow, habits, hops), common, _OF_A_SOURCE)
        yield habits


def popular(votes: Tally, habits: Habits, hops: Hops, *, rounds: int = 10) -> FloatArray:
    """Return how often each label is true, from how often labels are said (Richardson-Lucy)."""
    C = habits.matrix(hops)
    said = np.asarray(votes.votes.sum(axis=0)).ravel() / max(float(votes.answers.sum()), _TINY)
    said = said + 1e-6
    found = said
    for _ in range(rounds):
        found = found * (C @ (said / np.maximum(found @ C, _TINY)))
    return np.asarray(found)


def origins(C: Sparse, popularity: FloatArray) -> Sparse:
    """Return P(t is true | v is said), (K, K), by Bayes' rule."""
    joint = (sparse.diags_array(popularity, format="csr") @ C).T
    total = np.maximum(popularity @ C, _TINY)
    return (sparse.diags_array(1.0 / total, format="csr") @ joint).tocsr()


def first_guess(votes: Tally, C: Sparse, popularity: FloatArray) -> FloatArray:
    """Return the likely origins of the votes, and popularity for what was lost, (N, K)."""
    mean = sparse.diags_array(1.0 / np.maximum(votes.answers, 1e-9), format="csr") @ votes.votes
    lost = lost_share(votes.answers)
    return np.asarray((mean @ origins(C, popularity)).toarray() * (1 - lost) + lost * popularity)


def lost_share(answers: FloatArray) -> FloatArray:
    """Return the chance that no answer says anything of a true label, (N, 1)."""
    return np.asarray(LOST ** np.maximum(answers, 1.0)[:, None])


def unexplained(votes: Sparse, x: FloatArray, C: Sparse) -> Sparse:
    """Return votes divided by how likely x makes them: v / (x C), at the votes only."""
    row = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    by_said = C.T.toarray()
    ratio = np.empty(len(row))
    for start in range(0, len(row), _STRIP):
        some = slice(start, start + _STRIP)
        likely = np.einsum("ij,ij->i", x[row[some]], by_said[votes.indices[some]])
        ratio[some] = votes.data[some] / np.maximum(likely, _TINY)
    return sparse.csr_array((ratio, votes.indices, votes.indptr), shape=votes.shape)


_Counts: TypeAlias = FloatArray
"""Expected votes by level, hops and whether a sibling was drawn, (levels, levels, 2)."""


def _explained(
    everyone: Tally,
    parts: Sequence[Tally],
    habits: Habits,
    popularity: FloatArray,
    hops: Hops,
) -> tuple[_Counts, FloatArray]:
    """Return how the votes of every part came about, given the others', and their origins."""
    C = habits.matrix(hops)
    counts: _Counts = np.zeros((hops.depth, hops.depth, 2))
    origin = np.zeros(len(popularity))
    for part in parts:
        x = first_guess(everyone.without(part), C, popularity)
        flow = _flow(part.votes, x, C)
        counts += _counted(flow, habits, hops)
        origin += _through(C, flow)
    return counts, origin


def _flow(votes: Sparse, x: FloatArray, C: Sparse) -> FloatArray:
    """Return G, G[t, v] = sum_i x_it votes_iv / (x C)_iv: votes by true and said label, over C."""
    return np.asarray(unexplained(votes, x, C).T @ x).T


def _counted(flow: FloatArray, habits: Habits, hops: Hops) -> _Counts:
    counts = np.zeros((hops.depth, hops.depth, 2))
    for h in range(hops.depth):
        for at, (way, share) in enumerate(
            ((hops.up[h], 1 - habits.noise), (hops.aside[h], habits.noise))
        ):
            by_level = np.bincount(hops.level, _through(way, flow), minlength=hops.depth)
            counts[:, h, at] = habits.vagueness[:, h] * share * by_level
    return counts


def _through(way: Sparse, flow: FloatArray) -> FloatArray:
    """Return, for every true label, the votes that go this way."""
    row = np.repeat(np.arange(way.shape[0]), np.diff(way.indptr))
    found = np.bincount(row, way.data * flow[row, way.indices], minlength=way.shape[0])
    return found.astype(float)


def _habits(counts: _Counts, usual: Habits, prior: float) -> Habits:
    hopped = counts.sum(axis=2) + prior * usual.vagueness
    noise = (counts[:, :, 1].sum() + prior * usual.noise) / (counts.sum() + prior)
    return Habits(hopped / hopped.sum(axis=1, keepdims=True), float(noise))
