"""Decision: the label set of every instance, closed under ancestors."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Protocol

from mhpc.core.arrays import Block, Sparse
from mhpc.core.display import short_table
from mhpc.core.index import Index
from mhpc.core.taxonomy import Taxonomy

REASONS: Mapping[int, str] = MappingProxyType({1: "score", 2: "implied"})
"""Why a label is in a set: its own score, or that of a label below it."""


class Settled(Protocol):
    """A rule that knows all it needs but the scores."""

    @property
    def rule(self) -> str:
        """The rule's name."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Its parameters, computed ones included."""

    def sets(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
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
