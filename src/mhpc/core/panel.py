"""Panel: the encoded votes, one sparse row an answer."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.core.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.core.display import short_table
from mhpc.core.index import Index
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import EncodedTruth

VotesKind: TypeAlias = Literal["raw", "augmented"]
Average: TypeAlias = Literal["answers", "all-sources"]


@dataclass(frozen=True, eq=False)
class Panel:
    """All answers as one matrix, and the instance and source of each.

    One matrix of answers x labels, not M matrices of N x K, so that the same object holds four
    classifiers and a hundred thousand doctors with three answers each. Means, counts and
    occurrences are sparse products with it.

    Attributes
    ----------
    taxonomy : Taxonomy
        K labels, the columns.
    instances, sources : Index
        N instances and M sources; either may hold ids without an answer.
    instance, source : int arrays, (A,)
        Whose answer each row is; rows are sorted by instance, then source.
    raw : csr_array, (A, K)
        The labels as said, with scores in (0, 1]; an empty row says "none of these".
    augmented : csr_array, (A, K)
        The same with all ancestors (Algorithm 1), each with the largest score below it.
    scope : csr_array, (M, K), or None
        Ones where a source can speak about a label; None when all can about all.
    weight : float array, (A,), or None
        How much each answer counts in a mean; None when all count alike.
    gold : EncodedTruth or None
        What is known; it is also what the last source says.
    """

    taxonomy: Taxonomy
    instances: Index
    sources: Index
    instance: IntArray
    source: IntArray
    raw: Sparse
    augmented: Sparse
    scope: Sparse | None = None
    weight: FloatArray | None = None
    gold: EncodedTruth | None = None

    def votes(self, kind: VotesKind) -> Sparse:
        """Return the answers as said, or with their ancestors."""
        return self.raw if kind == "raw" else self.augmented

    @cached_property
    def answers_per_instance(self) -> IntArray:
        """How many sources answered each instance, (N,)."""
        return np.bincount(self.instance, minlength=len(self.instances))

    @cached_property
    def evidence(self) -> FloatArray:
        """How many answers each instance has, every one counted by its weight, (N,)."""
        return np.bincount(self.instance, self.weight, minlength=len(self.instances)).astype(float)

    @cached_property
    def answers_per_source(self) -> IntArray:
        """How many instances each source answered, (M,)."""
        return np.bincount(self.source, minlength=len(self.sources))

    @cached_property
    def answers_per_label(self) -> FloatArray:
        """How many answers could have held each label, (K,): the trials behind its support."""
        if self.scope is None:
            return np.full(len(self.taxonomy), float(len(self.instance)))
        return np.asarray(self.answers_per_source.astype(float) @ self.scope)

    @cached_property
    def occurrences(self) -> FloatArray:
        """C (eq. 8), how often each label is said, by itself or through one below it, (K,)."""
        return np.asarray(self.augmented.sum(axis=0), dtype=np.float64).ravel()

    @cached_property
    def popularity(self) -> FloatArray:
        """How often each label is said, as C, every answer counted by its weight, (K,)."""
        return np.asarray(self._weights @ self.augmented, dtype=np.float64).ravel()

    @cached_property
    def labels_per_answer(self) -> float:
        """How many labels an answer holds, ancestors included, if all could speak about all.

        The sum of every label's share of the answers that could have held it; without scopes
        that is the mean size of an answer.
        """
        return float((self.occurrences / np.maximum(self.answers_per_label, 1.0)).sum())

    @property
    def by_gold(self) -> BoolArray:
        """Which answers are not a source's but known to be right, (A,)."""
        if self.gold is None:
            return np.zeros(len(self.source), dtype=bool)
        return np.asarray(self.source == len(self.sources) - 1)

    def only(self, answers: BoolArray) -> "Panel":
        """Return the panel with some of its answers, instances and sources staying as they are."""
        return replace(
            self,
            instance=self.instance[answers],
            source=self.source[answers],
            raw=self.raw[answers],
            augmented=self.augmented[answers],
            weight=None if self.weight is None else self.weight[answers],
        )

    def part(self, instances: IntArray) -> "Panel":
        """Return the panel of some instances, given by rising positions; sources all stay."""
        first, last = np.searchsorted(self.instance, (instances[0], instances[-1] + 1))
        place = np.full(instances[-1] - instances[0] + 1, -1, dtype=np.int64)
        place[instances - instances[0]] = np.arange(len(instances))
        at = place[self.instance[first:last] - instances[0]]
        if len(place) == len(instances):
            rows: slice | IntArray = slice(first, last)
        else:
            rows = first + np.flatnonzero(at >= 0)
            at = at[at >= 0]
        return replace(
            self,
            instances=self.instances.part(instances),
            instance=at,
            source=self.source[rows],
            raw=self.raw[rows],
            augmented=self.augmented[rows],
            weight=None if self.weight is None else self.weight[rows],
            gold=None if self.gold is None else self.gold.among(instances),
        )

    def mean(self, kind: VotesKind, average: Average) -> Sparse:
        """Return Y_bar (eq. 6), the mean answer of every instance, (N, K).

        Parameters
        ----------
        kind : "raw" or "augmented"
            Which votes to average.
        average : "answers" or "all-sources"
            ``"answers"`` divides by the answers an instance got from sources that can speak
            about the label, each by its weight: who was not asked did not say no.
            ``"all-sources"`` divides by M, as the paper writes. An instance without answers
            has an empty row.
        """
        return self.averaged(self.votes(kind), average)

    def averaged(self, values: Sparse, average: Average) -> Sparse:
        """Return the mean of any (A, K) values over the answers of every instance, (N, K)."""
        total = self.summed(values)
        if average == "all-sources":
            return total / len(self.sources)
        if self.scope is None:
            divisor = np.where(self.evidence > 0, self.evidence, 1.0)
            return sparse.diags_array(1.0 / divisor, format="csr") @ total
        asked = (self._asked @ self.scope).tocsr()
        asked.data = 1.0 / asked.data
        return total.multiply(asked).tocsr()

    def summed(self, values: Sparse) -> Sparse:
        """Return the sum of any (A, K) values over the answers of every instance, (N, K)."""
        return (self._instances_by_answers @ values).tocsr()

    @cached_property
    def _instances_by_answers(self) -> Sparse:
        entries = (self._weights, (self.instance, np.arange(len(self.instance))))
        return sparse.csr_array(entries, shape=(len(self.instances), len(self.instance)))

    @cached_property
    def _asked(self) -> Sparse:
        entries = (self._weights, (self.instance, self.source))
        return sparse.csr_array(entries, shape=(len(self.instances), len(self.sources)))

    @property
    def _weights(self) -> FloatArray:
        return np.ones(len(self.instance)) if self.weight is None else self.weight

    def __repr__(self) -> str:
        return (
            f"Panel({len(self.instance)} answers of {len(self.sources)} sources "
            f"on {len(self.instances)} instances, {len(self.taxonomy)} labels)"
        )

    def _repr_html_(self) -> str:
        answers = np.bincount(self.source, minlength=len(self.sources)).tolist()
        rows = zip(self.sources, answers, strict=True)
        return short_table(repr(self), ("source", "answers"), rows, total=len(self.sources))
