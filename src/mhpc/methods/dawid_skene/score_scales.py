"""What the scores of each source mean: how its votes are graded, and how its ranks are read.

Sources do not agree on what a score is. One classifier gives 0.3 to labels that are nearly always
true, another gives 0.9 to everything, and a ranked list gives 1/rank. So a score is not taken as a
probability. The scores of a source are divided into a few grades, of which only the order is
trusted; how much each grade says is then estimated together with the skills of the sources. A
ranked list is different, since its labels are alternatives: the probability of a rank is how often
the other sources put such a label first.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from mhpc.data.panel import Panel, PanelPartitions, drop_gold
from mhpc.data.profiles import BySource
from mhpc.methods.pairs import BLOCK_PAIRS, affirmed_pairs, drop_weightless, split_panel
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import row_indices
from mhpc.parameters import registered

SAMPLE_SIZE = 20_000
"""Instances from which the grades and ranks of a source are learned."""

MAX_GRADES = 8
"""Grades of a source at most."""

MIN_VOTES = 30
"""Votes, ancestors included, that a source needs; with fewer, its scores are taken as they are."""

VOTES_PER_GRADE = 15
"""Votes that a source has for each of its grades, at least on average."""

MIN_PROBABILITY = 1e-6
"""The lowest probability of a vote: a score of 0 would be no vote."""

MAX_RANK = 100
"""The last rank with a probability of its own; later ones share it."""

RANK_TOLERANCE = 2e-3
"""Relative difference from 1/rank that a score may have, since tables round scores."""

MIN_RANKS = 3
"""Different ranks that a ranked list has: a source that gives 1 and 1/2 may mean anything."""

FEW = 0.01
"""The share of the scores and answers of a ranked list that may be unlike those of a list."""

FIRST_CHOICE = 0.5
"""The score from which on a vote of a source without ranks is a first choice."""

_RANKS = 1_000_000
"""More ranks than any list has."""


@registered("dawid-skene.scales")
@dataclass(frozen=True, eq=False)
class ScoreScales:
    """How to read the scores of M sources.

    A source is graded, ranked or plain. The scores of a graded source only say which of its votes
    are surer than others: they are divided into up to G grades. Those of a ranked source are
    1/rank. Those of a plain source, which always gives the same score or has too few votes to
    learn from, are taken as they are.

    Attributes
    ----------
    borders : float array, (M, G - 1)
        The lowest score of each grade of a source but its lowest grade, increasing; infinite
        beyond its last grade, and everywhere if the source is not graded.
    probability : float array, (M, G)
        The probability that a vote of each grade is right, not decreasing. EM estimates it from
        the other sources, and starts from grades that divide [0, 1] evenly.
    ranked : int array, (R,)
        The ranked sources, increasing.
    plausibility : float array, (R, ranks)
        The probability that the label at each of their ranks is right, not increasing; later ranks
        share the last value.
    """

    borders: Annotated[FloatArray, BySource(new=np.inf)]
    probability: Annotated[FloatArray, BySource(new=0.5)]
    ranked: IntArray
    plausibility: FloatArray

    @property
    def n_grades(self) -> IntArray:
        """The number of grades of every source, (M,); 1 if it is not graded."""
        return np.asarray(1 + np.isfinite(self.borders).sum(axis=1))

    @property
    def has_grades(self) -> bool:
        """Whether any source is graded."""
        return bool(self.borders.shape[1])

    @property
    def is_plain(self) -> bool:
        """Whether the scores of all sources are taken as they are."""
        return not self.has_grades and not len(self.ranked)

    def find_grades(self, source: IntArray, score: FloatArray) -> IntArray:
        """Return the grade of every vote, from 0; 0 for sources that are not graded."""
        grade = np.zeros(len(score), dtype=np.int64)
        for border in self.borders.T:
            grade += score >= border[source]
        return grade

    def count_affirmations(self, source: IntArray, score: FloatArray) -> FloatArray:
        """Return how much of an affirmation every vote is.

        A vote of a graded source is one whatever its grade, which is further evidence. Other votes
        count as their score says, and ranks as their plausibility says.
        """
        score = self._replace_ranks(source, score)
        return np.where(self.n_grades[source] > 1, 1.0, score) if self.has_grades else score

    def calibrate_scores(self, source: IntArray, score: FloatArray) -> FloatArray:
        """Return the probability that every vote is right; plain scores are not changed."""
        replaced = self._replace_ranks(source, score)
        if not self.has_grades:
            return replaced
        probability = self.probability[source, self.find_grades(source, score)]
        return np.where(self.n_grades[source] > 1, probability, replaced)

    def calibrate(self, panel: Panel) -> Panel:
        """Return the panel with probabilities instead of the scores of graded and ranked sources.

        A higher score never becomes a lower one, so that an ancestor still has the largest score
        of its descendants.
        """
        if self.is_plain:
            return panel

        def convert(votes: Sparse) -> Sparse:
            converted = votes.copy()
            source = panel.source[row_indices(votes)]
            converted.data = self.calibrate_scores(source, votes.data)
            return converted

        return replace(panel, raw=convert(panel.raw), augmented=convert(panel.augmented))

    def _replace_ranks(self, source: IntArray, score: FloatArray) -> FloatArray:
        if not len(self.ranked):
            return score
        row = np.full(len(self.borders), -1, dtype=np.int64)
        row[self.ranked] = np.arange(len(self.ranked))
        rank = np.minimum(find_ranks(score), self.plausibility.shape[1])
        return np.where(row[source] >= 0, self.plausibility[row[source], rank - 1], score)


def plain_scales(n_sources: int) -> ScoreScales:
    """Return the scales of sources whose scores are all taken as they are."""
    return ScoreScales(
        borders=np.zeros((n_sources, 0)),
        probability=np.full((n_sources, 1), 0.5),
        ranked=np.zeros(0, dtype=np.int64),
        plausibility=np.zeros((0, 1)),
    )


def learn_scales(partitions: PanelPartitions, *, sample_size: int = SAMPLE_SIZE) -> ScoreScales:
    """Find the grades of all sources and the plausibility of ranks in a sample of the instances."""
    scales = plain_scales(len(partitions.sources))
    (n_scored,) = partitions.sum(_count_scored)
    if not n_scored:
        return scales
    panel = drop_gold(drop_weightless(partitions.sample(sample_size)))
    is_ranked = find_ranked(panel)
    if is_ranked.any():
        ranked, plausibility = estimate_plausibility(panel, is_ranked)
        scales = replace(scales, ranked=ranked, plausibility=plausibility)
    borders = divide_into_grades(panel, ~is_ranked)
    n_grades = 1 + np.isfinite(borders).sum(axis=1, keepdims=True)
    middle = (np.arange(borders.shape[1] + 1) + 0.5) / n_grades
    return replace(scales, borders=borders, probability=np.minimum(middle, 1.0))


def _count_scored(panel: Panel) -> tuple[int]:
    return (int(np.count_nonzero(panel.augmented.data != 1.0)),)


def divide_into_grades(panel: Panel, may_grade: BoolArray) -> FloatArray:
    """Return the borders between the grades of every source, as in `ScoreScales`.

    Parameters
    ----------
    panel : Panel
        The votes, all of which count, those for ancestors included.
    may_grade : bool array, (M,)
        The sources that are graded if they have enough votes and more than one distinct score.
    """
    source, score = panel.source[row_indices(panel.augmented)], panel.augmented.data
    order = np.lexsort((score, source))
    source, score = source[order], score[order]
    first = np.flatnonzero(np.diff(source, prepend=-1) | (np.diff(score, prepend=0.0) > 0))
    count = np.diff(first, append=len(score))
    start = np.searchsorted(source[first], np.arange(len(panel.sources) + 1))
    found = {}
    for m in np.flatnonzero((np.diff(start) > 1) & may_grade):
        distinct = slice(start[m], start[m + 1])
        found[m] = find_borders(score[first[distinct]], count[distinct])
    borders = np.full((len(panel.sources), max(map(len, found.values()), default=0)), np.inf)
    for m, own in found.items():
        borders[m, : len(own)] = own
    return borders


def find_borders(
    score: FloatArray,
    count: IntArray,
    *,
    max_grades: int = MAX_GRADES,
    min_votes: int = MIN_VOTES,
    votes_per_grade: int = VOTES_PER_GRADE,
) -> FloatArray:
    """Return the borders between the grades of one source.

    Every distinct score is a grade if there are few. If there are many, grades are as equal in
    their numbers of votes as distinct scores allow. Borders are halfway between two scores.

    Parameters
    ----------
    score : float array, (n,)
        The distinct scores, increasing.
    count : int array, (n,)
        How many votes have each score.
    max_grades, min_votes, votes_per_grade : int
        Grades at most, and the votes that are needed in total and for each grade.

    Examples
    --------
    >>> find_borders(np.array([0.2, 0.4, 1.0]), np.array([20, 20, 20])).round(2).tolist()
    [0.3, 0.7]
    >>> find_borders(np.array([0.2, 0.4, 1.0]), np.array([2, 18, 20])).round(2).tolist()
    [0.7]
    """
    n_votes = int(count.sum())
    if n_votes < min_votes:
        return np.zeros(0)
    n_grades = min(len(score), max_grades, n_votes // votes_per_grade)
    border = np.arange(len(score) - 1)
    if n_grades < len(score):
        below = np.cumsum(count)[:-1]
        wanted = n_votes * np.arange(1, n_grades) / n_grades
        border = np.unique(np.abs(below - wanted[:, np.newaxis]).argmin(axis=1))
    lower, upper = score[border], score[border + 1]
    # The middle of two adjacent numbers may be rounded to the lower one.
    return np.maximum((lower + upper) / 2, np.nextafter(lower, upper))


def find_ranks(score: FloatArray) -> IntArray:
    """Return the rank of which each score is nearest to the inverse, `MAX_RANK` at most."""
    return np.rint(1 / np.maximum(score, 1 / MAX_RANK)).astype(np.int64)


def find_ranked(panel: Panel) -> BoolArray:
    """Return which sources give ranked lists, (M,), with scores 1, 1/2, 1/3 and so on.

    Nearly all scores of such a source are 1/rank, it uses several ranks, nearly none of its
    answers has two labels of the same rank, and most labels of later ranks follow a first choice.
    """
    M, answer, score = len(panel.sources), row_indices(panel.raw), panel.raw.data
    source, rank = panel.source[answer], np.rint(1 / np.maximum(score, 2 / _RANKS))
    is_inverse = np.abs(score * rank - 1) <= RANK_TOLERANCE
    rank = rank.astype(np.int64)

    def count(sources: IntArray) -> IntArray:
        return np.bincount(sources, minlength=M)

    n_votes, later = count(source), rank > 1
    n_ranks = count(np.unique(source * _RANKS + rank) // _RANKS)
    votes, repeats = np.unique(answer * _RANKS + rank, return_counts=True)
    has_first = np.zeros(len(panel.source), dtype=bool)
    has_first[answer[~later]] = True
    tied_answers = np.unique(votes[repeats > 1] // _RANKS)
    return np.asarray(
        (n_votes >= MIN_VOTES)
        & (count(source[~is_inverse]) <= FEW * n_votes)
        & (n_ranks >= MIN_RANKS)
        & (count(panel.source[tied_answers]) <= FEW * count(panel.source[np.unique(answer)]))
        & (2 * count(source[later & has_first[answer]]) > count(source[later]))
    )


def estimate_plausibility(
    panel: Panel, is_ranked: BoolArray, *, limit: int = BLOCK_PAIRS
) -> tuple[IntArray, FloatArray]:
    """Return the ranked sources, and the probability that a label at each of their ranks is right.

    That is how often other answers about the instance have the label as a first choice, averaged
    over the votes of a rank. A source that shares no instance with others is left out.

    Parameters
    ----------
    panel : Panel
        The votes, all of which count, those for ancestors included.
    is_ranked : bool array, (M,)
        The ranked sources.
    limit : int
        About how many pairs of an answer and an affirmed pair to look at at a time.
    """
    ranked, row = np.flatnonzero(is_ranked), np.cumsum(is_ranked) - 1
    total, votes = np.zeros((2, len(ranked), MAX_RANK))
    for block in split_panel(panel, limit=limit):
        pairs, weight = affirmed_pairs(block), block.answer_weights
        answer, pair = row_indices(pairs.votes), pairs.votes.indices
        source, rank = block.source[answer], find_ranks(pairs.votes.data)
        is_first = np.where(is_ranked[source], rank == 1, pairs.votes.data >= FIRST_CHOICE)
        own, P = weight[answer], len(pairs.label)
        first = np.bincount(pair, own * is_first, minlength=P)[pair] - own * is_first
        asked = np.bincount(pairs.asked.indices, weight[row_indices(pairs.asked)], minlength=P)
        others = asked[pair] - own
        counted = is_ranked[source] & (others > 1e-9 * own)
        cell = (row[source[counted]], rank[counted] - 1)
        np.add.at(total, cell, own[counted] * first[counted] / others[counted])
        np.add.at(votes, cell, own[counted])
    known = votes.any(axis=1)
    ranked, total, votes = ranked[known], total[known], votes[known]
    mean = np.divide(total, votes, out=np.zeros_like(total), where=votes > 0)
    return ranked, np.clip(-fit_increasing(-mean, votes), MIN_PROBABILITY, 1.0)


def fit_increasing(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the isotonic regression of every row: the nearest values that do not decrease.

    The fit at column g is the largest, over all a <= g, of the smallest mean of the columns a to
    b, over all b >= g. Unlike `scipy.optimize.isotonic_regression` it serves thousands of sources
    at once. A column without weight gets the value before it, or minus infinity if it is first.

    Parameters
    ----------
    values, weights : float arrays, (n, G)
        The values and their weights.

    Examples
    --------
    >>> fit_increasing(np.array([[1.0, 3.0, 2.0, 0.0]]), np.array([[1.0, 1.0, 1.0, 0.0]])).tolist()
    [[1.0, 2.5, 2.5, 2.5]]
    """
    fitted = np.full(values.shape, -np.inf)
    for first in range(values.shape[1]):
        weight = np.cumsum(weights[:, first:], axis=1)
        total = np.cumsum((weights * values)[:, first:], axis=1)
        mean = np.divide(total, weight, out=np.full(weight.shape, -np.inf), where=weight > 0)
        smallest = np.minimum.accumulate(mean[:, ::-1], axis=1)[:, ::-1]
        fitted[:, first:] = np.maximum(fitted[:, first:], smallest)
    return fitted
