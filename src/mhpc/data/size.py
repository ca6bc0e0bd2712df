"""The size of a panel, from which methods estimate their memory."""

from dataclasses import dataclass

import numpy as np

from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.numerics.sparse import count_cells, incidence, row_indices


@dataclass(frozen=True)
class Size:
    """How large a panel is, for estimates of memory.

    Attributes
    ----------
    taxonomy : Taxonomy
        All K labels.
    used_labels : int
        Labels that some source gave, ancestors included.
    instances, answers : int
        How many there are.
    implied : int
        Pairs of an instance and a label that some source gave to it, ancestors included.
    groups : int
        Pairs of a source and a label that it gave to some instance.
    pairs : int
        Pairs of a vote and a label that some source gave to its instance, ancestors included.
    """

    taxonomy: Taxonomy
    used_labels: int
    instances: int
    answers: int
    implied: int
    groups: int
    pairs: int

    @property
    def labels(self) -> int:
        """K, the number of labels."""
        return len(self.taxonomy)

    @property
    def cells(self) -> int:
        """Instances x labels."""
        return self.instances * self.labels


def measure_size(partitions: PanelPartitions) -> Size:
    """Return the size of all partitions together, in one pass over the votes."""
    answers, implied, pairs, used, votes = partitions.sum(_size_sums)
    return Size(
        taxonomy=partitions.taxonomy,
        used_labels=int(np.count_nonzero(used)),
        instances=partitions.instances,
        answers=answers,
        implied=implied,
        groups=votes.nnz,
        pairs=pairs,
    )


def _size_sums(panel: Panel) -> tuple[int, int, int, FloatArray, Sparse]:
    N, M, K = len(panel.instances), len(panel.sources), len(panel.taxonomy)
    # The product stores one entry for every label that some answer to the instance implies.
    by_instance = incidence(panel.instance, shape=(N, len(panel.instance)))
    implied = np.diff((by_instance @ panel.augmented).tocsr().indptr)
    votes_per_instance = np.bincount(panel.instance, np.diff(panel.raw.indptr), minlength=N)
    source = panel.source[row_indices(panel.raw)]
    return (
        len(panel.instance),
        int(implied.sum()),
        int(votes_per_instance @ implied),
        panel.occurrences,
        count_cells(source, panel.raw.indices, shape=(M, K)),
    )
