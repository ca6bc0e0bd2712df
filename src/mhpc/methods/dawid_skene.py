"""Dawid-Skene for label sets in a taxonomy: sensitivity and false-alarm rate per source and level.

Every pair of an instance and a label is true or not. EM estimates, in turn, the probability that
each pair is true (E step, `estimate_truth`) and the skills of the sources given these
probabilities (M step, `count_outcomes` and `estimate_skills`).
"""

import math
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Annotated, ClassVar, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse
from scipy.special import expit, logit

from mhpc.data.hierarchy import most_specific, propagate_up
from mhpc.data.panel import Panel, PanelPartitions, add_sums
from mhpc.data.scores import Scores, Step
from mhpc.errors import ConvergenceWarning
from mhpc.methods.base import BaseMethod, FittedMethod
from mhpc.methods.pairs import (
    BLOCK_PAIRS,
    AffirmedPairs,
    affirmed_pairs,
    drop_weightless,
    split_panel,
)
from mhpc.methods.score_scales import (
    MIN_PROBABILITY,
    ScoreScales,
    fit_increasing,
    learn_scales,
)
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense, ratio
from mhpc.numerics.sparse import incidence, row_indices
from mhpc.parameters import registered

SENSITIVITY_LIMITS = (1e-3, 1 - 1e-3)
"""No source is trusted, or distrusted, without limit."""

FALSE_ALARM_LIMITS = (1e-9, 0.99)
"""One label among thousands is rarely given by mistake, but it happens."""


GRADE_LIMITS = (1e-4, 1 - 1e-4)
"""No grade of a score is trusted, or distrusted, without limit."""

PSEUDO_VOTES = 0.5
"""True and untrue votes that every grade has in addition to those that were counted."""


class DawidSkene(BaseMethod):
    """The probability that a label applies, given the skills of all sources.

    Every pair of an instance and a label is true or not, and source m affirms it with probability

        sensitivity[m, level]              if it is true,
        rate[m, level] * popularity[k]     if it is not.

    If its scores have several grades (`ScoreScales`), which of them the vote has is further
    evidence: every grade has a probability among the source's true votes and one among its untrue
    votes. So a score says what votes with that score turned out to be worth, not what its number
    claims.

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
        scales = learn_scales(partitions)
        popularity = estimate_popularity(partitions, scales)
        sums, counts = _run_e_step(partitions, popularity, scales, None, None)
        initial_spread = sums.spread(partitions.instances)
        skills, trace = None, list[Step]()
        for iteration in range(self.max_iter):
            start = time.perf_counter()
            previous = skills
            skills = estimate_skills(counts, scales, prior_answers=self.prior_answers)
            sums, counts = _run_e_step(partitions, popularity, scales, previous, skills)
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
            skills=skills,
            popularity=popularity,
            scales=calibrate_scales(partitions, popularity, scales, skills),
            trace=tuple(trace),
            converged=converged,
            threshold=0.5,
        )


@registered("dawid-skene.skills")
@dataclass(frozen=True, eq=False)
class Skills:
    """The two error rates of every source and level, and what its grades say.

    Attributes
    ----------
    sensitivity : float array, (M, levels)
        How often the source affirms a label of the level that applies.
    rate : float array, (M, levels)
        How often it affirms a label that does not apply, relative to the label's popularity; 1 for
        a source that ignores the instance.
    grade_evidence : float array, (M, G)
        By how much a vote of each grade changes the log odds of a pair, compared with any vote of
        the source; not decreasing, and 0 if the source has one grade.
    """

    sensitivity: FloatArray
    rate: FloatArray
    grade_evidence: FloatArray


@registered("dawid-skene.popularity")
@dataclass(frozen=True, eq=False)
class Popularity:
    """How popular every label is: above 0 and below 1, (K,).

    Both are the same if no source is graded.

    Attributes
    ----------
    score : float array, (K,)
        The mean score of the label in the answers that could contain it: the prior.
    affirmed : float array, (K,)
        The share of these answers that affirm it, whatever the grade: what false alarms are like.
    """

    score: FloatArray
    affirmed: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedDawidSkene(FittedMethod, saved_as="dawid-skene.fitted"):
    """The skills of all sources, what their scores mean, and the prior of every label.

    Attributes
    ----------
    skills : Skills or None
        None before the first iteration: the share of answers that affirm a pair.
    popularity : Popularity
        The prior of every label, and how often it is affirmed.
    scales : ScoreScales
        What the scores of every source mean.
    """

    skills: Skills | None
    popularity: Popularity
    scales: ScoreScales

    def predict(self, panel: Panel) -> Scores:
        """Return the probability of every label, and its excess over that of the best child."""
        blocks = [self._predict_block(block) for block in split_panel(panel)]
        score = propagate_up(sparse.vstack(blocks, format="csr"), panel.taxonomy)
        return Scores(score, most_specific(score, panel.taxonomy))

    def calibrate(self, panel: Panel) -> Panel:
        """Return the panel with the probability that a vote is right instead of its score.

        This is the mean probability, without the vote itself, of all pairs to which the source
        gave a score of the same grade or, for a ranked list, rank. The votes of sources that
        always give the same score, or too few votes, are not changed. So scores of different
        sources can be compared and averaged.
        """
        return self.scales.calibrate(panel)

    def _predict_block(self, panel: Panel) -> Sparse:
        data = pair_answers(panel, self.popularity, self.scales)
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
class VoteGrades:
    """The grades of V votes.

    Attributes
    ----------
    shape : pair of int
        (M, G).
    cell : int array, (V,)
        The source of the vote and its grade, as one index into an array of this shape.
    value : float array, (V,)
        The probability of the grade before EM; 1 for sources that are not graded.
    """

    shape: tuple[int, int]
    cell: IntArray
    value: FloatArray

    def sum_by_grade(self, values: FloatArray) -> FloatArray:
        """Return the sum of one value per vote for every source and grade, (M, G)."""
        M, G = self.shape
        return np.bincount(self.cell, values, minlength=M * G).astype(float).reshape(M, G)


@dataclass(frozen=True, eq=False)
class PairedAnswers:
    """What EM works on: every pair that a source could affirm, and whether it did.

    Attributes
    ----------
    pairs : AffirmedPairs
        The P pairs of an instance and a label that some source affirmed.
    asked, affirmed : Entries
        Weighted by the answer, and by the answer times how much of an affirmation its vote is.
    grades : VoteGrades or None
        The grades of the votes; None if no source is graded.
    popularity : Popularity
        How popular each label is.
    offered : float array, (M, levels)
        Popularity of all labels that each source could give, summed over its answers.
    """

    pairs: AffirmedPairs
    asked: Entries
    affirmed: Entries
    grades: VoteGrades | None
    popularity: Popularity
    offered: FloatArray

    @property
    def share(self) -> FloatArray:
        """The share of the answers about each pair that affirm it, (P,).

        A vote of a graded source counts as the guessed probability of its grade.
        """
        value = 1.0 if self.grades is None else self.grades.value
        return self.sum_by_pair(self.affirmed, value) / self.sum_by_pair(self.asked)

    def sum_by_pair(self, entries: Entries, values: FloatArray | float = 1.0) -> FloatArray:
        """Return the sum of weight times value over the entries of every pair, (P,)."""
        P = len(self.pairs.label)
        return np.bincount(entries.pair, entries.weight * values, minlength=P).astype(float)

    def sum_by_skill(self, entries: Entries, values: FloatArray) -> FloatArray:
        """Return the sum of weight times the pair's value for every source and level."""
        weight = entries.weight * values[entries.pair]
        total = np.bincount(entries.skill, weight, minlength=self.offered.size).astype(float)
        return total.reshape(self.offered.shape)


def pair_answers(panel: Panel, popularity: Popularity, scales: ScoreScales) -> PairedAnswers:
    """Join every answer with the affirmed pairs of its instance.

    Costs, summed over the instances, the number of answers times the number of affirmed labels.
    """
    panel = drop_weightless(panel)
    pairs, weight = affirmed_pairs(panel), panel.answer_weights
    source, score = panel.source[row_indices(pairs.votes)], pairs.votes.data
    depth = panel.taxonomy.depth
    n_levels, level = int(depth.max(initial=1)), (depth - 1)[pairs.label]

    def list_entries(matrix: Sparse, values: FloatArray) -> Entries:
        answer, pair = row_indices(matrix), matrix.indices.astype(np.int64)
        skill = (panel.source * n_levels)[answer] + level[pair]
        return Entries(skill, pair, weight[answer] * values)

    return PairedAnswers(
        pairs=pairs,
        asked=list_entries(pairs.asked, pairs.asked.data),
        affirmed=list_entries(pairs.votes, scales.count_affirmations(source, score)),
        grades=grade_votes(scales, source, score) if scales.has_grades else None,
        popularity=popularity,
        offered=_sum_offered(panel, popularity.affirmed, n_levels),
    )


def grade_votes(scales: ScoreScales, source: IntArray, score: FloatArray) -> VoteGrades:
    """Return the grades of votes."""
    grade, (M, G) = scales.find_grades(source, score), scales.probability.shape
    value = np.where(scales.n_grades[source] > 1, scales.probability[source, grade], 1.0)
    return VoteGrades((M, G), source * G + grade, value)


def estimate_popularity(partitions: PanelPartitions, scales: ScoreScales) -> Popularity:
    """Return how popular labels are, kept off 0 and 1 by half an answer."""
    scored, affirmed, possible = partitions.sum(partial(_count_labels, scales=scales))
    return Popularity(
        score=np.asarray((scored + 0.5) / (possible + 1.0)),
        affirmed=np.asarray((affirmed + 0.5) / (possible + 1.0)),
    )


def estimate_truth(data: PairedAnswers, skills: Skills | None) -> FloatArray:
    """E step: return the probability that each pair is true, by Bayes' rule, (P,).

    Without skills, which is where EM starts, it is the share of answers that affirm the pair.
    """
    if skills is None:
        return data.share
    log_odds, _ = sum_evidence(data, skills)
    return np.asarray(expit(log_odds))


def sum_evidence(data: PairedAnswers, skills: Skills) -> tuple[FloatArray, FloatArray]:
    """Return the log odds of every pair, (P,), and what every vote adds to them, (V,).

    What a vote adds is relative to the silence of its source.
    """
    prior = data.popularity.score[data.pairs.label]
    affirmed_share = data.popularity.affirmed[data.pairs.label]
    sensitivity = np.clip(skills.sensitivity, *SENSITIVITY_LIMITS).ravel()
    rate = skills.rate.ravel()
    log_hit, log_miss = np.log(sensitivity), np.log1p(-sensitivity)

    def false_alarm(entries: Entries) -> FloatArray:
        return np.clip(rate[entries.skill] * affirmed_share[entries.pair], *FALSE_ALARM_LIMITS)

    # Every answer first counts as silence, which a vote then replaces by affirmation: all of it if
    # the source is graded, 0.4 of it for a score of 0.4 that is taken as it is.
    asked, affirmed = data.asked, data.affirmed
    silence = log_miss[asked.skill] - np.log1p(-false_alarm(asked))
    alarm = false_alarm(affirmed)
    instead = (log_hit - log_miss)[affirmed.skill] - np.log(alarm) + np.log1p(-alarm)
    if data.grades is not None:
        instead = instead + skills.grade_evidence.ravel()[data.grades.cell]
    log_odds = data.sum_by_pair(asked, silence) + data.sum_by_pair(affirmed, instead)
    return np.log(prior) - np.log1p(-prior) + log_odds, affirmed.weight * instead


class OutcomeCounts(NamedTuple):
    """Expected outcomes of every source and level, (M, levels), or grade; sums over instances.

    Attributes
    ----------
    hits, true : float arrays
        True labels that were affirmed, and that could have been.
    alarms, false : float arrays
        Untrue labels that were affirmed, and the popularity of all that could have been.
    graded_hits, graded_alarms : float arrays, (M, G)
        The affirmed labels by the grade of the vote; 0 if no source is graded.
    """

    hits: FloatArray
    true: FloatArray
    alarms: FloatArray
    false: FloatArray
    graded_hits: FloatArray
    graded_alarms: FloatArray


def count_outcomes(data: PairedAnswers, truth: FloatArray) -> OutcomeCounts:
    """Return the expected outcomes if pairs are true with the probabilities `truth`, (P,)."""
    popularity, votes = data.popularity.affirmed[data.pairs.label], data.affirmed
    graded_hits = graded_alarms = np.zeros((len(data.offered), 1))
    if data.grades is not None:
        graded_hits = data.grades.sum_by_grade(votes.weight * truth[votes.pair])
        graded_alarms = data.grades.sum_by_grade(votes.weight * (1 - truth[votes.pair]))
    return OutcomeCounts(
        hits=data.sum_by_skill(data.affirmed, truth),
        true=data.sum_by_skill(data.asked, truth),
        alarms=data.sum_by_skill(data.affirmed, 1 - truth),
        false=data.offered - data.sum_by_skill(data.asked, truth * popularity),
        graded_hits=graded_hits,
        graded_alarms=graded_alarms,
    )


def estimate_skills(counts: OutcomeCounts, scales: ScoreScales, *, prior_answers: float) -> Skills:
    """M step: return the skills that the outcomes over all instances show."""
    return Skills(
        sensitivity=_shrink(counts.hits, counts.true, prior_answers, default=0.5),
        rate=_shrink(counts.alarms, np.maximum(counts.false, 0.0), prior_answers, default=1.0),
        grade_evidence=estimate_grade_evidence(
            counts.graded_hits, counts.graded_alarms, scales.n_grades
        ),
    )


def estimate_grade_evidence(hits: FloatArray, alarms: FloatArray, n_grades: IntArray) -> FloatArray:
    """Return the log of how much likelier each grade is for true votes than for untrue ones, (M, G).

    This is the log odds that a vote of the grade is true minus those of any vote of the source. A
    higher grade is never worth less than a lower one: where the counts say so, both get the same.

    Parameters
    ----------
    hits, alarms : float arrays, (M, G)
        Expected true and untrue votes of every source and grade.
    n_grades : int array, (M,)
        The number of grades of every source.
    """
    is_grade = np.arange(hits.shape[1]) < n_grades[:, np.newaxis]
    hits, alarms = hits + PSEUDO_VOTES * is_grade, alarms + PSEUDO_VOTES * is_grade
    votes = hits + alarms
    share = np.divide(hits, votes, out=np.zeros_like(hits), where=is_grade)
    share = np.clip(fit_increasing(share, votes), *GRADE_LIMITS)
    overall = hits.sum(axis=1, keepdims=True) / votes.sum(axis=1, keepdims=True)
    evidence = logit(share) - logit(overall)
    return np.where(is_grade & (n_grades > 1)[:, np.newaxis], evidence, 0.0)


def calibrate_scales(
    partitions: PanelPartitions, popularity: Popularity, scales: ScoreScales, skills: Skills | None
) -> ScoreScales:
    """Return the scales with the probability that a vote of each grade is right.

    This is the mean probability of the pairs that have a vote of the grade, each without what that
    vote adds: the other sources say how good the grade is.
    """
    if not scales.has_grades or skills is None:
        return scales
    right, votes = partitions.sum(
        partial(_sum_right_votes, popularity=popularity, scales=scales, skills=skills)
    )
    mean = np.divide(right, votes, out=np.zeros_like(right), where=votes > 0)
    probability = np.clip(fit_increasing(mean, votes), MIN_PROBABILITY, 1.0)
    return replace(scales, probability=probability)


def _sum_right_votes(
    panel: Panel, *, popularity: Popularity, scales: ScoreScales, skills: Skills
) -> tuple[FloatArray, FloatArray]:
    """Return the expected right votes, and all votes, of every source and grade, (M, G)."""
    right, votes = np.zeros((2, *scales.probability.shape))
    for block in split_panel(panel):
        data = pair_answers(block, popularity, scales)
        if data.grades is not None:
            log_odds, own = sum_evidence(data, skills)
            without = expit(log_odds[data.affirmed.pair] - own)
            right += data.grades.sum_by_grade(data.affirmed.weight * without)
            votes += data.grades.sum_by_grade(data.affirmed.weight)
    return right, votes


def _shrink(
    successes: FloatArray, trials: FloatArray, prior_answers: float, *, default: float
) -> FloatArray:
    """Return successes / trials, shrunk towards the mean of the level, and that to a default."""
    mean = (successes.sum(axis=0) + default) / (trials.sum(axis=0) + 1.0)
    return np.asarray((successes + prior_answers * mean) / (trials + prior_answers))


def _count_labels(
    panel: Panel, *, scales: ScoreScales
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the total score and the affirmations of each label, and who could give it, (K,).

    Answers count by their weights. The scores of graded sources count as they are.
    """
    panel = drop_weightless(panel)
    weight, votes = panel.answer_weights, panel.augmented
    scored = affirmed = np.asarray(weight @ votes, dtype=np.float64)
    if not scales.is_plain:
        source = panel.source[row_indices(votes)]
        count = scales.count_affirmations(source, votes.data)
        score = np.where(scales.n_grades[source] > 1, votes.data, count)
        scored, affirmed = (
            np.bincount(votes.indices, weight[row_indices(votes)] * values, len(scored))
            for values in (score, count)
        )
    if panel.scope is None:
        return scored, affirmed, np.full(len(scored), float(weight.sum()))
    return scored, affirmed, np.asarray(_weight_by_source(panel) @ panel.scope)


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
                         FloatArray, FloatArray, FloatArray]  # fmt: skip
"""The fields of `_TruthSums`, then those of `OutcomeCounts`."""


def _run_e_step(
    partitions: PanelPartitions,
    popularity: Popularity,
    scales: ScoreScales,
    previous: Skills | None,
    skills: Skills | None,
) -> tuple[_TruthSums, OutcomeCounts]:
    """Estimate the truth in all partitions, and return what the trace and the M step need of it."""
    sums = partitions.sum(
        partial(_sum_blocks, popularity=popularity, scales=scales, previous=previous, skills=skills)
    )
    return _TruthSums(*sums[:4]), OutcomeCounts(*sums[4:])


def _sum_blocks(
    panel: Panel,
    *,
    popularity: Popularity,
    scales: ScoreScales,
    previous: Skills | None,
    skills: Skills | None,
    limit: int = BLOCK_PAIRS,
) -> _Sums:
    n_skills = len(panel.sources) * len(panel.taxonomy.levels)
    sums = (
        _sum_block(block, popularity, scales, previous, skills)
        for block in split_panel(panel, limit=max(limit, 8 * n_skills))
    )
    return reduce(add_sums, sums)


def _sum_block(
    panel: Panel,
    popularity: Popularity,
    scales: ScoreScales,
    previous: Skills | None,
    skills: Skills | None,
) -> _Sums:
    data = pair_answers(panel, popularity, scales)
    # Probabilities are not kept from one pass to the next: the previous skills give them again.
    before, truth = estimate_truth(data, previous), estimate_truth(data, skills)
    by_label = np.bincount(data.pairs.label, truth, minlength=len(panel.taxonomy)).astype(float)
    squares = (float(values @ values) for values in (before, truth, truth - before))
    return (*squares, by_label, *count_outcomes(data, truth))  # type: ignore[return-value]
