"""Disagreement, LabelDispute, ConfusedPair, DisagreementRanking, Explanation."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse

MAX_RANKED = 200
"""Contested instances that a run keeps."""


@dataclass(frozen=True)
class LabelDispute:
    """A label of an instance that some uphold and others contradict, and by how many."""

    label: str
    score: float
    chosen: bool
    support: int
    against: int


@dataclass(frozen=True)
class Disagreement:
    """An instance that sources do not agree on.

    Attributes
    ----------
    instance : str
        Its id.
    gain : float
        By how many labels its set is expected to be less wrong after one more answer.
    answers : int
        How many it has.
    agreed : str or None
        The deepest label that all its answers say or imply.
    disputed : tuple of Dispute
        The labels in dispute, those with the highest scores first.
    """

    instance: str
    gain: float
    answers: int
    agreed: str | None
    disputed: tuple[LabelDispute, ...]


@dataclass(frozen=True)
class ConfusedPair:
    """Two labels that sources say of the same instance, and contradict each other by.

    `count` is how often two answers did; `under` the deepest label above both, None if there is
    none.
    """

    one: str
    other: str
    count: int
    under: str | None


@dataclass(frozen=True)
class Disagreements:
    """What a human should look at.

    Attributes
    ----------
    instances : tuple of Conflict
        Those on which one more opinion is worth most, in that order.
    disputed : int
        How many instances have a label in dispute.
    confusions : tuple of Confusion
        The most frequent first.
    """

    instances: tuple[Disagreement, ...]
    disputed: int
    confusions: tuple[ConfusedPair, ...]


@dataclass(frozen=True, eq=False)
class DisagreementRanking:
    """The most contested of some instances, in a form that adds up.

    Attributes
    ----------
    most : int
        How many are kept at most.
    count : int
        How many instances have a label in dispute, those that are not kept included.
    ids : tuple of str
        Those kept, the best first; of equal ones, the first by its id.
    gain, moved : float arrays, (n,)
        What they are ranked by.
    answers, agreed : int arrays, (n,)
        How many answers, and the deepest label that all imply, -1 where none is.
    score, chosen, support, against : csr_array, (n, K)
        Of their labels in dispute; all four store the same cells.
    """

    most: int
    count: int
    ids: tuple[str, ...]
    gain: FloatArray
    moved: FloatArray
    answers: IntArray
    agreed: IntArray
    score: Sparse
    chosen: Sparse
    support: Sparse
    against: Sparse

    def __add__(self, other: "DisagreementRanking") -> "DisagreementRanking":
        """Return the best of both."""
        both = DisagreementRanking(
            self.most,
            self.count + other.count,
            self.ids + other.ids,
            *(np.concatenate(pair) for pair in zip(self._columns, other._columns, strict=True)),
            *(
                sparse.vstack(pair, format="csr")
                for pair in zip(self._tables, other._tables, strict=True)
            ),
        )
        return both.best()

    def best(self) -> "DisagreementRanking":
        """Return those with the highest gain, then those that would move most, then by id."""
        order = sorted(
            range(len(self.ids)), key=lambda at: (-self.gain[at], -self.moved[at], self.ids[at])
        )[: self.most]
        at = np.array(order, dtype=np.int64)
        ids = tuple(self.ids[i] for i in order)
        parts = (each[at] for each in (*self._columns, *self._tables))
        return DisagreementRanking(self.most, self.count, ids, *parts)

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.gain, self.moved, self.answers, self.agreed

    @property
    def _tables(self) -> tuple[Sparse, ...]:
        return self.score, self.chosen, self.support, self.against

    def told(self, labels: Index) -> tuple[Disagreement, ...]:
        """Return them with ids for positions."""
        return tuple(
            Disagreement(
                instance=id_,
                gain=float(self.gain[i]),
                answers=int(self.answers[i]),
                agreed=labels[self.agreed[i]] if self.agreed[i] >= 0 else None,
                disputed=self._disputed(i, labels),
            )
            for i, id_ in enumerate(self.ids)
        )

    def _disputed(self, i: int, labels: Index) -> tuple[LabelDispute, ...]:
        cells = slice(self.score.indptr[i], self.score.indptr[i + 1])
        columns = (self.score.data, self.chosen.data, self.support.data, self.against.data)
        found = [
            LabelDispute(labels[k], float(score), bool(chosen), int(support), int(against))
            for k, score, chosen, support, against in zip(
                self.score.indices[cells], *(column[cells] for column in columns), strict=True
            )
        ]
        return tuple(sorted(found, key=lambda each: -each.score))


Stance: TypeAlias = Literal["direct", "below", "vague", "against"]
"""What an answer says of a label: the label itself; one below it; only an ancestor of it; or
neither, though its source could."""


@dataclass(frozen=True)
class Answer:
    """What a source said of an instance, as given: labels and scores; none: "none of these"."""

    source: str
    said: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Voice:
    """What one source says of a label, and what its answer does to the score.

    `effect` is the score less what it would be without this answer, all else that was learnt
    staying as it is; None where that cannot be told.
    """

    source: str
    stance: Stance
    effect: float | None


@dataclass(frozen=True)
class LabelExplanation:
    """Why one label.

    Attributes
    ----------
    label, name : str
        Its id, and its path of names.
    score, specific : float
        As in `Consolidation`.
    chosen : bool
        Whether the label set has it.
    disputed : bool
        Whether some answers uphold it and others contradict it.
    own : float or None
        The share of the instance's answers that uphold it, of those that could; None where none
        could. What an answer with scores gives it counts as it is given.
    learnt : float or None
        `score` less `own`: what was added, or taken away, by what was learnt of sources, labels
        and other instances.
    voices : tuple of Voice
        Every source that answered and could speak about the label, in the order of the answers.
    """

    label: str
    name: str
    score: float
    specific: float
    chosen: bool
    disputed: bool
    own: float | None
    learnt: float | None
    voices: tuple[Voice, ...]


@dataclass(frozen=True)
class Explanation:
    """Why an instance has the labels it has.

    Attributes
    ----------
    instance : str
        Its id.
    gain : float
        What one more opinion is worth, as in `Disagreement`.
    agreed : str or None
        The deepest label that all its answers say or imply.
    answers : tuple of Answer
        All that was said of it.
    labels : tuple of LabelExplanation
        Those asked for; else those chosen or in dispute.
    effects : str
        How effects were found, or why they were not.
    """

    instance: str
    gain: float
    agreed: str | None
    answers: tuple[Answer, ...]
    labels: tuple[LabelExplanation, ...]
    effects: str
