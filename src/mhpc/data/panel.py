"""Panel: answers x labels; means, counts; PanelPartitions (sum over blocks, sample)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, Protocol, TypeAlias, TypeVar, cast
from zlib import crc32

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import EncodedTruth
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import incidence, row_blocks, row_indices
from mhpc.system.display import Progress, short_table, silent
from mhpc.system.parallel import parallel_map

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

    @property
    def answer_weights(self) -> FloatArray:
        """How much each answer counts, (A,): its weight, 1 if answers have none."""
        return np.ones(len(self.instance)) if self.weight is None else self.weight

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
        return np.asarray(self.answer_weights @ self.augmented, dtype=np.float64).ravel()

    @cached_property
    def labels_per_answer(self) -> float:
        """How many labels an answer holds, ancestors included, if all could speak about all.

        The sum of every label's share of the answers that could have held it; without scopes
        that is the mean size of an answer.
        """
        return float((self.occurrences / np.maximum(self.answers_per_label, 1.0)).sum())

    @property
    def is_gold(self) -> BoolArray:
        """Which answers are not a source's but known to be right, (A,)."""
        if self.gold is None:
            return np.zeros(len(self.source), dtype=bool)
        return np.asarray(self.source == len(self.sources) - 1)

    def select_answers(self, answers: BoolArray) -> "Panel":
        """Return the panel with some of its answers, instances and sources staying as they are."""
        return replace(
            self,
            instance=self.instance[answers],
            source=self.source[answers],
            raw=self.raw[answers],
            augmented=self.augmented[answers],
            weight=None if self.weight is None else self.weight[answers],
        )

    def select_instances(self, instances: IntArray) -> "Panel":
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
            instances=self.instances.select(instances),
            instance=at,
            source=self.source[rows],
            raw=self.raw[rows],
            augmented=self.augmented[rows],
            weight=None if self.weight is None else self.weight[rows],
            gold=None if self.gold is None else self.gold.select_instances(instances),
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
        return self.average_answers(self.votes(kind), average)

    def average_answers(self, values: Sparse, average: Average) -> Sparse:
        """Return the mean of any (A, K) values over the answers of every instance, (N, K)."""
        total = self.sum_answers(values)
        if average == "all-sources":
            return total / len(self.sources)
        if self.scope is None:
            divisor = np.where(self.evidence > 0, self.evidence, 1.0)
            return sparse.diags_array(1.0 / divisor, format="csr") @ total
        asked = (self._asked @ self.scope).tocsr()
        asked.data = 1.0 / asked.data
        return total.multiply(asked).tocsr()

    def sum_answers(self, values: Sparse) -> Sparse:
        """Return the sum of any (A, K) values over the answers of every instance, (N, K)."""
        return (self._instances_by_answers @ values).tocsr()

    @cached_property
    def _instances_by_answers(self) -> Sparse:
        entries = (self.answer_weights, (self.instance, np.arange(len(self.instance))))
        return sparse.csr_array(entries, shape=(len(self.instances), len(self.instance)))

    @cached_property
    def _asked(self) -> Sparse:
        entries = (self.answer_weights, (self.instance, self.source))
        return sparse.csr_array(entries, shape=(len(self.instances), len(self.sources)))

    def __repr__(self) -> str:
        return (
            f"Panel({len(self.instance)} answers of {len(self.sources)} sources "
            f"on {len(self.instances)} instances, {len(self.taxonomy)} labels)"
        )

    def _repr_html_(self) -> str:
        answers = np.bincount(self.source, minlength=len(self.sources)).tolist()
        rows = zip(self.sources, answers, strict=True)
        return short_table(repr(self), ("source", "answers"), rows, total=len(self.sources))


Sums = TypeVar("Sums", bound=tuple[object, ...])

MAX_BLOCK_CELLS = 1 << 22
"""Instances x labels of a block: 32 MB if it becomes dense."""

MAX_BLOCK_INSTANCES = 1 << 16
"""Instances of a block at most, however few the labels."""


class PanelPartitions(Protocol):
    """What methods learn from: sums over all instances, and a sample of them.

    A method that learns by these two runs anywhere: on a panel in memory, or on many machines
    that hold some instances each.
    """

    @property
    def taxonomy(self) -> Taxonomy:
        """The labels, the same in every part."""

    @property
    def sources(self) -> Index:
        """The sources, the same in every part."""

    @property
    def instances(self) -> int:
        """How many instances there are in all."""

    @property
    def progress(self) -> Progress:
        """Where a method reports how far it is."""

    def sum(self, measure: Callable[[Panel], Sums], *, stage: str = "") -> Sums:
        """Return the sum over all parts of a tuple of numbers, arrays or sparse arrays.

        `measure` must be a function of a module, or a partial of one, so that it can be sent.
        """

    def sample(self, most: int) -> Panel:
        """Return the panel of all instances, or of so many of them that stand for all.

        Which they are depends on their ids alone, not on how they are divided into parts.
        """


@dataclass(frozen=True, eq=False)
class SinglePartition:
    """A panel in memory, as parts."""

    panel: Panel
    progress: Progress = silent
    max_instances: int = MAX_BLOCK_INSTANCES

    @property
    def taxonomy(self) -> Taxonomy:
        """The panel's labels."""
        return self.panel.taxonomy

    @property
    def sources(self) -> Index:
        """The panel's sources."""
        return self.panel.sources

    @property
    def instances(self) -> int:
        """How many instances the panel has."""
        return len(self.panel.instances)

    def sum(self, measure: Callable[[Panel], Sums], *, stage: str = "") -> Sums:
        """Sum over the panel, one block of instances at a time."""
        blocks = list(
            dense_blocks(self.instances, len(self.taxonomy), max_instances=self.max_instances)
        )
        if len(blocks) < 2:
            return measure(self.panel)

        def work(span: slice) -> Sums:
            return measure(panel_block(self.panel, span))

        found: Sums | None = None
        for block, sums in zip(blocks, parallel_map(work, blocks), strict=True):
            found = sums if found is None else add_sums(found, sums)
            if stage:
                self.progress(stage, block.stop, self.instances)
        return cast(Sums, found)

    def sample(self, most: int) -> Panel:
        """Return the instances that come first in the order of `hash_ids`, in their own order."""
        return panel_rows(self.panel, sample_rows(self.panel, most))


@dataclass(frozen=True, eq=False)
class WithScope:
    """Parts whose sources can speak about some labels only."""

    parts: PanelPartitions
    scope: Sparse

    @property
    def taxonomy(self) -> Taxonomy:
        """The labels."""
        return self.parts.taxonomy

    @property
    def sources(self) -> Index:
        """The sources."""
        return self.parts.sources

    @property
    def instances(self) -> int:
        """How many instances there are."""
        return self.parts.instances

    @property
    def progress(self) -> Progress:
        """Where a method reports how far it is."""
        return self.parts.progress

    def sum(self, measure: Callable[[Panel], Sums], *, stage: str = "") -> Sums:
        """Sum over the parts, each with the scope."""
        scoped = partial(_measured_in_scope, measure=measure, scope=self.scope)
        return self.parts.sum(scoped, stage=stage)

    def sample(self, most: int) -> Panel:
        """Return a sample with the scope."""
        return replace(self.parts.sample(most), scope=self.scope)


def _measured_in_scope(panel: Panel, *, measure: Callable[[Panel], Sums], scope: Sparse) -> Sums:
    return measure(replace(panel, scope=scope))


def add_sums(one: Sums, other: Sums) -> Sums:
    """Return the sums of two tuples, entry by entry."""
    return tuple(a + b for a, b in zip(one, other, strict=True))  # type: ignore[operator, return-value]


def dense_blocks(
    instances: int, labels: int, *, max_instances: int = MAX_BLOCK_INSTANCES
) -> Iterator[slice]:
    """Divide instances into blocks whose scores fit in memory even where they are dense."""
    row_cost = max(labels, -(-MAX_BLOCK_CELLS // max_instances))
    return row_blocks(instances, row_cost, MAX_BLOCK_CELLS)


def panel_block(panel: Panel, span: slice) -> Panel:
    """Return the panel of a span of instances; the panel itself where the span is all of it."""
    if span == slice(0, len(panel.instances)):
        return panel
    return panel.select_instances(np.arange(span.start, span.stop))


def panel_rows(panel: Panel, instances: IntArray) -> Panel:
    """Return the panel of some instances, given by rising positions; itself if they are all."""
    return panel if len(instances) == len(panel.instances) else panel.select_instances(instances)


def sample_rows(panel: Panel, most: int) -> IntArray:
    """Return the positions of so many instances, or of all, that stand for all; they rise."""
    if len(panel.instances) <= most:
        return np.arange(len(panel.instances))
    return np.sort(np.argsort(sampling_order(panel), kind="stable")[:most])


def sampling_order(panel: Panel) -> IntArray:
    """Return a number for every instance; those with the lowest are a sample."""
    found = hash_ids(panel.instances)
    if panel.gold is not None:
        # What is known is worth more than what stands for others.
        found[panel.gold.rows] = -1
    return found


def hash_ids(instances: Index) -> IntArray:
    """Return a number for every instance by which to draw lots; it depends on the id alone."""
    return np.array([crc32(id_.encode()) for id_ in instances], dtype=np.int64)


def labels_per_answer(parts: PanelPartitions) -> float:
    """Return `Panel.labels_per_answer` of all parts together."""
    occurrences, answers = parts.sum(_said_of_asked)
    return float((occurrences / np.maximum(answers, 1.0)).sum())


def _said_of_asked(panel: Panel) -> tuple[FloatArray, FloatArray]:
    return panel.occurrences, panel.answers_per_label


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
    N, K = len(panel.instances), np.int64(len(panel.taxonomy))
    instance = panel.instance[row_indices(panel.augmented)]
    affirmed = np.unique(instance * K + panel.augmented.indices) // K
    votes_per_instance = np.bincount(panel.instance, np.diff(panel.raw.indptr), minlength=N)
    pairs = int(votes_per_instance @ np.bincount(affirmed, minlength=N))
    by_source = incidence(panel.source, shape=(len(panel.sources), len(panel.source)))
    votes = (by_source @ panel.raw).tocsr()
    return len(panel.instance), len(affirmed), pairs, panel.occurrences, votes
