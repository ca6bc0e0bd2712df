"""Channel: votes taken back through the vagueness and the noise of their sources."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.panel import Panel, PanelPartitions, Size
from mhpc.data.scores import Scores
from mhpc.methods.base import BaseMethod, FittedMethod
from mhpc.methods.channel.corruption import NoiseModel, corruption_paths, count_paths
from mhpc.methods.channel.em import (
    AnswerReader,
    VoteCounts,
    answer_reader,
    count_votes,
    first_guess,
    gathered,
    habits_of_sources,
    learn_noise,
    lost_share,
    read_answers,
    through,
    unexplained,
)
from mhpc.methods.source_weights import SourceWeighting, weight_answers
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.neighbors import REACH, Landmarks, exp_similarity, mean_distance
from mhpc.parameters import registered

_BYTES = 120
"""Memory that a way from a label to another takes while it is learnt how often it is gone."""


class Channel(BaseMethod):
    """Expected origins of the votes, given how sources hop up and confuse siblings.

    A source that means t says the label h levels above it, or a sibling of that. How often is
    learnt without truth, each source being explained by the others. Every vote is then shared out
    among the labels that it may come from, by Bayes' rule with a prior from popularity; in further
    steps the prior is the instance's own origins, those of its nearest neighbours, and popularity
    (EM with smoothing; run to the end it would explain away labels that go together).

    `specific` is the expected number of votes an answer that come from a label, `score` the
    chance of at least one from it or below, 1 - exp(-x), which never rises from parent to child.
    Neighbours are looked for among landmarks, a sample of the instances. Costs N x L x K
    multiplications in single precision for L landmarks, N x K x K a step at most, and sums over
    votes to learn; memory for L x K, for every pair of siblings, and for some instances at a time:
    tens of thousands of siblings are refused.

    Of more than five sources some are explained together, by their order. With one source habits
    are the usual ones.
    """

    name: ClassVar[str] = "channel"
    summary: ClassVar[str] = "votes inverted through learnt vagueness and sibling noise"
    reference: ClassVar[str] = (
        "Silverman, Jones, Wilson, Nychka: A Smoothed EM Approach to Indirect Estimation "
        "Problems, JRSS B 1990"
    )

    steps: Annotated[int, Field(ge=0)] = 1
    """Steps with a prior from neighbours after the first guess, which has none."""

    n_neighbors: Annotated[int, Field(ge=1)] = 15
    """How many nearest landmarks, other than itself, an instance takes its prior from."""

    prior: Annotated[float, Field(ge=0)] = 10.0
    """How many answers the prior from neighbours and popularity is worth."""

    popularity: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of popularity in that prior; the rest is the neighbours'."""

    landmarks: Annotated[int, Field(ge=1)] = 50_000
    """How many instances are neighbours to others at most; all, where there are no more."""

    source_weights: SourceWeighting = "equal"
    """Count all sources alike, or by skill, kin sharing a voice."""

    def fit(self, parts: PanelPartitions) -> "FittedChannel":
        """Learn what sources make of the truth, and what is likely of landmarks."""
        read = answer_reader(parts, self.source_weights)
        learnt = learn_noise(parts, corruption_paths(parts.taxonomy), read)
        inverse = _Inverse(learnt.C, learnt.popularity, self.prior, self.popularity)
        around = None
        if self.steps:
            parts.progress("landmarks", 0, 1)
            sample = parts.sample(self.landmarks)
            around = _surroundings(sample, read, inverse, self.steps, self.n_neighbors)
            parts.progress("landmarks", 1, 1)
        return FittedChannel(read=read, inverse=inverse, around=around, is_probability=True)

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes of the landmarks, and of the paths from every label to every other."""
        landmarks = 8 * (self.steps + 3) * min(size.instances, self.landmarks) * size.labels
        paths = _BYTES * int(count_paths(size.taxonomy)) + 4 * 8 * size.labels**2
        return landmarks + paths

    def describe_memory(self, size: Size) -> str:
        """Return how many ways there are to give one label for another."""
        return (
            f"for {count_paths(size.taxonomy):,.0f} ways in which {size.labels:,} labels are given "
            "for each other"
        )

    def noise(self, panel: Panel) -> dict[str, NoiseModel]:
        """Return how vague, level by level, and how noisy each source is found to be.

        Each source is explained by the others, its own votes weighed against what all have in
        common; so a source with few votes looks like the rest.
        """
        panel = weight_answers(panel) if self.source_weights == "learned" else panel
        found = habits_of_sources(panel, read_answers(panel), corruption_paths(panel.taxonomy))
        return dict(zip(panel.sources, found, strict=True))


@registered("channel.inverse")
@dataclass(frozen=True, eq=False)
class _Inverse:
    """C, how often labels are true, and how much that counts."""

    C: Sparse
    often: FloatArray
    prior: float
    popularity: float

    def guess(self, votes: VoteCounts) -> FloatArray:
        return first_guess(votes, self.C, self.often)

    def step(self, votes: VoteCounts, x: FloatArray, around: FloatArray) -> FloatArray:
        """Share out votes once more, with what is around as a prior, (N, K)."""
        n = votes.answers[:, None]
        likely = (1 - self.popularity) * around + self.popularity * self.often
        likely *= self.prior
        likely += n * x
        likely /= np.maximum(n + self.prior, 1e-9)
        back = gathered(unexplained(votes.votes, likely, self.C), self.C.T.tocsr())
        back /= np.maximum(n, 1e-9)
        lost = lost_share(votes.answers)
        back *= 1 - lost
        back += lost
        back *= likely
        return back


@registered("channel.surroundings")
@dataclass(frozen=True, eq=False)
class _Surroundings:
    """Landmarks: what they are compared by, and x of each before every step.

    Attributes
    ----------
    ids : Index
        Which instances they are.
    landmarks : Landmarks
        Their mean answers.
    x : tuple of float arrays, (L, K)
        One for each step.
    neighbours : int
        How many of them an instance averages.
    sigma : float
        Reach of similarity.
    """

    ids: Index
    landmarks: Landmarks
    x: tuple[FloatArray, ...]
    neighbours: int
    sigma: float

    def means(self, panel: Panel, answered: IntArray) -> Sparse:
        """Return weights by which answered instances average landmarks, themselves left out."""
        itself = self.ids.locate(panel.instances.ids[i] for i in answered)
        compared = panel.mean("augmented", "answers")[answered]
        near, far = self.landmarks.nearest(compared, self.neighbours, but=itself)
        return _averaging(near, far, self.sigma, len(self.landmarks))


def _surroundings(
    panel: Panel, read: AnswerReader, inverse: _Inverse, steps: int, neighbours: int
) -> _Surroundings:
    panel, folder_lock = read.of(panel)
    answered = np.flatnonzero(panel.answers_per_instance > 0)
    votes = _some(count_votes(panel, folder_lock), answered)
    landmarks = Landmarks(panel.mean("augmented", "answers")[answered])
    near, far = landmarks.nearest(
        landmarks.vectors,
        min(max(neighbours, REACH), len(answered) - 1),
        but=np.arange(len(answered)),
    )
    sigma = mean_distance(far[:, :REACH])
    x = [inverse.guess(votes)]
    if steps > 1:
        means = _averaging(near[:, :neighbours], far[:, :neighbours], sigma, len(answered))
        for _ in range(steps - 1):
            x.append(inverse.step(votes, x[-1], means @ x[-1]))
    ids = Index(tuple(panel.instances.ids[i] for i in answered))
    return _Surroundings(ids, landmarks, tuple(x), neighbours, sigma)


@registered("channel.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedChannel(FittedMethod):
    """The learnt channel, and what is likely of landmarks."""

    read: AnswerReader
    inverse: _Inverse
    around: _Surroundings | None

    def predict(self, panel: Panel) -> Scores:
        """Return the origins of the votes."""
        panel, folder_lock = self.read.of(panel)
        answered = np.flatnonzero(panel.answers_per_instance > 0)
        votes = _some(count_votes(panel, folder_lock), answered)
        found = self.inverse.guess(votes)
        if self.around is not None and len(answered):
            means = self.around.means(panel, answered)
            for there in self.around.x:
                found = self.inverse.step(votes, found, means @ there)
        x = found
        if len(answered) < len(panel.instances):
            x = np.zeros((len(panel.instances), len(panel.taxonomy)))
            x[answered] = found
        said, closure = through(x, self.inverse.C), panel.taxonomy.closure
        return Scores(_at_least_one(x, closure), x, (said, _at_least_one(said, closure)))


def _some(votes: VoteCounts, rows: IntArray) -> VoteCounts:
    if len(rows) == len(votes.answers):
        return votes
    return VoteCounts(votes.votes[rows], votes.answers[rows])


def _averaging(near: IntArray, far: FloatArray, sigma: float, landmarks: int) -> Sparse:
    """Return weights that fall with the distance; each row sums to 1, or to 0."""
    weight = exp_similarity(far, sigma)
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    start = np.arange(len(near) + 1) * near.shape[1]
    shape = (len(near), landmarks)
    return sparse.csr_array((weight.ravel(), near.ravel(), start), shape=shape)


def _at_least_one(expected: FloatArray, closure: Sparse) -> FloatArray:
    """Return the chance that something comes from a label or from below it."""
    chance = through(expected, closure)
    np.negative(chance, out=chance)
    np.expm1(chance, out=chance)
    return np.negative(chance, out=chance)
