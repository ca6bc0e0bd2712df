"""Dawid-Skene for label sets in a taxonomy: sensitivity and false-alarm rate per source and level.

Every pair of an instance and a label is true or not. EM estimates, in turn, the probability that
each pair is true (E step, `estimate_truth`) and the skills of the sources given these
probabilities (M step, `count_outcomes` and `estimate_skills`).
"""

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
from mhpc.data.panel import Panel, PanelPartitions, add_sums
from mhpc.data.scores import Scores, Step
from mhpc.errors import ConvergenceWarning
from mhpc.methods.base import BaseMethod, FittedMethod
from mhpc.methods.pairs import BLOCK_PAIRS, AffirmedPairs, affirmed_pairs, split_panel
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense, ratio
from mhpc.numerics.sparse import incidence, row_indices
from mhpc.parameters import registered

SENSITIVITY_LIMITS = (1e-3, 1 - 1e-3)
"""No source is trusted, or distrusted, without limit."""

FALSE_ALARM_LIMITS = (1e-9, 0.99)
"""One label among thousands is rarely given by mistake, but it happens."""


class DawidSkene(BaseMethod):
    """The probability that a label applies, given the skills of all sources.

    Every pair of an instance and a label is true or not, and source m affirms it with probability

        sensitivity[m, level]              if it is true,
        rate[m, level] * popularity[k]     if it is not.

    Labels of a level share these skills, since a source gives few labels often enough to estimate
    its skill for each. EM starts from the share of answers that affirm a pair; the prior is the
    label's popularity. Pairs that nobody affirmed are 0. Labels are estimated independently of
    each other; at the end a parent is raised to its best child.

    Assumes that sources err independently: copies, or similar classifiers, outvote better sources.
    An iteration is one pass over the answers, and costs, summed over the instances, the number of
    answers times the number of affirmed labels; only the skills are kept in between.
    """

    name: ClassVar[str] = "dawid-skene"
    summary: ClassVar[str] = "hit and false alarm rates of every source and level, by EM"
    reference: ClassVar[str] = (
        "Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates, Appl. Stat. 1979"
    )
    sparse: ClassVar[bool] = True

    prior_answers: Annotated[float, Field(gt=0)] = 1.0
    """How many answers the mean skill of a level counts for in the skill of each source."""

    tol: Annotated[float, Field(ge=0)] = 1e-4
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1)] = 200
    """Iterations at most."""

    def fit(self, partitions: PanelPartitions) -> FittedMethod:
        """Estimate skills and truth in turn until the truth no longer changes."""
        popularity = estimate_popularity(partitions)
        sums, counts = _run_e_step(partitions, popularity, None, None)
        initial_spread = sums.spread(partitions.instances)
        skills, trace = None, list[Step]()
        for iteration in range(self.max_iter):
            start = time.perf_counter()
            previous, skills = skills, estimate_skills(counts, prior_answers=self.prior_answers)
            sums, counts = _run_e_step(partitions, popularity, previous, skills)
            change = ratio(math.sqrt(sums.change), math.sqrt(sums.before))
            spread = ratio(sums.spread(partitions.instances), initial_spread)
            trace.append(Step(iteration, change, None, spread, time.perf_counter() - start))
            partitions.progress("estimating source skills", iteration + 1, self.max_iter)
            if change <= self.tol:
                break
        converged = trace[-1].change <= self.tol
        if not converged:
            warnings.warn(
                f"dawid-skene stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or "
                "prior_answers",
                ConvergenceWarning,
                stacklevel=3,
            )
        return FittedDawidSkene(
            skills=skills, popularity=popularity, trace=tuple(trace), converged=converged,
            threshold=0.5,
        )  # fmt: skip


@registered("dawid-skene.skills")
@dataclass(frozen=True, eq=False)
class Skills:
    """The two error rates of every source and level.

    Attributes
    ----------
    sensitivity : float array, (M, levels)
        How often the source affirms a label of the level that applies.
    rate : float array, (M, levels)
        How often it affirms a label that does not apply, relative to the label's popularity; 1 for
        a source that ignores the instance.
    """

    sensitivity: FloatArray
    rate: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedDawidSkene(FittedMethod, saved_as="dawid-skene.fitted"):
    """The skills of all sources and the prior of every label.

    Attributes
    ----------
    skills : Skills or None
        None before the first iteration: the share of answers that affirm a pair.
    popularity : float array, (K,)
        The prior of every label.
    """

    skills: Skills | None
    popularity: FloatArray

    def predict(self, panel: Panel) -> Scores:
        """Return the probability of every label, and its excess over that of the best child."""
        blocks = [self._predict_block(block) for block in split_panel(panel)]
        score = propagate_up(sparse.vstack(blocks, format="csr"), panel.taxonomy)
        return Scores(score, most_specific(score, panel.taxonomy))

    def _predict_block(self, panel: Panel) -> Sparse:
        data = pair_answers(panel, self.popularity)
        return data.pairs.to_matrix(estimate_truth(data, self.skills), len(panel.instances))


@dataclass(frozen=True, eq=False)
class Entries:
    """Weighted entries of a matrix of answers x affirmed pairs.

    Attributes
    ----------
    skill : int array, (E,)
        The source of the answer and the level of the label, as one index into the skills.
    pair : int array, (E,)
        The pair.
    weight : float array, (E,)
        How much the entry counts.
    """

    skill: IntArray
    pair: IntArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class PairedAnswers:
    """What EM works on: every pair that a source could affirm, and whether it did.

    Attributes
    ----------
    pairs : AffirmedPairs
        The P pairs of an instance and a label that some source affirmed.
    asked, affirmed : Entries
        Weighted by the answer, and by the answer times its vote.
    popularity : float array, (K,)
        Share of the answers that contain the label, above 0 and below 1.
    offered : float array, (M, levels)
        Popularity of all labels that each source could give, summed over its answers.
    """

    pairs: AffirmedPairs
    asked: Entries
    affirmed: Entries
    popularity: FloatArray
    offered: FloatArray

    @property
    def share(self) -> FloatArray:
        """The share of the answers about each pair that affirm it, (P,)."""
        return self.sum_by_pair(self.affirmed) / self.sum_by_pair(self.asked)

    def sum_by_pair(self, entries: Entries, values: FloatArray | float = 1.0) -> FloatArray:
        """Return the sum of weight times value over the entries of every pair, (P,)."""
        P = len(self.pairs.label)
        return np.bincount(entries.pair, entries.weight * values, minlength=P).astype(float)

    def sum_by_skill(self, entries: Entries, values: FloatArray) -> FloatArray:
        """Return the sum of weight times the pair's value for every source and level."""
        weight = entries.weight * values[entries.pair]
        total = np.bincount(entries.skill, weight, minlength=self.offered.size).astype(float)
        return total.reshape(self.offered.shape)


def pair_answers(panel: Panel, popularity: FloatArray) -> PairedAnswers:
    """Join every answer with the affirmed pairs of its instance.

    Costs, summed over the instances, the number of answers times the number of affirmed labels.
    """
    panel = _without_weightless(panel)
    pairs, weight = affirmed_pairs(panel), panel.answer_weights
    depth = panel.taxonomy.depth
    n_levels, level = int(depth.max(initial=1)), (depth - 1)[pairs.label]

    def list_entries(matrix: Sparse) -> Entries:
        answer, pair = row_indices(matrix), matrix.indices.astype(np.int64)
        skill = (panel.source * n_levels)[answer] + level[pair]
        return Entries(skill, pair, weight[answer] * matrix.data)

    return PairedAnswers(
        pairs=pairs,
        asked=list_entries(pairs.asked),
        affirmed=list_entries(pairs.votes),
        popularity=popularity,
        offered=_sum_offered(panel, popularity, n_levels),
    )


def estimate_popularity(partitions: PanelPartitions) -> FloatArray:
    """Return the share of the answers with each label, (K,), kept off 0 and 1 by half an answer."""
    given, possible = partitions.sum(_count_labels)
    return np.asarray((given + 0.5) / (possible + 1.0))


def estimate_truth(data: PairedAnswers, skills: Skills | None) -> FloatArray:
    """E step: return the probability that each pair is true, by Bayes' rule, (P,).

    Without skills, which is where EM starts, it is the share of answers that affirm the pair.
    """
    if skills is None:
        return data.share
    prior = data.popularity[data.pairs.label]
    sensitivity = np.clip(skills.sensitivity, *SENSITIVITY_LIMITS).ravel()
    rate = skills.rate.ravel()
    log_hit, log_miss = np.log(sensitivity), np.log1p(-sensitivity)

    def false_alarm(entries: Entries) -> FloatArray:
        return np.clip(rate[entries.skill] * prior[entries.pair], *FALSE_ALARM_LIMITS)

    # Every answer first counts as silence; a vote of 0.4 then replaces 0.4 of it by affirmation.
    asked, affirmed = data.asked, data.affirmed
    silence = log_miss[asked.skill] - np.log1p(-false_alarm(asked))
    alarm = false_alarm(affirmed)
    instead = (log_hit - log_miss)[affirmed.skill] - np.log(alarm) + np.log1p(-alarm)
    log_odds = data.sum_by_pair(asked, silence) + data.sum_by_pair(affirmed, instead)
    return np.asarray(expit(np.log(prior) - np.log1p(-prior) + log_odds))


class OutcomeCounts(NamedTuple):
    """Expected outcomes of every source and level, (M, levels) each; sums over instances.

    Attributes
    ----------
    hits, true : float arrays
        True labels that were affirmed, and that could have been.
    alarms, false : float arrays
        Untrue labels that were affirmed, and the popularity of all that could have been.
    """

    hits: FloatArray
    true: FloatArray
    alarms: FloatArray
    false: FloatArray


def count_outcomes(data: PairedAnswers, truth: FloatArray) -> OutcomeCounts:
    """Return the expected outcomes if pairs are true with the probabilities `truth`, (P,)."""
    popularity = data.popularity[data.pairs.label]
    return OutcomeCounts(
        hits=data.sum_by_skill(data.affirmed, truth),
        true=data.sum_by_skill(data.asked, truth),
        alarms=data.sum_by_skill(data.affirmed, 1 - truth),
        false=data.offered - data.sum_by_skill(data.asked, truth * popularity),
    )


def estimate_skills(counts: OutcomeCounts, *, prior_answers: float) -> Skills:
    """M step: return the skills that the outcomes over all instances show."""
    return Skills(
        sensitivity=_shrink(counts.hits, counts.true, prior_answers, default=0.5),
        rate=_shrink(counts.alarms, np.maximum(counts.false, 0.0), prior_answers, default=1.0),
    )


def _shrink(
    successes: FloatArray, trials: FloatArray, prior_answers: float, *, default: float
) -> FloatArray:
    """Return successes / trials, shrunk towards the mean of the level, and that to a default."""
    mean = (successes.sum(axis=0) + default) / (trials.sum(axis=0) + 1.0)
    return np.asarray((successes + prior_answers * mean) / (trials + prior_answers))


def _without_weightless(panel: Panel) -> Panel:
    """Drop answers of weight 0: a pair that only they affirm would get its prior."""
    return panel if panel.weight is None else panel.select_answers(panel.weight > 0)


def _count_labels(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return the weight of the answers with each label, and of those that could have it, (K,)."""
    panel = _without_weightless(panel)
    weight = panel.answer_weights
    given = np.asarray(weight @ panel.augmented, dtype=np.float64)
    if panel.scope is None:
        return given, np.full(len(given), float(weight.sum()))
    return given, np.asarray(_weight_by_source(panel) @ panel.scope)


def _sum_offered(panel: Panel, popularity: FloatArray, n_levels: int) -> FloatArray:
    K, level = len(popularity), panel.taxonomy.depth - 1
    by_level = incidence(np.arange(K), level, shape=(K, n_levels), values=popularity)
    weight = _weight_by_source(panel)
    offered, answering = np.zeros((len(weight), n_levels)), np.flatnonzero(weight)
    scope = np.ones((1, K)) if panel.scope is None else panel.scope[answering]
    offered[answering] = weight[answering, np.newaxis] * dense(scope @ by_level)
    return offered


def _weight_by_source(panel: Panel) -> FloatArray:
    weight = np.bincount(panel.source, panel.answer_weights, minlength=len(panel.sources))
    return weight.astype(np.float64)


class _TruthSums(NamedTuple):
    """Sums over all pairs, for the trace.

    Attributes
    ----------
    before, now, change : float
        Squares of the probabilities before and after the M step, and of their differences.
    by_label : float array, (K,)
        The probabilities.
    """

    before: float
    now: float
    change: float
    by_label: FloatArray

    def spread(self, instances: int) -> float:
        """Return the distance of the instances from their mean; pairs nobody affirmed are 0."""
        common = float(self.by_label @ self.by_label) / max(instances, 1)
        return math.sqrt(max(self.now - common, 0.0))


_Sums: TypeAlias = tuple[float, float, float, FloatArray, FloatArray, FloatArray, FloatArray,
                         FloatArray]  # fmt: skip
"""The fields of `_TruthSums`, then those of `OutcomeCounts`."""


def _run_e_step(
    partitions: PanelPartitions,
    popularity: FloatArray,
    previous: Skills | None,
    skills: Skills | None,
) -> tuple[_TruthSums, OutcomeCounts]:
    """Estimate the truth in all partitions, and return what the trace and the M step need of it."""
    sums = partitions.sum(
        partial(_sum_blocks, popularity=popularity, previous=previous, skills=skills)
    )
    return _TruthSums(*sums[:4]), OutcomeCounts(*sums[4:])


def _sum_blocks(
    panel: Panel,
    *,
    popularity: FloatArray,
    previous: Skills | None,
    skills: Skills | None,
    limit: int = BLOCK_PAIRS,
) -> _Sums:
    n_skills = len(panel.sources) * len(panel.taxonomy.levels)
    sums = (
        _sum_block(block, popularity, previous, skills)
        for block in split_panel(panel, limit=max(limit, 8 * n_skills))
    )
    return reduce(add_sums, sums)


def _sum_block(
    panel: Panel, popularity: FloatArray, previous: Skills | None, skills: Skills | None
) -> _Sums:
    data = pair_answers(panel, popularity)
    # Probabilities are not kept from one pass to the next: the previous skills give them again.
    before, truth = estimate_truth(data, previous), estimate_truth(data, skills)
    by_label = np.bincount(data.pairs.label, truth, minlength=len(popularity)).astype(float)
    squares = (float(values @ values) for values in (before, truth, truth - before))
    return (*squares, by_label, *count_outcomes(data, truth))  # type: ignore[return-value]
