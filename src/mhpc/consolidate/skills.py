"""Skills: how often each source affirms a label that applies, and one that does not."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from mhpc.consolidate.pairs import Pairs, affirmed_pairs, answer_weights
from mhpc.core.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.core.panel import Panel

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


@dataclass(frozen=True, eq=False)
class Trials:
    """Every chance that a source had to affirm a pair, and whether it did.

    All that is learned is about a source and a label, so these are the columns: a sum over
    answers is one product of a sparse matrix with a vector.

    Attributes
    ----------
    pairs : Pairs
        The P pairs of an instance and a label that someone affirmed.
    source, label, level : int arrays, (C,)
        The columns: sources with the labels they could affirm; the level of a root is 0.
    asked, affirmed : csr_array, (P, C)
        The weight of the source's answer, and the weight times its vote.
    popularity : float array, (K,)
        Share of the answers that hold the label, above 0 and below 1.
    offered : float array, (M, levels)
        Popularity of all the labels that each source could say, summed over its answers.
    """

    pairs: Pairs
    source: IntArray
    label: IntArray
    level: IntArray
    asked: Sparse
    affirmed: Sparse
    popularity: FloatArray
    offered: FloatArray

    @property
    def share(self) -> FloatArray:
        """The share of the answers about each pair that affirm it, (P,)."""
        return np.asarray(self.affirmed.sum(axis=1) / self.asked.sum(axis=1))

    def by_skill(self, values: FloatArray) -> FloatArray:
        """Sum values of the columns for every source and level, (M, levels)."""
        cell = self.source * self.offered.shape[1] + self.level
        total = np.bincount(cell, values, minlength=self.offered.size).astype(np.float64)
        return total.reshape(self.offered.shape)


def trials_of(panel: Panel) -> Trials:
    """Return the trials; costs the answers of every instance times the labels said of it."""
    if panel.weight is not None:
        # A pair that only weightless answers affirm would be believed at its prior.
        panel = panel.only(panel.weight > 0)
    pairs, K = affirmed_pairs(panel), len(panel.taxonomy)
    weight = answer_weights(panel)
    asked = pairs.asked.tocoo()
    column = panel.source[asked.row] * K + pairs.label[asked.col]
    columns, place = np.unique(column, return_inverse=True)
    source, label = np.divmod(columns, K)
    said = pairs.said.tocoo()
    place_said = np.searchsorted(columns, panel.source[said.row] * K + pairs.label[said.col])
    shape = (len(pairs.label), len(columns))
    popularity = _popularity(panel, weight)
    return Trials(
        pairs=pairs,
        source=source,
        label=label,
        level=panel.taxonomy.depth[label] - 1,
        asked=sparse.csr_array((weight[asked.row], (asked.col, place)), shape=shape),
        affirmed=sparse.csr_array(
            (said.data * weight[said.row], (said.col, place_said)), shape=shape
        ),
        popularity=popularity,
        offered=_offered(panel, weight, popularity),
    )


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
    true = trials.asked.T @ belief
    hits = trials.by_skill(trials.affirmed.T @ belief)
    alarms = trials.by_skill(trials.affirmed.T @ (1 - belief))
    offered = trials.offered - trials.by_skill(true * trials.popularity[trials.label])
    return Skills(
        sensitivity=_shrunk(hits, trials.by_skill(true), smooth, without_any=0.5),
        rate=_shrunk(alarms, np.maximum(offered, 0.0), smooth, without_any=1.0),
    )


def believe(trials: Trials, skills: Skills) -> FloatArray:
    """Return the probability of every pair, given the skills, (P,): Bayes' rule."""
    cell = (trials.source, trials.level)
    prior, popularity = trials.popularity[trials.pairs.label], trials.popularity[trials.label]
    hit = np.clip(skills.sensitivity[cell], *SENSITIVITY)
    alarm = np.clip(skills.rate[cell] * popularity, *FALSE_ALARM)
    silence = np.log1p(-hit) - np.log1p(-alarm)
    affirmation = np.log(hit) - np.log(alarm)
    # A vote of 0.4 is four tenths of an affirmation and six tenths of silence.
    evidence = trials.affirmed @ (affirmation - silence) + trials.asked @ silence
    return np.asarray(expit(np.log(prior) - np.log1p(-prior) + evidence))


def _popularity(panel: Panel, weight: FloatArray) -> FloatArray:
    """Return the share of answers with each label; half an answer keeps it off 0 and 1."""
    said = weight @ panel.augmented
    could: FloatArray | float = weight.sum()
    if panel.scope is not None:
        could = _weight_of_sources(panel, weight) @ panel.scope
    return np.asarray((said + 0.5) / (could + 1.0))


def _offered(panel: Panel, weight: FloatArray, popularity: FloatArray) -> FloatArray:
    depth = panel.taxonomy.depth
    levels = (popularity, (np.arange(len(depth)), depth - 1))
    by_level = sparse.csr_array(levels, shape=(len(depth), depth.max(initial=1)))
    if panel.scope is None:
        total = np.broadcast_to(by_level.sum(axis=0), (len(panel.sources), by_level.shape[1]))
    else:
        total = dense(panel.scope @ by_level)
    return np.asarray(_weight_of_sources(panel, weight)[:, np.newaxis] * total)


def _weight_of_sources(panel: Panel, weight: FloatArray) -> FloatArray:
    total = np.bincount(panel.source, weight, minlength=len(panel.sources))
    return total.astype(np.float64)


def _shrunk(
    count: FloatArray, trials: FloatArray, smooth: float, *, without_any: float
) -> FloatArray:
    """Return the share of trials, drawn towards that of the level, and that towards a guess."""
    pooled = (count.sum(axis=0) + without_any) / (trials.sum(axis=0) + 1.0)
    return np.asarray((count + smooth * pooled) / (trials + smooth))
