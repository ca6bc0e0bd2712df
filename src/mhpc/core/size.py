"""How much there is to work on, by which memory is foreseen."""

from dataclasses import dataclass

import numpy as np

from mhpc.core.panel import Panel


@dataclass(frozen=True)
class Size:
    """How much there is to work on.

    Attributes
    ----------
    instances, labels, answers : int
        How many.
    implied : int
        Labels that were said of instances, with their ancestors, all instances together.
    groups : int
        Pairs of a source and a label that it said.
    pairs : int
        Labels that were said beside all that were said of the same instance, or implied.
    """

    instances: int
    labels: int
    answers: int
    implied: int
    groups: int
    pairs: int

    @property
    def cells(self) -> int:
        """Instances x labels."""
        return self.instances * self.labels


def size_of(panel: Panel) -> Size:
    """Return how much a panel holds."""
    K = np.int64(len(panel.taxonomy))
    source = np.repeat(panel.source, np.diff(panel.raw.indptr))
    instance = np.repeat(panel.instance, np.diff(panel.augmented.indptr))
    possible = np.unique(instance * K + panel.augmented.indices) // K
    N = len(panel.instances)
    said = np.bincount(panel.instance, np.diff(panel.raw.indptr), minlength=N)
    return Size(
        instances=N,
        labels=int(K),
        answers=len(panel.instance),
        implied=len(possible),
        groups=len(np.unique(source * K + panel.raw.indices)),
        pairs=int(said @ np.bincount(possible, minlength=N)),
    )
