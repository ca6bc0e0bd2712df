"""Label sets: what a rule decides, and the labels of every instance with their scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.hierarchy import deepest
from mhpc.data.index import Index
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import csr_from_sorted, row_indices, values_at
from mhpc.system.display import short_table

REASONS: Mapping[int, str] = MappingProxyType({1: "score", 2: "implied"})
"""Why a label is in a set: by its own score, or as an ancestor of another label."""

ThresholdOrigin: TypeAlias = Literal["given", "method", "matched", "expected-f", "min-probability"]
"""Where a threshold comes from: the user, the method, the size of the answers, or a rule."""

RULE_SAMPLE = 20_000
"""Instances that rules are fitted to, at most; sets are then as large as wanted within 0.5 %."""


class FittedRule(Protocol):
    """A rule that decides on any instances by their scores."""

    @property
    def rule(self) -> str:
        """The name of the rule."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Its parameters, computed ones included."""

    def decide(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the labels of some instances, as `Decision.reason`."""
        ...


@dataclass(frozen=True, eq=False)
class Decision:
    """The label set of every instance.

    Attributes
    ----------
    taxonomy, instances
        The two axes: K labels, N instances.
    reason : csr_array of int8, (N, K)
        A key of `REASONS` at every label of the set; 0 elsewhere. Sets contain, with a label, all
        its ancestors.
    rule : str
        The name of the rule.
    parameters : mapping
        The parameters of the rule, computed ones included.
    gain : float array, (N,), or None
        The expected gain of a review, as in `Disagreement`, where a run has recorded it; it may
        have had more scores than it kept.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method="majority").decision
    Decision(threshold: 1 labels of 2 instances)
    """

    taxonomy: Taxonomy
    instances: Index
    reason: Sparse
    rule: str
    parameters: Mapping[str, Any]
    gain: FloatArray | None = None

    def labels(self) -> dict[str, list[str]]:
        """Return the label ids of every instance."""
        return {
            instance: self._label_ids(start, stop)
            for instance, (start, stop) in zip(
                self.instances, pairwise(self.reason.indptr), strict=True
            )
        }

    def _label_ids(self, start: int, stop: int) -> list[str]:
        return [self.taxonomy.labels[k] for k in self.reason.indices[start:stop]]

    def __repr__(self) -> str:
        return f"Decision({self.rule}: {self.reason.nnz} labels of {len(self.instances)} instances)"

    def _repr_html_(self) -> str:
        rows = (
            (self.instances[i], ", ".join(self._label_ids(start, stop)))
            for i, (start, stop) in enumerate(pairwise(self.reason.indptr))
        )
        return short_table(repr(self), ("instance", "labels"), rows, total=len(self.instances))


INSTANCE_FIELD = "mhpc_instance"
"""The field of a task for the id of an instance, where a tool numbers its tasks itself."""

RESULT_PREFIX = "mhpc "
"""Tools that ask who predicts are given this and the name of the method."""


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """The scores, and the labels that every instance was given.

    Attributes
    ----------
    consolidation : Consolidation
        The scores and both axes.
    chosen : csr_array, (N, K)
        The score of every label that an instance was given; a stored 0 counts as given.
    fields : mapping of instance to mapping
        What an annotation tool knows of the instances, to be returned to it with the labels.
    task_numbers : mapping of instance to int
        The numbers of the tasks in that tool, if it numbers them.
    review_order : tuple of str
        The instances to review first, in that order.
    """

    consolidation: Consolidation
    chosen: Sparse
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    task_numbers: Mapping[str, int] = field(default_factory=dict)
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
        entries = slice(*self.chosen.indptr[row : row + 2])
        return self.chosen.indices[entries], self.chosen.data[entries]

    def deepest(self) -> "LabelledScores":
        """Return the same without labels that are ancestors of another label of the instance."""
        chosen = self.chosen
        ones = sparse.csr_array(
            (np.ones(chosen.nnz), chosen.indices, chosen.indptr), shape=chosen.shape
        )
        return replace(self, chosen=_values_of(chosen, deepest(ones, self.taxonomy)))

    def least_score(self) -> FloatArray:
        """Return the lowest score among the labels of every instance; -1 if it has none."""
        lowest = np.full(len(self.instances), -1.0)
        with_labels = np.flatnonzero(np.diff(self.chosen.indptr))
        if len(with_labels):
            starts = self.chosen.indptr[with_labels]
            lowest[with_labels] = np.minimum.reduceat(self.chosen.data, starts)
        return lowest

    def __repr__(self) -> str:
        return f"LabelledScores({self.chosen.nnz} labels of {len(self.instances)} instances)"


def labelled_scores(consolidation: Consolidation, sets: Sparse) -> LabelledScores:
    """Return the scores of the labels that instances were given.

    Parameters
    ----------
    consolidation : Consolidation
        The scores.
    sets : csr_array, (N, K)
        An entry at every label of the set of an instance.
    """
    blocks = [
        _values_of(consolidation.score[rows], sets[rows]) for rows in instance_blocks(consolidation)
    ]
    return LabelledScores(consolidation, sparse.vstack(blocks, format="csr"))


def _values_of(matrix: Block, cells: Sparse) -> Sparse:
    """Return the values of a matrix in the cells that another one stores; zeros are stored."""
    row = row_indices(cells)
    values = values_at(matrix, row, cells.indices)
    return csr_from_sorted(row, cells.indices, values, shape=cells.shape)
