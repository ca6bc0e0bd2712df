"""Channel: votes taken back through the vagueness and the noise of their sources."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.scores import Scores
from mhpc.data.size import Size
from mhpc.errors import pluralize
from mhpc.methods.base import MAX_ANSWERS, MAX_INSTANCES, BaseMethod
from mhpc.methods.channel.answers import (
    AnswerReader,
    VoteCounts,
    count_votes,
    make_reader,
    read_answers,
)
from mhpc.methods.channel.corruption import NoiseModel, corruption_paths, count_paths, multiply
from mhpc.methods.channel.em import NOISE_SAMPLE, learn_noise, learn_source_noise
from mhpc.methods.channel.inversion import Inversion
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.source_weights import SourceWeighting, weight_answers
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.neighbors import SIGMA_NEIGHBORS, Landmarks, exp_similarity, mean_distance
from mhpc.parameters import registered

BYTES_PER_PATH = 120
"""Memory that a path from a label to one above it takes while the noise model is learned."""

MAX_PRODUCTS = 10**10
"""Given labels x paths that a noise model is learned from; these are minutes, many more are hours.
"""


class Channel(BaseMethod):
    """The expected origins of the votes, given how vague sources are and how they confuse siblings.

    A source that means t gives the label h levels above it, or a sibling of that. How often is
    learned without truth, by explaining each source by the others. Every vote is then divided among
    the labels that it may come from, by Bayes' rule with popularity as the prior. In further steps
    the prior is made of the instance's own origins, those of its nearest neighbours, and popularity
    (EM with smoothing; iterated to the end, labels that go together would explain each other away).

    `specific` is the expected number of votes per answer that come from a label. `score` is the
    probability of at least one from it or from below, 1 - exp(-x), which never rises from parent to
    child. Neighbours are searched among landmarks, a sample of the instances. Time is N x L x K
    multiplications in single precision for L landmarks and N x K x depth per step, besides sums
    over votes; memory is for L x K, for every pair of labels, and for a block of instances. Tens of
    thousands of labels that are in use are refused.

    With more than five sources, some are explained together, in their order. With one source, the
    default noise model is used.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.Channel()).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "channel"
    summary: ClassVar[str] = "votes inverted through learned vagueness and sibling noise"
    reference: ClassVar[str] = (
        "Silverman, Jones, Wilson, Nychka: A Smoothed EM Approach to Indirect Estimation "
        "Problems, JRSS B 1990"
    )

    steps: Annotated[int, Field(ge=0, le=100)] = 1
    """Steps with a prior from neighbours after the first guess, which has none."""

    n_neighbors: Annotated[int, Field(ge=1, le=MAX_INSTANCES)] = 15
    """The number of nearest landmarks, other than itself, that the prior of an instance is from."""

    prior: Annotated[float, Field(ge=0, le=MAX_ANSWERS)] = 10.0
    """The weight of the prior from neighbours and popularity, in answers."""

    popularity: Annotated[float, Field(ge=0, le=1)] = 0.1
    """The share of popularity in that prior; the rest is from neighbours."""

    landmarks: Annotated[int, Field(ge=1, le=MAX_INSTANCES)] = 50_000
    """The largest number of instances that are neighbours of others; all if there are no more."""

    source_weights: SourceWeighting = "equal"
    """Weight all sources equally, or by skill with correlated sources sharing one weight."""

    def fit(self, partitions: PanelPartitions) -> "FittedChannel":
        """Learn the noise model and popularity, and invert the votes on the landmarks."""
        fitted = self.fit_noise(partitions)
        if not self.steps:
            return fitted
        partitions.progress("landmarks", 0, 1)
        sample = partitions.sample(self.landmarks)
        landmarks = _invert_landmarks(sample, fitted, self.steps, self.n_neighbors)
        partitions.progress("landmarks", 1, 1)
        searched = _describe_sample("neighbours were searched among", self.landmarks, partitions)
        return replace(fitted, landmarks=landmarks, notes=(*fitted.notes, *searched))

    def fit_noise(self, partitions: PanelPartitions) -> "FittedChannel":
        """Learn the noise model and popularity alone."""
        reader = make_reader(partitions, self.source_weights)
        learned = learn_noise(partitions, corruption_paths(partitions.taxonomy), reader)
        inversion = Inversion(learned.corruption, learned.popularity, self.prior, self.popularity)
        return FittedChannel(
            reader=reader, inversion=inversion, landmarks=None, is_probability=True,
            notes=_describe_sample("the noise model was learned from", NOISE_SAMPLE, partitions),
        )  # fmt: skip

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes of the landmarks, of paths, and of what relates labels to each other."""
        landmarks = 8 * (self.steps + 3) * min(size.instances, self.landmarks) * size.labels
        paths = BYTES_PER_PATH * int(count_paths(size.taxonomy))
        return landmarks + paths + 4 * 8 * size.labels * _count_given(size)

    def describe_memory(self, size: Size) -> str:
        """Return how many pairs of labels there are, which may be given for each other."""
        n_pairs = size.labels * _count_given(size)
        return f"for {n_pairs:,} pairs of labels that may be given for each other"

    def explain_duration(self, size: Size) -> str:
        """Return how many labels, on how many levels, are too many."""
        if _count_given(size) * count_paths(size.taxonomy) <= MAX_PRODUCTS:
            return ""
        return (
            f"{self.name} of {pluralize(size.labels, 'label')} on "
            f"{pluralize(int(size.taxonomy.depth.max()), 'level')} would take hours"
        )

    def estimate_noise(self, panel: Panel) -> dict[str, NoiseModel]:
        """Return how vague, level by level, and how noisy each source is.

        The votes of a source are explained by the others. Its noise model is shrunk towards that
        of all sources, which a source with few votes nearly has.
        """
        panel = weight_answers(panel) if self.source_weights == "learned" else panel
        paths = corruption_paths(panel.taxonomy)
        models = learn_source_noise(panel, read_answers(panel), paths)
        return dict(zip(panel.sources, models, strict=True))


def _count_given(size: Size) -> int:
    """Return how many labels somebody gave, at most."""
    return min(size.labels, size.groups)


def _describe_sample(what: str, size: int, partitions: PanelPartitions) -> tuple[str, ...]:
    """Return a note if something was learned from a sample of the instances."""
    if partitions.instances <= size:
        return ()
    return (f"{what} a sample of {size:,} instances",)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedChannel(FittedMethod, saved_as="channel.fitted"):
    """The learned noise model, and the inverted votes of landmarks.

    Attributes
    ----------
    reader : AnswerReader
        How answers are read.
    inversion : Inversion
        The noise model and popularity.
    landmarks : InvertedLandmarks or None
        None without steps.
    """

    reader: AnswerReader
    inversion: Inversion
    landmarks: "InvertedLandmarks | None"

    def predict(self, panel: Panel) -> Scores:
        """Return the expected origins of the votes."""
        panel, votes, answered = self.read_votes(panel)
        averages: tuple[FloatArray, ...] = ()
        if self.landmarks is not None and len(answered):
            averages = self.landmarks.average(panel, answered)
        x = self.invert(votes, averages)
        if len(answered) < len(panel.instances):
            all_x = np.zeros((len(panel.instances), len(panel.taxonomy)))
            all_x[answered] = x
            x = all_x
        expected, closure = self.inversion.corruption.forward(x), panel.taxonomy.closure
        answers = (expected, _at_least_one(expected, closure))
        return Scores(_at_least_one(x, closure), x, answers)

    def read_votes(self, panel: Panel) -> tuple[Panel, VoteCounts, IntArray]:
        """Return the panel with weighted answers, and the votes of the instances that have any."""
        panel, answer_votes = self.reader.read(panel)
        answered = np.flatnonzero(panel.answers_per_instance > 0)
        return panel, count_votes(panel, answer_votes).select(answered), answered

    def invert(self, votes: VoteCounts, averages: Iterable[FloatArray] = ()) -> FloatArray:
        """Return x, the expected origins of votes, (N, K).

        Parameters
        ----------
        votes : VoteCounts
            The votes of N instances.
        averages : iterable of float arrays, (N, K)
            The mean x of the neighbours of every instance, one array per step.
        """
        x = self.inversion.first_guess(votes)
        for of_neighbors in averages:
            x = self.inversion.step(votes, x, of_neighbors)
        return x


@registered("channel.landmarks")
@dataclass(frozen=True, eq=False)
class InvertedLandmarks:
    """Landmarks, and their x before every step.

    Attributes
    ----------
    ids : Index
        The ids of the L landmarks.
    search : Landmarks
        Their mean answers, by which neighbours are found.
    x : tuple of float arrays, (L, K)
        One array per step.
    n_neighbors : int
        How many of them an instance averages.
    sigma : float
        The scale of distances.
    """

    ids: Index
    search: Landmarks
    x: tuple[FloatArray, ...]
    n_neighbors: int
    sigma: float

    def average(self, panel: Panel, answered: IntArray) -> tuple[FloatArray, ...]:
        """Return the mean x of the landmarks near each instance, other than itself."""
        itself = self.ids.locate(panel.instances.ids[i] for i in answered)
        answers = panel.mean("augmented", "answers")[answered]
        neighbors, distances = self.search.nearest(answers, self.n_neighbors, exclude=itself)
        averaging = _averaging_matrix(neighbors, distances, self.sigma, len(self.search))
        return tuple(averaging @ x for x in self.x)


def _invert_landmarks(
    panel: Panel, fitted: FittedChannel, steps: int, n_neighbors: int
) -> InvertedLandmarks:
    panel, votes, answered = fitted.read_votes(panel)
    search = Landmarks(panel.mean("augmented", "answers")[answered])
    neighbors, distances = search.nearest(
        search.vectors,
        min(max(n_neighbors, SIGMA_NEIGHBORS), len(answered) - 1),
        exclude=np.arange(len(answered)),
    )
    sigma, inversion = mean_distance(distances[:, :SIGMA_NEIGHBORS]), fitted.inversion
    x = [inversion.first_guess(votes)]
    if steps > 1:
        nearest = neighbors[:, :n_neighbors], distances[:, :n_neighbors]
        averaging = _averaging_matrix(*nearest, sigma, len(answered))
        for _ in range(steps - 1):
            x.append(inversion.step(votes, x[-1], averaging @ x[-1]))
    ids = Index(tuple(panel.instances.ids[i] for i in answered))
    return InvertedLandmarks(ids, search, tuple(x), n_neighbors, sigma)


def _averaging_matrix(
    neighbors: IntArray, distances: FloatArray, sigma: float, n_landmarks: int
) -> Sparse:
    """Return weights that fall with the distance; rows add up to 1, or to 0."""
    weight = exp_similarity(distances, sigma)
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    start = np.arange(len(neighbors) + 1) * neighbors.shape[1]
    shape = (len(neighbors), n_landmarks)
    return sparse.csr_array((weight.ravel(), neighbors.ravel(), start), shape=shape)


def _at_least_one(expected: FloatArray, closure: Sparse) -> FloatArray:
    """Return the probability of at least one vote from a label or from below it, 1 - exp(-x)."""
    probability = multiply(expected, closure)
    np.negative(probability, out=probability)
    np.expm1(probability, out=probability)
    return np.negative(probability, out=probability)
