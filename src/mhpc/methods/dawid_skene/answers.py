"""What EM works on: every pair of an answer and an affirmed pair, and how popular labels are."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mhpc.data.panel import Panel, PanelPartitions, drop_gold
from mhpc.methods.dawid_skene.score_scales import ScoreScales
from mhpc.methods.pairs import AffirmedPairs, affirmed_pairs, drop_weightless
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.sparse import incidence, row_indices
from mhpc.parameters import registered


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
    known : float array, (P,), or None
        1 for pairs that are true by gold labels, 0 for those that are not, and NaN for pairs of
        instances without gold labels; None if there are no gold labels.
    """

    pairs: AffirmedPairs
    asked: Entries
    affirmed: Entries
    grades: VoteGrades | None
    popularity: Popularity
    offered: FloatArray
    known: FloatArray | None = None

    @property
    def share(self) -> FloatArray:
        """The share of the answers about each pair that affirm it, (P,).

        A vote of a graded source counts as the guessed probability of its grade.
        """
        value = 1.0 if self.grades is None else self.grades.value
        affirmed, asked = self.sum_by_pair(self.affirmed, value), self.sum_by_pair(self.asked)
        # Nobody was asked about an instance that has gold labels only.
        return np.divide(affirmed, asked, out=np.zeros_like(asked), where=asked > 0)

    def set_known(self, truth: FloatArray, pair: IntArray | None = None) -> FloatArray:
        """Return the probabilities of all pairs, or of some, with 1 and 0 for known ones."""
        if self.known is None:
            return truth
        known = self.known if pair is None else self.known[pair]
        return np.where(np.isnan(known), truth, known)

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

    Gold labels are the truth of their pairs, affirmed by a source or not; as answers they have no
    weight. Costs, summed over the instances, the number of answers times the number of affirmed
    labels.
    """
    panel = drop_weightless(panel)
    pairs, known = affirmed_pairs(panel), None
    if panel.is_gold.any():
        known = _find_known(pairs, panel)
        panel = replace(panel, weight=np.where(panel.is_gold, 0.0, panel.answer_weights))
    weight = panel.answer_weights
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
        known=known,
    )


def _find_known(pairs: AffirmedPairs, panel: Panel) -> FloatArray:
    known = np.full(len(pairs.label), np.nan)
    known[pairs.asked[panel.is_gold].indices] = 0.0
    known[pairs.votes[panel.is_gold].indices] = 1.0
    return known


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


def _count_labels(
    panel: Panel, *, scales: ScoreScales
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the total score and the affirmations of each label, and who could give it, (K,).

    Answers count by their weights. The scores of graded sources count as they are.
    """
    panel = drop_gold(drop_weightless(panel))
    weight, votes = panel.answer_weights, panel.augmented
    scored = affirmed = np.asarray(weight @ votes, dtype=np.float64)
    if not scales.is_plain:
        source = panel.source[row_indices(votes)]
        count = scales.count_affirmations(source, votes.data)
        score = np.where(scales.n_grades[source] > 1, votes.data, count)
        scored, affirmed = (
            np.bincount(votes.indices, weight[row_indices(votes)] * values, len(scored)).astype(
                float
            )
            for values in (score, count)
        )
    if panel.scope is None:
        return scored, affirmed, np.full(len(scored), float(weight.sum()))
    return scored, affirmed, np.asarray(_weight_by_source(panel) @ panel.scope)


def _sum_offered(panel: Panel, popularity: FloatArray, n_levels: int) -> FloatArray:
    K, level = len(popularity), panel.taxonomy.depth - 1
    weight = _weight_by_source(panel)
    if panel.scope is None:
        return np.outer(weight, np.bincount(level, popularity, minlength=n_levels))
    by_level = incidence(np.arange(K), level, shape=(K, n_levels), values=popularity)
    offered, answering = np.zeros((len(weight), n_levels)), np.flatnonzero(weight)
    offered[answering] = weight[answering, np.newaxis] * dense(panel.scope[answering] @ by_level)
    return offered


def _weight_by_source(panel: Panel) -> FloatArray:
    weight = np.bincount(panel.source, panel.answer_weights, minlength=len(panel.sources))
    return weight.astype(np.float64)
