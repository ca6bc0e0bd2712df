"""Skills: how often each source affirms a label that applies, and one that does not."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from mhpc.consolidate.pairs import Pairs, affirmed_pairs, answer_weights, rows_of
from mhpc.core.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts, Whole

SENSITIVITY = (1e-3, 1 - 1e-3)
"""No source is trusted, or distrusted, without limit."""

FALSE_ALARM = (1e-9, 0.99)
"""A label among thousands is rarely said by mistake, but it is."""


@dataclass(frozen=True, eq=False)
class Skills:
    """Two numbers for every source and level, (M, levels).

    Attributes
    ----------
    sensitivity : float array, (M, levels)
        How often the source affirms a label of the level that applies.
    rate : float array, (M, levels)
        How often it affirms one that does not, relative to the label's popularity: 1 is a
        source that pays no heed to the instance.
    """

    sensitivity: FloatArray
    rate: FloatArray


class Counts(NamedTuple):
    """What skills are shares of, (M, levels) each: sums over answers, so over parts too.

    Attributes
    ----------
    hits, true : float arrays
        True labels that were affirmed, and that could have been.
    alarms, false : float arrays
        Labels that were affirmed and are not true, and the popularity of all that are not.
    """

    hits: FloatArray
    true: FloatArray
    alarms: FloatArray
    false: FloatArray


@dataclass(frozen=True, eq=False)
class Chances:
    """Answers beside pairs, an entry each.

    Attributes
    ----------
    cell : int array, (C,)
        The source and the level of the label, as one number.
    pair : int array, (C,)
        Which pair.
    weight : float array, (C,)
        How much it counts.
    """

    cell: IntArray
    pair: IntArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class Trials:
    """Every chance that a source had to affirm a pair, and whether it did.

    Attributes
    ----------
    pairs : Pairs
        The P pairs of an instance and a label that someone affirmed.
    asked, affirmed : Chances
        With the weight of the source's answer, and with the weight times its vote.
    popularity : float array, (K,)
        Share of the answers that hold the label, above 0 and below 1.
    offered : float array, (M, levels)
        Popularity of all the labels that each source could say, summed over its answers.
    """

    pairs: Pairs
    asked: Chances
    affirmed: Chances
    popularity: FloatArray
    offered: FloatArray

    @property
    def share(self) -> FloatArray:
        """The share of the answers about each pair that affirm it, (P,)."""
        return self.by_pair(self.affirmed) / self.by_pair(self.asked)

    def by_pair(self, chances: Chances, values: FloatArray | float = 1.0) -> FloatArray:
        """Sum weights times values for every pair, (P,)."""
        P = len(self.pairs.label)
        return np.bincount(chances.pair, chances.weight * values, minlength=P).astype(float)

    def by_skill(self, chances: Chances, values: FloatArray) -> FloatArray:
        """Sum weights times the values of pairs for every source and level, (M, levels)."""
        weight = chances.weight * values[chances.pair]
        total = np.bincount(chances.cell, weight, minlength=self.offered.size).astype(float)
        return total.reshape(self.offered.shape)


def trials_of(panel: Panel, popularity: FloatArray | None = None) -> Trials:
    """Return the trials; costs the answers of every instance times the labels said of it.

    Parameters
    ----------
    panel : Panel
        All instances, or some of them.
    popularity : float array, (K,), optional
        That of all instances, where the panel has but some.
    """
    popularity = popularity_in(Whole(panel)) if popularity is None else popularity
    panel = _audible(panel)
    pairs, weight = affirmed_pairs(panel), answer_weights(panel)
    depth = panel.taxonomy.depth
    levels, level = int(depth.max(initial=1)), (depth - 1)[pairs.label]

    def chances(matrix: Sparse) -> Chances:
        answer, pair = rows_of(matrix), matrix.indices.astype(np.int64)
        cell = (panel.source * levels)[answer] + level[pair]
        return Chances(cell, pair, weight[answer] * matrix.data)

    return Trials(
        pairs=pairs,
        asked=chances(pairs.asked),
        affirmed=chances(pairs.said),
        popularity=popularity,
        offered=_offered(panel, weight, popularity, levels),
    )


def popularity_in(parts: Parts) -> FloatArray:
    """Return the share of answers with each label, (K,); half an answer keeps it off 0 and 1."""
    said, could = parts.total(_said_and_could)
    return np.asarray((said + 0.5) / (could + 1.0))


def source_skills(trials: Trials, belief: FloatArray, *, smooth: float) -> Skills:
    """Return the skills of the sources if pairs are true with these probabilities.

    Parameters
    ----------
    trials : Trials
        Who could say what, and did.
    belief : float array, (P,)
        That each pair is true.
    smooth : float
        How many trials the mean of the level adds to the source's own.
    """
    return skills_from(count(trials, belief), smooth=smooth)


def count(trials: Trials, belief: FloatArray) -> Counts:
    """Return what is counted if pairs are true with these probabilities."""
    popular = trials.popularity[trials.pairs.label]
    return Counts(
        hits=trials.by_skill(trials.affirmed, belief),
        true=trials.by_skill(trials.asked, belief),
        alarms=trials.by_skill(trials.affirmed, 1 - belief),
        false=trials.offered - trials.by_skill(trials.asked, belief * popular),
    )


def skills_from(counts: Counts, *, smooth: float) -> Skills:
    """Return the skills that counts over all instances show."""
    return Skills(
        sensitivity=_shrunk(counts.hits, counts.true, smooth, without_any=0.5),
        rate=_shrunk(counts.alarms, np.maximum(counts.false, 0.0), smooth, without_any=1.0),
    )


def believe(trials: Trials, skills: Skills) -> FloatArray:
    """Return the probability of every pair, given the skills, (P,): Bayes' rule."""
    popular = trials.popularity[trials.pairs.label]
    hit = np.clip(skills.sensitivity, *SENSITIVITY).ravel()
    rate, sure, missed = skills.rate.ravel(), np.log(hit), np.log1p(-hit)

    def alarm(chances: Chances) -> FloatArray:
        return np.clip(rate[chances.cell] * popular[chances.pair], *FALSE_ALARM)

    affirmed, asked = trials.affirmed, trials.asked
    silence = missed[asked.cell] - np.log1p(-alarm(asked))
    # A vote of 0.4 is four tenths of an affirmation and six tenths of silence.
    odds = alarm(affirmed)
    instead = (sure - missed)[affirmed.cell] - np.log(odds) + np.log1p(-odds)
    evidence = trials.by_pair(asked, silence) + trials.by_pair(affirmed, instead)
    return np.asarray(expit(np.log(popular) - np.log1p(-popular) + evidence))


def _audible(panel: Panel) -> Panel:
    """Leave out weightless answers: a pair that only they affirm would be believed at its prior."""
    return panel if panel.weight is None else panel.only(panel.weight > 0)


def _said_and_could(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return the weight of the answers that hold each label, and that could have, (K,) each."""
    panel = _audible(panel)
    weight = answer_weights(panel)
    said = np.asarray(weight @ panel.augmented, dtype=np.float64)
    if panel.scope is None:
        return said, np.full(len(said), float(weight.sum()))
    return said, np.asarray(_weight_of_sources(panel, weight) @ panel.scope)


def _offered(panel: Panel, weight: FloatArray, popularity: FloatArray, levels: int) -> FloatArray:
    K, level = len(popularity), panel.taxonomy.depth - 1
    by_level = sparse.csr_array((popularity, (np.arange(K), level)), shape=(K, levels))
    total = _weight_of_sources(panel, weight)
    offered, some = np.zeros((len(total), levels)), np.flatnonzero(total)
    scope = np.ones((1, K)) if panel.scope is None else panel.scope[some]
    offered[some] = total[some, np.newaxis] * dense(scope @ by_level)
    return offered


def _weight_of_sources(panel: Panel, weight: FloatArray) -> FloatArray:
    total = np.bincount(panel.source, weight, minlength=len(panel.sources))
    return total.astype(np.float64)


def _shrunk(
    count: FloatArray, trials: FloatArray, smooth: float, *, without_any: float
) -> FloatArray:
    """Return the share of trials, drawn towards that of the level, and that towards a guess."""
    pooled = (count.sum(axis=0) + without_any) / (trials.sum(axis=0) + 1.0)
    return np.asarray((count + smooth * pooled) / (trials + smooth))
