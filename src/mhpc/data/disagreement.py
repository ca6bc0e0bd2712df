"""Where sources contradict each other, and why an instance has the labels that it has."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse

MAX_RANKED = 200
"""Disputed instances that a run records, those with the largest expected gain."""


@dataclass(frozen=True)
class LabelDispute:
    """A label of an instance, and how many answers support and contradict it."""

    label: str
    score: float
    chosen: bool
    support: int
    against: int


@dataclass(frozen=True)
class Disagreement:
    """An instance on which sources contradict each other.

    Attributes
    ----------
    instance : str
        The id of the instance.
    gain : float
        The expected gain of one more answer: by how many labels the label set is expected to be
        less wrong with it.
    answers : int
        The number of answers.
    agreed : str or None
        The most specific label that all answers give or imply.
    disputed : tuple of LabelDispute
        The disputed labels, the highest score first.
    """

    instance: str
    gain: float
    answers: int
    agreed: str | None
    disputed: tuple[LabelDispute, ...]


@dataclass(frozen=True)
class ConfusedPair:
    """Two labels by which sources contradict each other on the same instance.

    `count` is the number of pairs of answers that do; `under` the most specific label above both,
    or None.
    """

    first: str
    second: str
    count: int
    under: str | None


@dataclass(frozen=True)
class Disagreements:
    """What a person should review.

    Attributes
    ----------
    instances : tuple of Disagreement
        The instances with the largest expected gain of one more answer, in that order.
    disputed : int
        The number of instances with a disputed label.
    confusions : tuple of ConfusedPair
        Confused labels, the pair with the largest excess over chance first.
    """

    instances: tuple[Disagreement, ...]
    disputed: int
    confusions: tuple[ConfusedPair, ...]


@dataclass(frozen=True, eq=False)
class DisagreementRanking:
    """The disputed instances with the largest expected gain; rankings of blocks can be added.

    Attributes
    ----------
    limit : int
        The number of instances to keep.
    count : int
        The number of disputed instances, including those not kept.
    ids : tuple of str
        The instances that are kept, the first to review first; ties are in the order of ids.
    gain, variance : float arrays, (n,)
        What they are ranked by: the expected gain, then the variance of the scores after one more
        answer.
    answers, agreed : int arrays, (n,)
        The number of answers, and the most specific label that all of them imply, -1 for none.
    score, chosen, support, against : csr_array, (n, K)
        Facts about the disputed labels; all four have the same stored entries.
    """

    limit: int
    count: int
    ids: tuple[str, ...]
    gain: FloatArray
    variance: FloatArray
    answers: IntArray
    agreed: IntArray
    score: Sparse
    chosen: Sparse
    support: Sparse
    against: Sparse

    def __add__(self, other: "DisagreementRanking") -> "DisagreementRanking":
        """Merge two rankings of different instances."""
        merged = DisagreementRanking(
            self.limit,
            self.count + other.count,
            self.ids + other.ids,
            *(np.concatenate(pair) for pair in zip(self._columns, other._columns, strict=True)),
            *(
                sparse.vstack(pair, format="csr")
                for pair in zip(self._tables, other._tables, strict=True)
            ),
        )
        return merged.truncate()

    def truncate(self) -> "DisagreementRanking":
        """Sort by gain, then by variance, then by id, and keep the first `limit` instances."""
        order = sorted(
            range(len(self.ids)),
            key=lambda row: (-self.gain[row], -self.variance[row], self.ids[row]),
        )[: self.limit]
        rows = np.array(order, dtype=np.int64)
        ids = tuple(self.ids[row] for row in order)
        parts = (values[rows] for values in (*self._columns, *self._tables))
        return DisagreementRanking(self.limit, self.count, ids, *parts)

    def to_records(self, labels: Index) -> tuple[Disagreement, ...]:
        """Convert to one record per instance, with the ids of labels instead of positions."""
        return tuple(
            Disagreement(
                instance=instance,
                gain=float(self.gain[row]),
                answers=int(self.answers[row]),
                agreed=labels[self.agreed[row]] if self.agreed[row] >= 0 else None,
                disputed=self._disputed_labels(row, labels),
            )
            for row, instance in enumerate(self.ids)
        )

    def _disputed_labels(self, row: int, labels: Index) -> tuple[LabelDispute, ...]:
        entries = slice(self.score.indptr[row], self.score.indptr[row + 1])
        columns = (self.score.data, self.chosen.data, self.support.data, self.against.data)
        disputes = [
            LabelDispute(labels[label], float(score), bool(chosen), int(support), int(against))
            for label, score, chosen, support, against in zip(
                self.score.indices[entries], *(column[entries] for column in columns), strict=True
            )
        ]
        return tuple(sorted(disputes, key=lambda dispute: -dispute.score))

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.gain, self.variance, self.answers, self.agreed

    @property
    def _tables(self) -> tuple[Sparse, ...]:
        return self.score, self.chosen, self.support, self.against


Stance: TypeAlias = Literal["direct", "below", "vague", "against"]
"""How an answer relates to a label: it gives the label itself; a descendant; only an ancestor; or
none of these, although the label is in the scope of its source, or a negative vote against it or
against an ancestor."""


@dataclass(frozen=True)
class Answer:
    """What a source said of an instance.

    Attributes
    ----------
    source : str
        The source.
    labels : tuple of (label, score)
        The labels that it gave; without any, it said "none of these", unless it denied labels or
        abstained.
    denied : tuple of (label, score)
        The labels that do not apply, and how sure it was of that.
    abstained : bool
        Whether it was asked but did not know.
    """

    source: str
    labels: tuple[tuple[str, float], ...]
    denied: tuple[tuple[str, float], ...] = ()
    abstained: bool = False


@dataclass(frozen=True)
class SourceStance:
    """The stance of a source on a label, and the effect of its answer on the score.

    `effect` is the score minus the score without this answer, with the fitted model unchanged; None
    if it is not known.
    """

    source: str
    stance: Stance
    effect: float | None


@dataclass(frozen=True)
class LabelExplanation:
    """Why an instance has a label, or does not have it.

    Attributes
    ----------
    label, name : str
        The id of the label, and its path of names.
    score, specific : float
        As in `Consolidation`.
    chosen : bool
        Whether the label is in the label set.
    disputed : bool
        Whether some answers support the label and others contradict it.
    vote_share : float or None
        The mean of what the answers give the label, over the sources that have it in their scope;
        None if no source has.
    adjustment : float or None
        `score` minus `vote_share`: what the method adds or takes away because of what it estimated
        about sources, labels and other instances.
    stances : tuple of SourceStance
        The sources that answered and have the label in their scope, in the order of the answers.
    """

    label: str
    name: str
    score: float
    specific: float
    chosen: bool
    disputed: bool
    vote_share: float | None
    adjustment: float | None
    stances: tuple[SourceStance, ...]


@dataclass(frozen=True)
class Explanation:
    """Why an instance has the labels that it has.

    Attributes
    ----------
    instance : str
        The id of the instance.
    gain : float
        The expected gain of one more answer, as in `Disagreement`.
    agreed : str or None
        The most specific label that all answers give or imply.
    answers : tuple of Answer
        All answers about the instance.
    labels : tuple of LabelExplanation
        The labels asked for; by default those that are chosen or disputed.
    effects : str
        How the effects were computed, or why they were not.
    """

    instance: str
    gain: float
    agreed: str | None
    answers: tuple[Answer, ...]
    labels: tuple[LabelExplanation, ...]
    effects: str
