"""Panel: all answers as one sparse matrix; partitions of it, over which methods sum and sample."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from scipy import sparse

from mhpc.data.denials import Abstentions, Denials, keep_instances
from mhpc.data.index import Index, hash_ids
from mhpc.data.scope import find_outside
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import EncodedTruth
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import incidence, row_blocks, select_columns, slice_rows
from mhpc.system.caching import cached_property
from mhpc.system.display import Progress, short_table, silent
from mhpc.system.parallel import parallel_map

VotesKind: TypeAlias = Literal["raw", "augmented"]
"""Votes as they were given, or with all ancestors."""

Average: TypeAlias = Literal["answers", "all-sources"]
"""Divide by the answers that an instance got, or by the number of sources, as the paper does."""

Sums = TypeVar("Sums", bound=tuple[object, ...])

MAX_BLOCK_CELLS = 1 << 22
"""The most cells (instances x labels) of a block: 32 MB if it becomes dense."""

MAX_BLOCK_INSTANCES = 1 << 16
"""The most instances of a block, however few labels there are."""


@dataclass(frozen=True, eq=False)
class Panel:
    """All answers as one matrix, with the instance and source of each.

    One matrix of answers x labels instead of M matrices of N x K: the same object holds four
    classifiers or a hundred thousand doctors with three answers each. Means, counts and occurrences
    are sparse products with it.

    Attributes
    ----------
    taxonomy : Taxonomy
        The K labels, which are the columns.
    instances, sources : Index
        The N instances and M sources; either may contain ids without an answer.
    instance, source : int arrays, (A,)
        The instance and source of each answer, sorted by instance, then by source.
    raw : csr_array, (A, K)
        The labels that were given, with scores in (0, 1]; an empty row means "none of these".
    augmented : csr_array, (A, K)
        The same with all ancestors (Algorithm 1), each with the largest score of its descendants.
    scope : csr_array, (M, K), or None
        Ones where a source can give a label; None if every source can give all labels.
    weight : float array, (A,), or None
        How much each answer counts in a mean; None if all count the same.
    gold : EncodedTruth or None
        The known labels of some instances, which are also the answers of the last source. They
        are no answers of a source (`drop_gold`).
    abstained : Abstentions or None
        The sources that were asked but did not know; None if there are none.
    denials : Denials or None
        The votes that a label does not apply; None if there cannot be any.

    Examples
    --------
    >>> import mhpc
    >>> mhpc.encode(mhpc.read_votes([("1", "ann", "rose")]), mhpc.read_taxonomy(["rose", "oak"]))
    Panel(1 answers of 1 sources on 1 instances, 2 labels)
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
    abstained: Abstentions | None = None
    denials: Denials | None = None

    def votes(self, kind: VotesKind) -> Sparse:
        """Return the answers as they were given, or with their ancestors, (A, K)."""
        return self.raw if kind == "raw" else self.augmented

    @cached_property
    def answers_per_instance(self) -> IntArray:
        """The number of answers that each instance has, (N,)."""
        return np.bincount(self.instance, minlength=len(self.instances))

    @cached_property
    def evidence(self) -> FloatArray:
        """The total weight of the answers that each instance has, (N,)."""
        return np.bincount(self.instance, self.weight, minlength=len(self.instances)).astype(float)

    @property
    def answer_weights(self) -> FloatArray:
        """How much each answer counts, (A,): its weight, or 1 if answers have none."""
        return np.ones(len(self.instance)) if self.weight is None else self.weight

    @cached_property
    def answers_per_source(self) -> IntArray:
        """The number of instances that each source answered, (M,)."""
        return np.bincount(self.source, minlength=len(self.sources))

    @cached_property
    def answers_per_label(self) -> FloatArray:
        """The number of answers that could contain each label, (K,): the trials of its support."""
        if self.scope is None:
            return np.full(len(self.taxonomy), float(len(self.instance)))
        return np.asarray(self.answers_per_source.astype(float) @ self.scope)

    @cached_property
    def occurrences(self) -> FloatArray:
        """C (eq. 8): how often each label or one of its descendants is given, (K,)."""
        return np.asarray(self.augmented.sum(axis=0), dtype=np.float64).ravel()

    @cached_property
    def popularity(self) -> FloatArray:
        """How often each label is given, as in C, with answers counted by their weights, (K,)."""
        return np.asarray(self.answer_weights @ self.augmented, dtype=np.float64).ravel()

    @cached_property
    def labels_per_answer(self) -> float:
        """How many labels an answer contains, with ancestors, if all sources could give all labels.

        This is the sum over labels of the share of answers with the label among those that could
        contain it; without scopes it is the mean size of an answer. Gold labels do not count.
        """
        return _labels_per_answer(*_label_counts(self))

    @cached_property
    def outside_scope(self) -> Sparse | None:
        """Ones where an answer has a label outside the scope of its source, (A, K), if any has."""
        return find_outside(self.augmented, self.source, self.scope)

    @property
    def is_gold(self) -> BoolArray:
        """Which answers are known labels and not those of a source, (A,)."""
        if self.gold is None:
            return np.zeros(len(self.source), dtype=bool)
        return np.asarray(self.source == len(self.sources) - 1)

    def select_answers(self, answers: BoolArray) -> "Panel":
        """Return the panel with some of its answers, (A,), and everything else that it has."""
        return replace(
            self,
            instance=self.instance[answers],
            source=self.source[answers],
            raw=self.raw[answers],
            augmented=self.augmented[answers],
            weight=None if self.weight is None else self.weight[answers],
        )

    def select_instances(self, instances: IntArray) -> "Panel":
        """Return the panel of some instances, at increasing positions, with all sources."""
        start, stop = (instances[0], instances[-1] + 1) if len(instances) else (0, 0)
        first, last = np.searchsorted(self.instance, (start, stop))
        new_position = np.full(stop - start, -1, dtype=np.int64)
        new_position[instances - start] = np.arange(len(instances))
        instance = new_position[self.instance[first:last] - start]
        if len(new_position) == len(instances):
            answers = slice(first, last)
            rows: slice | IntArray = answers
            raw, augmented = slice_rows(self.raw, answers), slice_rows(self.augmented, answers)
        else:
            rows = first + np.flatnonzero(instance >= 0)
            raw, augmented = self.raw[rows], self.augmented[rows]
            instance = instance[instance >= 0]
        return replace(
            self,
            instances=self.instances.select(instances),
            instance=instance,
            source=self.source[rows],
            raw=raw,
            augmented=augmented,
            weight=None if self.weight is None else self.weight[rows],
            gold=None if self.gold is None else self.gold.select_instances(instances),
            abstained=keep_instances(self.abstained, instances),
            denials=keep_instances(self.denials, instances),
        )

    def mean(self, kind: VotesKind, average: Average) -> Sparse:
        """Return Y_bar (eq. 6), the mean answer of every instance, (N, K).

        Parameters
        ----------
        kind : "raw" or "augmented"
            Which votes to average.
        average : "answers" or "all-sources"
            ``"answers"`` divides by the total weight of the answers that an instance got from
            sources that can give the label, because a source that was not asked did not say no.
            ``"all-sources"`` divides by M, as in the paper. An instance without answers has an
            empty row.
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
        asked = (self._weight_by_source @ self.scope).tocsr()
        if self.outside_scope is not None:
            asked = asked + self.sum_answers(self.outside_scope)
        asked.data = 1.0 / asked.data
        return total.multiply(asked).tocsr()

    def sum_answers(self, values: Sparse) -> Sparse:
        """Return the weighted sum of any (A, K) values over the answers of every instance."""
        return (self._weight_by_answer @ values).tocsr()

    @cached_property
    def _weight_by_answer(self) -> Sparse:
        """The weight of each answer in the row of its instance, (N, A)."""
        shape = (len(self.instances), len(self.instance))
        return incidence(self.instance, shape=shape, values=self.answer_weights)

    @cached_property
    def _weight_by_source(self) -> Sparse:
        """The weight of the answer that each source gave each instance, (N, M)."""
        shape = (len(self.instances), len(self.sources))
        return incidence(self.instance, self.source, shape=shape, values=self.answer_weights)

    def __repr__(self) -> str:
        return (
            f"Panel({len(self.instance)} answers of {len(self.sources)} sources "
            f"on {len(self.instances)} instances, {len(self.taxonomy)} labels)"
        )

    def _repr_html_(self) -> str:
        answers = np.bincount(self.source, minlength=len(self.sources)).tolist()
        rows = zip(self.sources, answers, strict=True)
        return short_table(repr(self), ("source", "answers"), rows, total=len(self.sources))


class PanelPartitions(Protocol):
    """What methods are fitted to: a panel of which only sums and a sample are available.

    A method that needs nothing else runs on a panel in memory, and on many machines that hold some
    instances each.
    """

    @property
    def taxonomy(self) -> Taxonomy:
        """The labels, which are the same in every partition."""

    @property
    def sources(self) -> Index:
        """The sources, which are the same in every partition."""

    @property
    def instances(self) -> int:
        """The number of instances in all partitions together."""

    @property
    def progress(self) -> Progress:
        """The function to which a method reports how far it is."""

    def sum(self, statistic: Callable[[Panel], Sums], *, stage: str = "") -> Sums:
        """Return the sum of a statistic over all partitions.

        Parameters
        ----------
        statistic : callable
            A function of a panel that returns a tuple of numbers, arrays or sparse arrays. It must
            be a function of a module, or a partial of one, so that it can be sent to workers.
        stage : str
            The name under which progress is reported; not reported if empty.
        """

    def sample(self, n: int) -> Panel:
        """Return the panel of `n` instances that represent all, or of all if there are fewer.

        Which ones they are depends on their ids alone, not on how they are partitioned.
        """


@dataclass(frozen=True, eq=False)
class SinglePartition:
    """A panel in memory, seen as partitions.

    Attributes
    ----------
    panel : Panel
        The panel.
    progress : callable
        The function to which a method reports how far it is.
    max_instances : int
        The most instances for which a statistic is computed at a time.
    """

    panel: Panel
    progress: Progress = silent
    max_instances: int = MAX_BLOCK_INSTANCES

    @property
    def taxonomy(self) -> Taxonomy:
        """The labels of the panel."""
        return self.panel.taxonomy

    @property
    def sources(self) -> Index:
        """The sources of the panel."""
        return self.panel.sources

    @property
    def instances(self) -> int:
        """The number of instances of the panel."""
        return len(self.panel.instances)

    def sum(self, statistic: Callable[[Panel], Sums], *, stage: str = "") -> Sums:
        """Sum a statistic over the panel, one block of instances at a time."""
        blocks = list(
            dense_blocks(self.instances, len(self.taxonomy), max_instances=self.max_instances)
        )
        if len(blocks) < 2:
            return statistic(self.panel)

        def compute(block: slice) -> Sums:
            return statistic(panel_block(self.panel, block))

        total: Sums | None = None
        for block, sums in zip(blocks, parallel_map(compute, blocks), strict=True):
            total = sums if total is None else add_sums(total, sums)
            if stage:
                self.progress(stage, block.stop, self.instances)
        return cast(Sums, total)

    def sample(self, n: int) -> Panel:
        """Return the first `n` instances in the order of `hash_ids`, in their original order."""
        return panel_rows(self.panel, sample_rows(self.panel, n))


@dataclass(frozen=True, eq=False)
class TransformedPartitions:
    """Partitions whose panels are changed before anything is computed from them.

    The transformation keeps instances and sources, and can be sent to workers.
    """

    partitions: PanelPartitions
    transform: Callable[[Panel], Panel]
    selected: Taxonomy | None = None

    @property
    def taxonomy(self) -> Taxonomy:
        """The labels: those that the transformation selects, if it does."""
        return self.partitions.taxonomy if self.selected is None else self.selected

    @property
    def sources(self) -> Index:
        """The sources."""
        return self.partitions.sources

    @property
    def instances(self) -> int:
        """The number of instances."""
        return self.partitions.instances

    @property
    def progress(self) -> Progress:
        """The function to which a method reports how far it is."""
        return self.partitions.progress

    def sum(self, statistic: Callable[[Panel], Sums], *, stage: str = "") -> Sums:
        """Sum a statistic over the transformed partitions."""
        transformed = partial(_transform_first, statistic=statistic, transform=self.transform)
        return self.partitions.sum(transformed, stage=stage)

    def sample(self, n: int) -> Panel:
        """Return a sample, transformed."""
        return self.transform(self.partitions.sample(n))


def _transform_first(
    panel: Panel, *, statistic: Callable[[Panel], Sums], transform: Callable[[Panel], Panel]
) -> Sums:
    return statistic(transform(panel))


def transform_partitions(
    partitions: PanelPartitions, transform: Callable[[Panel], Panel]
) -> PanelPartitions:
    """Return partitions with every panel transformed; a panel in memory at once, others later."""
    if not isinstance(partitions, SinglePartition):
        return TransformedPartitions(partitions, transform)
    panel = transform(partitions.panel)
    return partitions if panel is partitions.panel else replace(partitions, panel=panel)


def select_partition_labels(partitions: PanelPartitions, labels: IntArray) -> PanelPartitions:
    """Return partitions with some labels only, as `select_labels` does for a panel."""
    taxonomy = partitions.taxonomy.select(labels)
    select = partial(select_labels, labels=labels, taxonomy=taxonomy)
    if isinstance(partitions, SinglePartition):
        return replace(partitions, panel=select(partitions.panel))
    return TransformedPartitions(partitions, select, taxonomy)


def select_labels(panel: Panel, *, labels: IntArray, taxonomy: Taxonomy) -> Panel:
    """Return the panel with some labels only; votes for others are dropped.

    Parameters
    ----------
    panel : Panel
        The panel.
    labels : int array
        The labels, at increasing positions, with all their ancestors.
    taxonomy : Taxonomy
        What `Taxonomy.select` returns for them.
    """
    return replace(
        panel,
        taxonomy=taxonomy,
        raw=select_columns(panel.raw, labels),
        augmented=select_columns(panel.augmented, labels),
        scope=None if panel.scope is None else select_columns(panel.scope, labels),
        gold=None if panel.gold is None else panel.gold.select_labels(labels),
        denials=None if panel.denials is None else panel.denials.select_labels(labels),
    )


def drop_gold(panel: Panel) -> Panel:
    """Return the panel without the answers that are gold labels; the same panel without gold.

    Gold is the truth, not one more source: what is estimated about sources, and how often labels
    are given, must not depend on how much gold there is. The panel keeps its list of sources, of
    which the last then has no answers.
    """
    return panel.select_answers(~panel.is_gold) if panel.is_gold.any() else panel


def set_scope(panel: Panel, *, scope: Sparse | None) -> Panel:
    """Return the panel with another scope, (M, K); the same panel if that is None."""
    return panel if scope is None else replace(panel, scope=scope)


def add_sums(left: Sums, right: Sums) -> Sums:
    """Return the sums of two tuples, entry by entry."""
    return tuple(a + b for a, b in zip(left, right, strict=True))  # type: ignore[operator, return-value]


def labels_per_answer(partitions: PanelPartitions) -> float:
    """Return `Panel.labels_per_answer` of all partitions together."""
    return _labels_per_answer(*partitions.sum(_label_counts))


def _label_counts(panel: Panel) -> tuple[FloatArray, FloatArray]:
    panel = drop_gold(panel)
    return panel.occurrences, panel.answers_per_label


def _labels_per_answer(occurrences: FloatArray, answers: FloatArray) -> float:
    return float((occurrences / np.maximum(answers, 1.0)).sum())


def dense_blocks(
    instances: int, labels: int, *, max_instances: int = MAX_BLOCK_INSTANCES
) -> Iterator[slice]:
    """Divide instances into blocks that fit in memory even if their scores are dense."""
    row_cost = max(labels, -(-MAX_BLOCK_CELLS // max_instances))
    return row_blocks(instances, row_cost, MAX_BLOCK_CELLS)


def panel_block(panel: Panel, block: slice) -> Panel:
    """Return the panel of a block of instances; the panel itself if the block is all of it."""
    is_all = block == slice(0, len(panel.instances))
    return panel if is_all else panel.select_instances(np.arange(block.start, block.stop))


def panel_rows(panel: Panel, instances: IntArray) -> Panel:
    """Return the panel of some instances, at increasing positions; itself if they are all."""
    return panel if len(instances) == len(panel.instances) else panel.select_instances(instances)


def sample_rows(panel: Panel, n: int) -> IntArray:
    """Return the increasing positions of `n` instances that represent all, or of all."""
    if len(panel.instances) <= n:
        return np.arange(len(panel.instances))
    return np.sort(np.argsort(sampling_order(panel), kind="stable")[:n])


def sampling_order(panel: Panel) -> IntArray:
    """Return a number for every instance, (N,); those with the lowest numbers are a sample."""
    order = hash_ids(panel.instances)
    if panel.gold is not None:
        # Instances with known labels are worth more than those that only represent others.
        order[panel.gold.rows] = -1
    return order
