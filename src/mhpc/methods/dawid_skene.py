"""DawidSkene: EM with one skill pair per source and level."""

import math
import time
import warnings
from dataclasses import dataclass
from functools import partial, reduce
from typing import Annotated, ClassVar, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse
from scipy.special import expit

from mhpc.data.hierarchy import most_specific, propagate_up
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition, add_sums
from mhpc.data.scores import Scores, Step
from mhpc.errors import ConvergenceWarning
from mhpc.methods.base import BaseMethod, FittedMethod
from mhpc.methods.pairs import CHANCES, Pairs, affirmed_pairs, answer_weights, pieces, rows_of
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.parameters import registered

SENSITIVITY = (1e-3, 1 - 1e-3)
"""No source is trusted, or distrusted, without limit."""

FALSE_ALARM = (1e-9, 0.99)
"""A label among thousands is rarely said by mistake, but it is."""


@registered("dawid-skene.skills")
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
    popularity = popularity_in(SinglePartition(panel)) if popularity is None else popularity
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


def popularity_in(parts: PanelPartitions) -> FloatArray:
    """Return the share of answers with each label, (K,); half an answer keeps it off 0 and 1."""
    said, could = parts.sum(_said_and_could)
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
    return panel if panel.weight is None else panel.select_answers(panel.weight > 0)


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


class DawidSkene(BaseMethod):
    """The probability that a label applies, given how often each source hits and misses.

    Every pair of an instance and a label is true or not, and source m affirms it with

        sensitivity[m, level]              if it is true,
        rate[m, level] * popularity[k]     if not.

    Skills are shared by the labels of a level, of which a source sees enough to be judged. In
    turn, skills are counted under the present belief and belief follows from the skills (EM),
    starting from the share of answers that affirm a pair; the prior is the label's popularity.
    Pairs that nobody affirmed are 0. Labels are judged one by one; at the end a parent is
    raised to its best child. Trusts that sources err independently: copies, or classifiers of
    one make, outvote better sources here. Each iteration is one pass over the answers, and costs
    those of every instance times the labels said of it; only skills are kept in between.
    """

    name: ClassVar[str] = "dawid-skene"
    summary: ClassVar[str] = "hit and false alarm rates of every source and level, by EM"
    reference: ClassVar[str] = (
        "Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates, Appl. Stat. 1979"
    )
    sparse: ClassVar[bool] = True

    prior_answers: Annotated[float, Field(gt=0)] = 1.0
    """Answers that the mean of a level counts for in the skill of each source."""

    tol: Annotated[float, Field(ge=0)] = 1e-4
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1)] = 200
    """Iterations at most."""

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Learn skills and belief in turn, until belief stays as it is."""
        popularity = popularity_in(parts)
        now, last = _pass(parts, popularity, None, None)
        votes, skills, trace = now.spread(parts.instances), None, list[Step]()
        for iteration in range(self.max_iter):
            began = time.perf_counter()
            before, skills = skills, skills_from(last, smooth=self.prior_answers)
            now, last = _pass(parts, popularity, before, skills)
            change = _ratio(math.sqrt(now.moved), math.sqrt(now.before))
            spread = _ratio(now.spread(parts.instances), votes)
            trace.append(Step(iteration, change, None, spread, time.perf_counter() - began))
            parts.progress("estimating source skills", iteration + 1, self.max_iter)
            if change <= self.tol:
                break
        converged = trace[-1].change <= self.tol
        if not converged:
            warnings.warn(
                f"dawid-skene stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or smooth",
                ConvergenceWarning,
                stacklevel=3,
            )
        return FittedDawidSkene(
            skills=skills, popularity=popularity, trace=tuple(trace), converged=converged,
            threshold=0.5,
        )  # fmt: skip


@registered("dawid-skene.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedDawidSkene(FittedMethod):
    """What is believed of pairs, given the skills of who affirmed them and of who did not.

    Attributes
    ----------
    skills : Skills
        Those of all sources; None to believe the share of answers that affirm a pair.
    popularity : float array, (K,)
        The prior of every label.
    """

    skills: Skills | None
    popularity: FloatArray

    def predict(self, panel: Panel) -> Scores:
        """Return the probabilities, in the specific view beyond that of the best child."""
        believed = [self._believed(piece) for piece in pieces(panel)]
        score = propagate_up(sparse.vstack(believed, format="csr"), panel.taxonomy)
        return Scores(score, most_specific(score, panel.taxonomy))

    def _believed(self, panel: Panel) -> Sparse:
        trials = trials_of(panel, self.popularity)
        entries = (_belief(trials, self.skills), (trials.pairs.instance, trials.pairs.label))
        return sparse.csr_array(entries, shape=(len(panel.instances), len(panel.taxonomy)))


_Sums: TypeAlias = tuple[float, float, float, FloatArray, FloatArray, FloatArray, FloatArray,
                         FloatArray]  # fmt: skip
"""Those of `_Belief`, then those of `Counts`."""


class _Belief(NamedTuple):
    """Sums over all pairs: of squares, before and now and of what moved; by label, (K,)."""

    before: float
    now: float
    moved: float
    by_label: FloatArray

    def spread(self, instances: int) -> float:
        """Return how far instances lie from their mean, those nobody affirmed being 0."""
        common = float(self.by_label @ self.by_label) / max(instances, 1)
        return math.sqrt(max(self.now - common, 0.0))


def _pass(
    parts: PanelPartitions, popularity: FloatArray, before: Skills | None, now: Skills | None
) -> tuple[_Belief, Counts]:
    """Return what is believed under the skills of now, and what is counted under that belief."""
    sums = parts.sum(partial(_measured, popularity=popularity, before=before, now=now))
    return _Belief(*sums[:4]), Counts(*sums[4:])


def _measured(
    panel: Panel, *, popularity: FloatArray, before: Skills | None, now: Skills | None
) -> _Sums:
    skills = len(panel.sources) * len(panel.taxonomy.levels)
    measured = (
        _measured_at_once(piece, popularity, before, now)
        for piece in pieces(panel, max(CHANCES, 8 * skills))
    )
    return reduce(add_sums, measured)


def _measured_at_once(
    panel: Panel, popularity: FloatArray, before: Skills | None, now: Skills | None
) -> _Sums:
    trials = trials_of(panel, popularity)
    # No belief is kept from one pass to the next: skills say what it was.
    then, belief = (_belief(trials, skills) for skills in (before, now))
    moved = belief - then
    by_label = np.bincount(trials.pairs.label, belief, minlength=len(popularity)).astype(float)
    squares = (float(each @ each) for each in (then, belief, moved))
    return (*squares, by_label, *count(trials, belief))  # type: ignore[return-value]


def _belief(trials: Trials, skills: Skills | None) -> FloatArray:
    return trials.share if skills is None else believe(trials, skills)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
