"""EM: the E step, which estimates the truth, the M step, which estimates skills, and their sums."""

import math
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, logit

from mhpc.data.panel import Panel, PanelPartitions, add_sums
from mhpc.data.profiles import BySource
from mhpc.methods.dawid_skene.answers import Entries, PairedAnswers, Popularity, pair_answers
from mhpc.methods.dawid_skene.score_scales import MIN_PROBABILITY, ScoreScales, fit_increasing
from mhpc.methods.pairs import BLOCK_PAIRS, split_panel
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.parameters import registered

SENSITIVITY_LIMITS = (1e-3, 1 - 1e-3)
"""No source is trusted, or distrusted, without limit."""

FALSE_ALARM_LIMITS = (1e-9, 0.99)
"""One label among thousands is rarely given by mistake, but it happens."""

GRADE_LIMITS = (1e-4, 1 - 1e-4)
"""No grade of a score is trusted, or distrusted, without limit."""

PSEUDO_VOTES = 0.5
"""True and untrue votes that every grade has in addition to those that were counted."""


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

    sensitivity: Annotated[FloatArray, BySource()]
    rate: Annotated[FloatArray, BySource()]
    grade_evidence: Annotated[FloatArray, BySource(new=0.0)]


def estimate_truth(data: PairedAnswers, skills: Skills | None) -> FloatArray:
    """E step: return the probability that each pair is true, by Bayes' rule, (P,).

    Without skills, which is where EM starts, it is the share of answers that affirm the pair. Pairs
    of an instance with gold labels are true or not, whatever the answers say.
    """
    if skills is None:
        return data.set_known(data.share)
    log_odds, _ = sum_evidence(data, skills)
    return data.set_known(expit(log_odds))


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
    """Return the log of how much likelier each grade is for true than for untrue votes, (M, G).

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


def _shrink(
    successes: FloatArray, trials: FloatArray, prior_answers: float, *, default: float
) -> FloatArray:
    """Return successes / trials, shrunk towards the mean of the level, and that to a default."""
    mean = (successes.sum(axis=0) + default) / (trials.sum(axis=0) + 1.0)
    return np.asarray((successes + prior_answers * mean) / (trials + prior_answers))


class TruthSums(NamedTuple):
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
"""The fields of `TruthSums`, then those of `OutcomeCounts`."""


def run_e_step(
    partitions: PanelPartitions,
    popularity: Popularity,
    scales: ScoreScales,
    previous: Skills | None,
    skills: Skills | None,
) -> tuple[TruthSums, OutcomeCounts]:
    """Estimate the truth in all partitions, and return what the trace and the M step need of it."""
    sums = partitions.sum(
        partial(_sum_blocks, popularity=popularity, scales=scales, previous=previous, skills=skills)
    )
    return TruthSums(*sums[:4]), OutcomeCounts(*sums[4:])


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
    truth = estimate_truth(data, skills)
    before = truth if previous is skills else estimate_truth(data, previous)
    by_label = np.bincount(data.pairs.label, truth, minlength=len(panel.taxonomy)).astype(float)
    squares = (float(values @ values) for values in (before, truth, truth - before))
    return (*squares, by_label, *count_outcomes(data, truth))  # type: ignore[return-value]


def calibrate_scales(
    partitions: PanelPartitions, popularity: Popularity, scales: ScoreScales, skills: Skills | None
) -> ScoreScales:
    """Return the scales with the probability that a vote of each grade is right.

    This is the mean probability of the pairs that have a vote of the grade, if the source had been
    silent about them: what others say of these pairs, or gold labels, shows how good the grade is.
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
            pair = data.affirmed.pair
            without = data.set_known(expit(log_odds[pair] - own), pair)
            right += data.grades.sum_by_grade(data.affirmed.weight * without)
            votes += data.grades.sum_by_grade(data.affirmed.weight)
    return right, votes
