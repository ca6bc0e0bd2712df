"""Where sources contradict each other, and why an instance has the labels that it has."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import pluralize
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import cell_numbers, concatenate_ranges
from mhpc.system.display import Shown, ShownTable

MAX_RANKED = 200
"""Instances to review that a run records, those with the largest expected gain."""

MAX_RECORDED_LABELS = 20_000
"""A run records no further instance once those before have this many disputed labels together."""

_MAX_LABELS = 4
"""Disputed labels that are shown of an instance."""


Strategy: TypeAlias = Literal["gain", "random", "mixed"]
"""Which instances to review: those with the largest expected gain, a random sample, or both."""


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
    """An instance to review: sources contradict each other, or its labels are uncertain.

    Attributes
    ----------
    instance : str
        The id of the instance.
    gain : float
        The expected gain of a review: 1 minus the expected F of its label set, which is 1 once a
        person has settled it.
    answers : int
        The number of answers.
    agreed : str or None
        The most specific label that all answers give or imply.
    disputed : tuple of LabelDispute
        The disputed labels, the highest score first; none where answers are only vague, or where
        sources agree on an instance that was drawn at random. A label is left out if a disputed
        descendant says the same: as many answers for and against it, and chosen or not as well.
    drawn : "gain" or "random"
        Why it is listed: for its expected gain, or because it was drawn at random.
    """

    instance: str
    gain: float
    answers: int
    agreed: str | None
    disputed: tuple[LabelDispute, ...]
    drawn: Literal["gain", "random"] = "gain"


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


@dataclass(frozen=True, repr=False)
class Disagreements(Shown):
    """What a person should review.

    Attributes
    ----------
    instances : tuple of Disagreement
        The instances whose review has the largest expected gain, in that order.
    disputed : int
        The number of instances with a disputed label.
    to_review : int
        The number of instances with an expected gain of at least 0.3, disputed or not.
    confusions : tuple of ConfusedPair
        Confused labels, the pair with the largest excess over chance first.
    names : mapping of str to str
        The names of all these labels, by id, as far as they differ from the ids.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "oak"}, "2": {"ann": "oak", "bob": "oak"}}
    >>> result = mhpc.consolidate(votes, ["rose", "oak"], method="majority")
    >>> mhpc.conflicts(result)
    Disagreements(1 disputed instance, 1 confused pair)
    """

    instances: tuple[Disagreement, ...]
    disputed: int
    confusions: tuple[ConfusedPair, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    to_review: int = 0

    def labels(self) -> tuple[str, ...]:
        """Return the ids of all labels that are mentioned, in order."""
        mentioned = [
            *(label for case in self.instances for label in (case.agreed, *_disputed_ids(case))),
            *(label for pair in self.confusions for label in (pair.first, pair.second, pair.under)),
        ]
        return tuple(dict.fromkeys(label for label in mentioned if label is not None))

    @property
    def has_random(self) -> bool:
        """Whether some of the instances were drawn at random."""
        return any(case.drawn == "random" for case in self.instances)

    @property
    def heading(self) -> str:
        """What there is to review, above a list of the first instances."""
        if not self.instances:
            return "Sources never contradict each other"
        these = "this" if len(self.instances) == 1 else "these"
        if not self.disputed:
            return f"Sources never contradict each other, but labels are uncertain. Review {these}"
        return f"Sources disagree on {pluralize(self.disputed, 'instance')}. Review {these}"

    def __repr__(self) -> str:
        return (
            f"Disagreements({pluralize(self.disputed, 'disputed instance')}, "
            f"{pluralize(len(self.confusions), 'confused pair')})"
        )

    def shown_tables(self) -> Iterator[ShownTable]:
        """Return the instances to review, and the labels that sources confuse."""
        if not self.instances:
            yield ShownTable(self.heading)
            return
        if self.has_random:
            yield ShownTable(
                "Review these:",
                ("instance", "drawn", "gain", "answers", "all agree on", "disputed"),
                [
                    (each.instance, each.drawn, round(each.gain, 3), each.answers,
                     each.agreed or "", _list(each))
                    for each in self.instances
                ],
                len(self.instances),
            )  # fmt: skip
            return
        yield ShownTable(
            f"{self.heading} first:",
            ("instance", "gain", "answers", "all agree on", "disputed (for:against, + chosen)"),
            [
                (each.instance, round(each.gain, 3), each.answers, each.agreed or "", _list(each))
                for each in self.instances
            ],
            len(self.instances),
        )
        if self.confusions:
            yield ShownTable(
                "Most confused labels, given how common they are:",
                ("label", "other label", "times", "both under"),
                [
                    (pair.first, pair.second, pair.count, pair.under or "")
                    for pair in self.confusions
                ],
                len(self.confusions),
            )


def select_recorded(instances: tuple[Disagreement, ...]) -> tuple[Disagreement, ...]:
    """Return the first instances, those that a run records.

    Where a label has thousands of parents, an instance may have as many disputed labels.
    """
    before = np.cumsum([0, *(len(case.disputed) for case in instances)])
    count = int(np.searchsorted(before[:-1], MAX_RECORDED_LABELS))
    return instances[: min(count, MAX_RANKED)]


def are_all_recorded(instances: tuple[Disagreement, ...]) -> bool:
    """Return whether the instances that a run records are all that it could record."""
    n_labels = sum(len(case.disputed) for case in instances)
    return len(instances) < MAX_RANKED and n_labels < MAX_RECORDED_LABELS


def _disputed_ids(case: Disagreement) -> tuple[str, ...]:
    return tuple(dispute.label for dispute in case.disputed)


def _list(disagreement: Disagreement) -> str:
    labels = [
        f"{'+' if dispute.chosen else ''}{dispute.label} ({dispute.support}:{dispute.against})"
        for dispute in disagreement.disputed[:_MAX_LABELS]
    ]
    more = len(disagreement.disputed) - len(labels)
    return ", ".join(labels) + (f" and {more} more" if more else "")


@dataclass(frozen=True, eq=False)
class DisagreementRanking:
    """The instances to review with the largest expected gain; rankings of blocks can be added.

    Attributes
    ----------
    limit : int
        The number of instances to keep.
    count : int
        The number of disputed instances, including those not kept.
    to_review, candidates : int
        The number of instances with a large expected gain, and of those that are ranked: with a
        disputed label, a large gain, or both.
    ids : tuple of str
        The instances that are kept, the first to review first; ties are in the order of ids.
    gain : float array, (n,)
        The expected gain of a review, by which they are ranked.
    answers, agreed : int arrays, (n,)
        The number of answers, and the most specific label that all of them imply, -1 for none.
    score, chosen, support, against : csr_array, (n, K)
        Facts about the disputed labels; all four have the same stored entries.
    """

    limit: int
    count: int
    to_review: int
    candidates: int
    ids: tuple[str, ...]
    gain: FloatArray
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
            self.to_review + other.to_review,
            self.candidates + other.candidates,
            self.ids + other.ids,
            *(np.concatenate(pair) for pair in zip(self._columns, other._columns, strict=True)),
            *(
                sparse.vstack(pair, format="csr")
                for pair in zip(self._tables, other._tables, strict=True)
            ),
        )
        return merged.truncate()

    def truncate(self) -> "DisagreementRanking":
        """Sort by gain, then by id, and keep the first `limit` instances."""
        order = sorted(range(len(self.ids)), key=lambda row: (-self.gain[row], self.ids[row]))
        order = order[: self.limit]
        rows = np.array(order, dtype=np.int64)
        ids = tuple(self.ids[row] for row in order)
        parts = (values[rows] for values in (*self._columns, *self._tables))
        return DisagreementRanking(
            self.limit, self.count, self.to_review, self.candidates, ids, *parts
        )

    def to_records(self, taxonomy: Taxonomy) -> tuple[Disagreement, ...]:
        """Convert to one record per instance, with the ids of labels instead of positions."""
        labels, is_repeated = taxonomy.labels, self._is_repeated(taxonomy)
        return tuple(
            Disagreement(
                instance=instance,
                gain=float(self.gain[row]),
                answers=int(self.answers[row]),
                agreed=labels[self.agreed[row]] if self.agreed[row] >= 0 else None,
                disputed=self._disputed_labels(row, labels, is_repeated),
            )
            for row, instance in enumerate(self.ids)
        )

    def _disputed_labels(
        self, row: int, labels: Index, is_repeated: BoolArray
    ) -> tuple[LabelDispute, ...]:
        entries = np.arange(self.score.indptr[row], self.score.indptr[row + 1])
        entries = entries[~is_repeated[entries]]
        columns = (self.score.data, self.chosen.data, self.support.data, self.against.data)
        disputes = [
            LabelDispute(labels[label], float(score), bool(chosen), int(support), int(against))
            for label, score, chosen, support, against in zip(
                self.score.indices[entries], *(column[entries] for column in columns), strict=True
            )
        ]
        return tuple(sorted(disputes, key=lambda dispute: -dispute.score))

    def _is_repeated(self, taxonomy: Taxonomy) -> BoolArray:
        """Return which entries a disputed child repeats, (nnz,); it has the same facts."""
        facts = np.stack([self.chosen.data, self.support.data, self.against.data])
        cell, label = cell_numbers(self.score), self.score.indices
        parents = taxonomy.parents
        entry, position = concatenate_ranges(parents.indptr[label], np.diff(parents.indptr)[label])
        wanted = cell[entry] - label[entry] + parents.indices[position]
        # Cells are in order.
        parent = np.minimum(np.searchsorted(cell, wanted), max(len(cell) - 1, 0))
        is_same = cell[parent] == wanted
        is_same &= (facts[:, parent] == facts[:, entry]).all(axis=0)
        repeated = np.zeros(len(cell), dtype=bool)
        repeated[parent[is_same]] = True
        return repeated

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.gain, self.answers, self.agreed

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


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """Why an instance has the labels that it has.

    Attributes
    ----------
    instance : str
        The id of the instance.
    gain : float
        The expected gain of a review, as in `Disagreement`.
    agreed : str or None
        The most specific label that all answers give or imply.
    answers : tuple of Answer
        All answers about the instance.
    labels : tuple of LabelExplanation
        The labels asked for; by default those that are chosen or disputed.
    effects : str
        How the effects were computed, or why they were not.
    names : mapping of str to str
        The names of all these labels, by id, as far as they differ from the ids.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "oak"}, "2": {"ann": "oak", "bob": "oak"}}
    >>> result = mhpc.consolidate(votes, ["rose", "oak"], method="majority")
    >>> mhpc.explain(result, "1")
    Explanation('1': 2 answers, 2 labels)
    """

    instance: str
    gain: float
    agreed: str | None
    answers: tuple[Answer, ...]
    labels: tuple[LabelExplanation, ...]
    effects: str
    names: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        answers, labels = len(self.answers), len(self.labels)
        return (
            f"Explanation({self.instance!r}: {pluralize(answers, 'answer')}, "
            f"{pluralize(labels, 'label')})"
        )

    def shown_tables(self) -> Iterator[ShownTable]:
        """Return the answers, the labels with their scores, and what each source adds to them."""
        agreed = "the answers have no label in common"
        if self.agreed is not None:
            agreed = f"all answers agree on {self.agreed}"
        yield ShownTable(
            f"{self.instance}: {agreed}; expected gain of a review {self.gain:.3f}",
            ("source", "answer"),
            [(answer.source, _format_answer(answer)) for answer in self.answers],
            len(self.answers),
        )
        yield ShownTable(
            f"Effect of an answer (in parentheses): {self.effects}",
            ("label", "chosen", "score", "share of the votes", "for", "against"),
            [
                (
                    label.name,
                    "yes" if label.chosen else "no",
                    round(label.score, 3),
                    "" if label.vote_share is None else round(label.vote_share, 3),
                    _list_stances(label, ("direct", "below")),
                    _list_stances(label, ("against",)),
                )
                for label in self.labels
            ],
            len(self.labels),
        )


def _format_answer(answer: Answer) -> str:
    labels = (label if score == 1 else f"{label} ({score:.2f})" for label, score in answer.labels)
    return ", ".join(labels) or "none of these"


def _list_stances(label: LabelExplanation, stances: tuple[Stance, ...]) -> str:
    return ", ".join(
        each.source if each.effect is None else f"{each.source} ({each.effect:+.2f})"
        for each in label.stances
        if each.stance in stances
    )
