"""The votes that are inverted: which labels an answer stands for, summed by instance."""

from dataclasses import dataclass

import numpy as np

from mhpc.data.hierarchy import most_specific
from mhpc.data.panel import Panel, PanelPartitions
from mhpc.methods.source_weights import (
    SourceWeighting,
    SourceWeights,
    apply_weights,
    learn_source_weights,
)
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import incidence
from mhpc.parameters import registered


@registered("channel.answer-reader")
@dataclass(frozen=True, eq=False)
class AnswerReader:
    """How the answers of every partition are read.

    Attributes
    ----------
    weights : SourceWeights or None
        The weights of sources; None if all are equal.
    sets : bool
        Whether no vote has a score.
    """

    weights: SourceWeights | None
    sets: bool

    def read(self, panel: Panel) -> tuple[Panel, Sparse]:
        """Return the panel with weighted answers, and the votes of its answers, (A, K)."""
        return apply_weights(panel, self.weights), _votes(panel, self.sets)


def make_reader(
    partitions: PanelPartitions, source_weights: SourceWeighting = "equal"
) -> AnswerReader:
    """Return how the answers of all partitions are read."""
    weights = learn_source_weights(partitions, source_weights)
    (n_scores,) = partitions.sum(_count_scores)
    return AnswerReader(weights, sets=n_scores == 0)


def read_answers(panel: Panel) -> Sparse:
    """Return the votes of every answer, (A, K): labels as given, or scores beyond the children's.

    A model that gives 0.9 to animal and 0.8 to dog votes for dog, and hardly for animal alone.
    """
    return _votes(panel, _count_scores(panel)[0] == 0)


def _count_scores(panel: Panel) -> tuple[int]:
    return (int(np.count_nonzero(panel.raw.data != 1.0)),)


def _votes(panel: Panel, sets: bool) -> Sparse:
    return panel.raw if sets else most_specific(panel.augmented, panel.taxonomy)


@registered("channel.vote-counts")
@dataclass(frozen=True, eq=False)
class VoteCounts:
    """Votes summed over the answers of every instance, (N, K), and the number of answers, (N,)."""

    votes: Sparse
    answers: FloatArray

    def subtract(self, part: "VoteCounts") -> "VoteCounts":
        """Return what is left without some of the answers."""
        rest = (self.votes - part.votes).tocsr()
        rest.data = np.maximum(rest.data, 0.0)
        rest.eliminate_zeros()
        return VoteCounts(rest, np.maximum(self.answers - part.answers, 0.0))

    def select(self, rows: IntArray) -> "VoteCounts":
        """Return the counts of some instances; the same counts if these are all."""
        if len(rows) == len(self.answers):
            return self
        return VoteCounts(self.votes[rows], self.answers[rows])


def count_votes(panel: Panel, votes: Sparse, answers: BoolArray | None = None) -> VoteCounts:
    """Sum the votes, each by the weight of its answer, over all answers or some of them.

    Parameters
    ----------
    panel : Panel
        A answers of N instances.
    votes : csr_array, (A, K)
        The votes of its answers.
    answers : bool array, (A,), optional
        Which answers count.
    """
    if answers is None:
        answers = np.ones(len(panel.instance), dtype=bool)
    N, instance, weight = (
        len(panel.instances),
        panel.instance[answers],
        panel.answer_weights[answers],
    )
    summed = (incidence(instance, shape=(N, len(instance)), values=weight) @ votes[answers]).tocsr()
    summed.eliminate_zeros()
    return VoteCounts(summed, np.bincount(instance, weight, minlength=N).astype(float))
