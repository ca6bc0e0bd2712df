"""Votes and Truth: the two long tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from mhpc.data.index import Index
from mhpc.data.scorecard import View
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.system.display import short_table


@dataclass(frozen=True, eq=False)
class Truth:
    """The table instance, label. An instance may have several labels, or none (position -1).

    Attributes
    ----------
    instances, labels : Index
        The ids that occur, as given.
    instance, label : int arrays, (R,)
        Positions in these, a row a label.
    origin : str
        Where the truth comes from, for messages.
    """

    instances: Index
    labels: Index
    instance: IntArray
    label: IntArray
    origin: str = "the truth"

    def __len__(self) -> int:
        return len(self.instance)

    def __repr__(self) -> str:
        return f"Truth({len(self)} labels of {len(self.instances)} instances)"


@dataclass(frozen=True, eq=False)
class EncodedTruth:
    """A truth laid beside a consolidation.

    Attributes
    ----------
    rows : int array, (T,)
        The consolidation's instances whose truth is known.
    specific : csr_array, (T, K)
        Ones at the deepest true labels: those with no true label below them.
    closed : csr_array, (T, K)
        Ones at all true labels and their ancestors.
    """

    rows: IntArray
    specific: Sparse
    closed: Sparse

    def select_instances(self, instances: IntArray) -> "EncodedTruth":
        """Return what is known of some instances, given by rising positions; rows count these."""
        at = np.searchsorted(instances, self.rows)
        here = np.flatnonzero(np.append(instances, -1)[at] == self.rows)
        return EncodedTruth(at[here], self.specific[here], self.closed[here])

    def view(self, name: View) -> Sparse:
        """Return the labels that count as true in a view."""
        return self.closed if name == "closed" else self.specific


NONE_OF_THESE = -1
"""The label position of an answer without a label: the source looked and chose nothing."""

Scope: TypeAlias = Literal["all", "used"] | Mapping[str, tuple[str, ...]]
"""What sources can speak about: all labels, those they ever used, or a list by source."""


@dataclass(frozen=True, eq=False)
class Votes:
    """The table instance, source, label, score, with every text replaced by its position.

    An *answer* is one (source, instance) pair. It may hold several rows, one a label, or one
    row with `NONE_OF_THESE`. A pair without rows was not asked, which says nothing.

    Attributes
    ----------
    instances, sources, labels : Index
        The ids that occur; `labels` holds the texts as they were given, known or not.
    instance, source, label : int arrays, (R,)
        Positions in these, a row a vote, no vote twice.
    score : float array, (R,)
        How sure the source is, in [0, 1]; 1 where sources give no scores.
    scope : "all", "used" or mapping of source to labels
        Outside its scope a source's silence means nothing.
    origin : str
        Where the votes come from, for messages.
    gold : Truth, optional
        What is known of some instances, where the votes' file tells it.
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
            (self.instances[i], self.sources[s], self.labels[k] if k >= 0 else "", float(score))
            for i, s, k, score in zip(*columns, strict=True)
        )
        header = ("instance", "source", "label", "score")
        return short_table(repr(self), header, rows, total=len(self))


Unknown: TypeAlias = Literal["error", "drop", "graft"]
"""Refuse labels that the taxonomy lacks, leave their votes out, or add them as new labels."""
