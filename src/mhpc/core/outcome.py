"""Outcome: what a run concluded and decided, as it is given back to other tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.core.consolidation import Consolidation, walk
from mhpc.core.entries import from_ordered, values_at
from mhpc.core.hierarchy import deepest
from mhpc.core.index import Index
from mhpc.core.taxonomy import Taxonomy


@dataclass(frozen=True, eq=False)
class Outcome:
    """The scores, and the labels that every instance was given.

    Attributes
    ----------
    consolidation : Consolidation
        The scores and both axes.
    chosen : csr_array, (N, K)
        The score of every label that an instance has; what is stored is chosen, even at 0.
    fields : mapping of instance to mapping
        What another tool holds of the instances, to be given back with their labels.
    contested : tuple of str
        Instances on which one more opinion is worth most, in that order.
    """

    consolidation: Consolidation
    chosen: Sparse
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    contested: tuple[str, ...] = ()

    @property
    def taxonomy(self) -> Taxonomy:
        """The label axis."""
        return self.consolidation.taxonomy

    @property
    def instances(self) -> Index:
        """The instance axis."""
        return self.consolidation.instances

    def labels_of(self, row: int) -> tuple[IntArray, FloatArray]:
        """Return the labels of an instance, by position, and their scores."""
        span = slice(*self.chosen.indptr[row : row + 2])
        return self.chosen.indices[span], self.chosen.data[span]

    def deepest(self) -> "Outcome":
        """Return the same with those labels alone that have no chosen label below them."""
        kept = deepest(_ones(self.chosen), self.taxonomy)
        row = np.repeat(np.arange(kept.shape[0]), np.diff(kept.indptr))
        score = values_at(self.chosen, row, kept.indices)
        chosen = from_ordered(row, kept.indices, score, shape=kept.shape)
        return replace(self, chosen=chosen)

    def least_score(self) -> FloatArray:
        """Return the lowest score among the labels of every instance; -1 where it has none."""
        least = np.full(len(self.instances), -1.0)
        some = np.flatnonzero(np.diff(self.chosen.indptr))
        if len(some):
            least[some] = np.minimum.reduceat(self.chosen.data, self.chosen.indptr[some])
        return least

    def __repr__(self) -> str:
        return f"Outcome({self.chosen.nnz} labels of {len(self.instances)} instances)"


def outcome_of(consolidation: Consolidation, sets: Sparse) -> Outcome:
    """Return the outcome of a decision, given by a matrix that stores something at every label."""
    parts = []
    for span in walk(consolidation):
        part = sets[span]
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        score = values_at(consolidation.score[span], row, part.indices)
        parts.append(from_ordered(row, part.indices, score, shape=part.shape))
    return Outcome(consolidation, sparse.vstack(parts, format="csr"))


def _ones(matrix: Sparse) -> Sparse:
    return sparse.csr_array(
        (np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
    )
