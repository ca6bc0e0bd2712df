"""Votes and Truth: the two long tables, with ids as positions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from mhpc.data.index import Index
from mhpc.data.scorecard import View
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.parameters import check_choice, to_texts
from mhpc.system.display import short_table


@dataclass(frozen=True, eq=False)
class Truth:
    """Known labels: a table with the columns instance and label, one row per label.

    An instance may have several labels, or none: one row with label -1.

    Attributes
    ----------
    instances, labels : Index
        The ids that occur; labels may be unknown to the taxonomy.
    instance, label : int arrays, (R,)
        The positions of each row in these.
    origin : str
        Where the truth comes from, for messages.
    is_random : bool array, (number of instances,), optional
        Which instances were drawn at random, not chosen for review; None if that is not known.

    Examples
    --------
    >>> import mhpc
    >>> mhpc.read_truth({"1": ["rose", "oak"], "2": []})
    Truth(3 labels of 2 instances)
    """

    instances: Index
    labels: Index
    instance: IntArray
    label: IntArray
    origin: str = "the truth"
    is_random: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.instance)

    def __repr__(self) -> str:
        return f"Truth({len(self)} labels of {len(self.instances)} instances)"


@dataclass(frozen=True, eq=False)
class EncodedTruth:
    """The truth as matrices that match a panel or a consolidation.

    Attributes
    ----------
    rows : int array, (T,)
        The positions of the instances whose labels are known.
    specific : csr_array, (T, K)
        Ones for the most specific true labels: those without a true descendant.
    closed : csr_array, (T, K)
        Ones for all true labels and their ancestors.
    is_random : bool array, (T,), optional
        Which of the instances were drawn at random, as in `Truth`.
    """

    rows: IntArray
    specific: Sparse
    closed: Sparse
    is_random: BoolArray | None = None

    def select_instances(self, instances: IntArray) -> "EncodedTruth":
        """Return the truth of some instances, at increasing positions; rows refer to these."""
        position = np.searchsorted(instances, self.rows)
        kept = np.flatnonzero(np.append(instances, -1)[position] == self.rows)
        is_random = None if self.is_random is None else self.is_random[kept]
        return EncodedTruth(position[kept], self.specific[kept], self.closed[kept], is_random)

    def select_labels(self, labels: IntArray) -> "EncodedTruth":
        """Return the truth as far as it consists of some labels, at increasing positions."""
        return replace(self, specific=self.specific[:, labels], closed=self.closed[:, labels])

    def view(self, name: View) -> Sparse:
        """Return the labels that count as true in a view, (T, K)."""
        return self.closed if name == "closed" else self.specific


NewSources: TypeAlias = Literal["error", "ignore", "prior"]
"""What to do with sources that an earlier run does not know: refuse them, leave their answers out,
or take each to be as reliable as the known ones are on average."""

NONE_OF_THESE = -1
"""The label of an answer without labels: the source looked and chose none of them."""

ABSTAINED = -2
"""The label of an answer that says nothing: the source was asked but did not know."""

MAX_FEW = 0.05
"""The share of votes for labels that the taxonomy lacks up to which they are dropped by default.

Language models invent about so many labels; more of them mean that something else is wrong, such as
another version of the taxonomy.
"""

ABSTAIN_WORD = "abstain"
"""How such an answer is written in a table, where a label would be."""

Scope: TypeAlias = Literal["all", "used"] | Mapping[str, tuple[str, ...]]
"""Which labels each source can give: all, those that it ever gave, or a list by source."""


@dataclass(frozen=True, eq=False)
class Votes:
    """A table with the columns instance, source, label and score, one row per vote.

    All rows of one source and one instance are an *answer*. What an answer, or its absence, says
    about a label that it does not give is decided here and nowhere else:

    ============================== ===============================================================
    the source has                 what that means for label k
    ============================== ===============================================================
    no row                         Not asked: nothing.
    a row with `ABSTAINED`         Asked, but did not know: nothing. The abstention is counted.
    a row with `NONE_OF_THESE`     Against k, if k is in the scope of the source.
    other labels, but not k        Against k, if k is in the scope of the source. Methods differ in
                                   how they read an ancestor of k: some take it for a vague answer.
    a negative vote for k          Against k and all its descendants, as `mhpc.encoding.denials`
                                   says; nothing about other labels.
    no k, and k is not in scope    Nothing: the source cannot give k.
    ============================== ===============================================================

    Where an answer has several kinds of rows, abstentions count for nothing beside others. A
    negative vote for k counts for nothing beside a vote for k or for a descendant of it, and adds
    nothing to an answer that is against k already. An answer of nothing but negative votes says no
    more than these.

    Attributes
    ----------
    instances, sources, labels : Index
        The ids that occur; labels may be unknown to the taxonomy.
    instance, source, label : int arrays, (R,)
        The positions of each row in these, without duplicates.
    score : float array, (R,)
        How sure the source is, in [0, 1]; 1 if sources give no scores.
    negative : bool array, (R,), optional
        Which votes say that the label does not apply, with the score as certainty; None if there
        are no such votes.
    scope : "all", "used" or mapping of source to labels
        Which labels each source can give. Not giving a label outside its scope means nothing.
    origin : str
        Where the votes come from, for messages.
    gold : Truth, optional
        Known labels of some instances, if the input contains them.

    Examples
    --------
    >>> import mhpc
    >>> mhpc.read_votes([("1", "ann", "rose"), ("1", "bob", None)])
    Votes(2 votes of 2 sources on 1 instances)
    """

    instances: Index
    sources: Index
    labels: Index
    instance: IntArray
    source: IntArray
    label: IntArray
    score: FloatArray
    scope: Scope = "all"
    origin: str = "the votes"
    gold: Truth | None = None
    negative: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.instance)

    def __repr__(self) -> str:
        return (
            f"Votes({len(self)} votes of {len(self.sources)} sources "
            f"on {len(self.instances)} instances)"
        )

    def _repr_html_(self) -> str:
        columns = (self.instance, self.source, self.label, self.score)
        rows = (
            (self.instances[i], self.sources[s], self._label_text(row, k), float(score))
            for row, (i, s, k, score) in enumerate(zip(*columns, strict=True))
        )
        header = ("instance", "source", "label", "score")
        return short_table(repr(self), header, rows, total=len(self))

    def _label_text(self, row: int, label: int) -> str:
        if label < 0:
            return ABSTAIN_WORD if label == ABSTAINED else ""
        is_negative = self.negative is not None and self.negative[row]
        return f"not {self.labels[label]}" if is_negative else self.labels[label]


Unknown: TypeAlias = Literal["auto", "error", "drop", "graft", "nearest", "ancestor"]
"""What to do with labels that the taxonomy lacks, even in another spelling.

``"auto"`` drops them if they are few, at most `MAX_FEW` of the votes, and refuses them otherwise,
as those of a truth. ``"error"`` refuses them. ``"drop"`` leaves their votes out: the source gave no
answer that can be understood. ``"graft"`` adds them to the taxonomy. ``"nearest"`` takes the most
similar label, and ``"ancestor"`` the deepest label of a path that is known; where there is none,
the vote is left out.
"""

MatchKind: TypeAlias = Literal["spelling", "abstain", "none", "nearest", "ancestor"]
"""How a label that is not in the taxonomy as it is written was understood.

As another spelling of a label, as a word for "did not know" or for "none of these", as the most
similar label, or as the deepest known label of a path.
"""


@dataclass(frozen=True)
class LabelPolicy:
    """What to do with labels that are not in the taxonomy.

    Functions that take a policy as `unknown` also take its first attribute alone.

    Attributes
    ----------
    unknown : "auto", "error", "drop", "graft", "nearest" or "ancestor"
        What to do with those that cannot be understood.
    abstain : tuple of str
        Words that mean "asked, but did not know", besides `mhpc.encoding.labels.ABSTAIN_WORDS`,
        even if the taxonomy has such a label.
    """

    unknown: Unknown = "error"
    abstain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("unknown", self.unknown, get_args(Unknown))

    def refuses(self, share: float = 1.0) -> bool:
        """Return whether unknown labels are refused that have this share of the votes."""
        return self.unknown == "error" or (self.unknown == "auto" and share > MAX_FEW)

    @classmethod
    def of(cls, unknown: "Unknown | LabelPolicy", abstain: Iterable[str] = ()) -> "LabelPolicy":
        """Return a policy, which may be given already, with further words for "did not know"."""
        words = to_texts("abstain", abstain)
        if isinstance(unknown, LabelPolicy):
            return replace(unknown, abstain=(*unknown.abstain, *words))
        return cls(unknown, words)


Policy: TypeAlias = Unknown | LabelPolicy
"""A policy for labels that are not in the taxonomy, or only what it says about unknown ones."""


def join_votes(parts: Sequence[Votes]) -> Votes:
    """Return the votes of several tables as one; what a source says of an instance is one answer.

    Parameters
    ----------
    parts : sequence of Votes
        At least one table, in the order in which ids are numbered.
    """
    if len(parts) == 1:
        return parts[0]
    instances, instance = _join_ids([(part.instances, part.instance) for part in parts])
    sources, source = _join_ids([(part.sources, part.source) for part in parts])
    labels, label = _join_ids([(part.labels, part.label) for part in parts])
    negative = None
    if any(part.negative is not None for part in parts):
        negative = np.concatenate(
            [np.zeros(len(p), dtype=bool) if p.negative is None else p.negative for p in parts]
        )
    return Votes(
        instances, sources, labels, instance, source, label,
        score=np.concatenate([part.score for part in parts]),
        scope=_join_scopes([part.scope for part in parts]),
        origin=" and ".join(part.origin for part in parts),
        gold=_join_truths([part.gold for part in parts if part.gold is not None]),
        negative=negative,
    )  # fmt: skip


def _join_ids(parts: Sequence[tuple[Index, IntArray]]) -> tuple[Index, IntArray]:
    """Return all ids, in the order of their first appearance, and the positions of all rows."""
    joined = Index.of_distinct(tuple(dict.fromkeys(id_ for index, _ in parts for id_ in index)))
    rows = []
    for index, position in parts:
        place = joined.locate(index)
        # Positions below 0 are not ids: they say what kind of answer a row is.
        rows.append(np.where(position < 0, position, np.append(place, 0)[position]))
    return joined, np.concatenate(rows)


def _join_scopes(scopes: Sequence[Scope]) -> Scope:
    listed = [scope for scope in scopes if not isinstance(scope, str)]
    if not listed:
        return scopes[0]
    return {source: labels for scope in listed for source, labels in scope.items()}


def _join_truths(parts: Sequence[Truth]) -> Truth | None:
    if not parts:
        return None
    instances, instance = _join_ids([(part.instances, part.instance) for part in parts])
    labels, label = _join_ids([(part.labels, part.label) for part in parts])
    is_random = None
    if any(part.is_random is not None for part in parts):
        drawn = {
            id_
            for part in parts
            if part.is_random is not None
            for id_, is_drawn in zip(part.instances, part.is_random, strict=True)
            if is_drawn
        }
        is_random = np.array([id_ in drawn for id_ in instances], dtype=bool)
    return Truth(instances, labels, instance, label, parts[0].origin, is_random)
