"""Truth: the labels that instances are known to have."""

from dataclasses import dataclass

import numpy as np

from mhpc.core.arrays import IntArray, Sparse
from mhpc.core.index import Index
from mhpc.core.scorecard import View


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

    def among(self, instances: IntArray) -> "EncodedTruth":
        """Return what is known of some instances, given by rising positions; rows count these."""
        at = np.searchsorted(instances, self.rows)
        here = np.flatnonzero(np.append(instances, -1)[at] == self.rows)
        return EncodedTruth(at[here], self.specific[here], self.closed[here])

    def view(self, name: View) -> Sparse:
        """Return the labels that count as true in a view."""
        return self.closed if name == "closed" else self.specific
