"""Decision, FittedRule protocol, LabelledScores (for writers)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from mhpc.data.hierarchy import deepest
from mhpc.data.index import Index
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import csr_from_sorted, values_at
from mhpc.system.display import short_table

REASONS: Mapping[int, str] = MappingProxyType({1: "score", 2: "implied"})
"""Why a label is in a set: its own score, or that of a label below it."""


class FittedRule(Protocol):
    """A rule that knows all it needs but the scores."""

    @property
    def rule(self) -> str:
        """The rule's name."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Its parameters, computed ones included."""

    def decide(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return why each label of some instances is chosen, as in `Decision.reason`."""
        ...


@dataclass(frozen=True, eq=False)
class Decision:
    """Which labels each instance has, and why.

    Attributes
    ----------
    taxonomy, instances
        The two axes.
    reason : csr_array of int8, (N, K)
        A key of `REASONS` where the label was chosen. With a label come all its ancestors.
    rule : str
        What decided, in words.
    parameters : mapping
        The rule's parameters, computed ones included.
    """

    taxonomy: Taxonomy
    instances: Index
    reason: Sparse
    rule: str
    parameters: Mapping[str, Any]

    def labels(self) -> dict[str, list[str]]:
        """Return the label ids of every instance."""
        reason, labels = self.reason, self.taxonomy.labels
        return {
            instance: [labels[k] for k in reason.indices[reason.indptr[i] : reason.indptr[i + 1]]]
            for i, instance in enumerate(self.instances)
        }

    def __repr__(self) -> str:
        return f"Decision({self.rule}: {self.reason.nnz} labels of {len(self.instances)} instances)"

    def _repr_html_(self) -> str:
        reason, labels = self.reason, self.taxonomy.labels
        rows = (
            (self.instances[i], ", ".join(labels[k] for k in reason.indices[start:stop]))
            for i, (start, stop) in enumerate(pairwise(reason.indptr))
        )
        return short_table(repr(self), ("instance", "labels"), rows, total=len(self.instances))


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """The scores, and the labels that every instance was given.

    Attributes
    ----------
    consolidation : Consolidation
        The scores and both axes.
    chosen : csr_array, (N, K)
        The score of every label that an instance has; what is stored is chosen, even at 0.
    fields : mapping of instance to mapping
        What another tool holds of the instances, to be given back with their labels.
    review_order : tuple of str
        Instances on which one more opinion is worth most, in that order.
    """

    consolidation: Consolidation
    chosen: Sparse
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    review_order: tuple[str, ...] = ()

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

    def deepest(self) -> "LabelledScores":
        """Return the same with those labels alone that have no chosen label below them."""
        kept = deepest(_ones(self.chosen), self.taxonomy)
        row = np.repeat(np.arange(kept.shape[0]), np.diff(kept.indptr))
        score = values_at(self.chosen, row, kept.indices)
        chosen = csr_from_sorted(row, kept.indices, score, shape=kept.shape)
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


def labelled_scores(consolidation: Consolidation, sets: Sparse) -> LabelledScores:
    """Return the outcome of a decision, given by a matrix that stores something at every label."""
    parts = []
    for span in instance_blocks(consolidation):
        part = sets[span]
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        score = values_at(consolidation.score[span], row, part.indices)
        parts.append(csr_from_sorted(row, part.indices, score, shape=part.shape))
    return LabelledScores(consolidation, sparse.vstack(parts, format="csr"))


def _ones(matrix: Sparse) -> Sparse:
    return sparse.csr_array(
        (np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
    )


RULE_SAMPLE = 20_000
"""Instances that a rule looks at, at most, to settle: sets are then as large as wanted within
0.5 %."""
