"""Parts: all the answers, some instances at a time, wherever they are."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar, cast
from zlib import crc32

import numpy as np

from mhpc.core.ahead import ahead
from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.core.index import Index
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress, silent
from mhpc.core.taxonomy import Taxonomy

Sums = TypeVar("Sums", bound=tuple[object, ...])

_CELLS = 1 << 22
"""Instances x labels of a part: 32 MB if it becomes dense."""

_INSTANCES = 1 << 16
"""Instances of a part at most, however few the labels."""


class Parts(Protocol):
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

    def total(
        self, measure: Callable[[Panel], Sums], *, stage: str = "", progress: Progress = silent
    ) -> Sums:
        """Return the sum over all parts of a tuple of numbers, arrays or sparse arrays.

        `measure` must be a function of a module, or a partial of one, so that it can be sent.
        """

    def sample(self, most: int) -> Panel:
        """Return the panel of all instances, or of so many of them that stand for all.

        Which they are depends on their ids alone, not on how they are divided into parts.
        """


@dataclass(frozen=True, eq=False)
class Whole:
    """A panel in memory, as parts."""

    panel: Panel

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

    def total(
        self, measure: Callable[[Panel], Sums], *, stage: str = "", progress: Progress = silent
    ) -> Sums:
        """Sum over the panel's spans."""
        divided = list(spans(self.instances, len(self.taxonomy)))
        if len(divided) < 2:
            return measure(self.panel)

        def work(span: slice) -> Sums:
            return measure(part_of(self.panel, span))

        found: Sums | None = None
        for span, sums in zip(divided, ahead(work, divided), strict=True):
            found = sums if found is None else added(found, sums)
            if stage:
                progress(stage, span.stop, self.instances)
        return cast(Sums, found)

    def sample(self, most: int) -> Panel:
        """Return the instances that come first in the order of `draw`, in their own order."""
        return part_at(self.panel, sample_of(self.panel, most))


@dataclass(frozen=True, eq=False)
class Scoped:
    """Parts whose sources can speak about some labels only."""

    parts: Parts
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

    def total(
        self, measure: Callable[[Panel], Sums], *, stage: str = "", progress: Progress = silent
    ) -> Sums:
        """Sum over the parts, each with the scope."""
        scoped = partial(_measured_in_scope, measure=measure, scope=self.scope)
        return self.parts.total(scoped, stage=stage, progress=progress)

    def sample(self, most: int) -> Panel:
        """Return a sample with the scope."""
        return replace(self.parts.sample(most), scope=self.scope)


def _measured_in_scope(panel: Panel, *, measure: Callable[[Panel], Sums], scope: Sparse) -> Sums:
    return measure(replace(panel, scope=scope))


def added(one: Sums, other: Sums) -> Sums:
    """Return the sums of two tuples, entry by entry."""
    return tuple(a + b for a, b in zip(one, other, strict=True))  # type: ignore[operator, return-value]


def spans(instances: int, labels: int) -> Iterator[slice]:
    """Divide instances into parts that fit even where they become dense."""
    step = min(_INSTANCES, max(1, _CELLS // max(labels, 1)))
    for start in range(0, instances, step):
        yield slice(start, min(start + step, instances))


def part_of(panel: Panel, span: slice) -> Panel:
    """Return the panel of a span of instances; the panel itself where the span is all of it."""
    if span == slice(0, len(panel.instances)):
        return panel
    return panel.part(np.arange(span.start, span.stop))


def part_at(panel: Panel, instances: IntArray) -> Panel:
    """Return the panel of some instances, given by rising positions; itself if they are all."""
    return panel if len(instances) == len(panel.instances) else panel.part(instances)


def sample_of(panel: Panel, most: int) -> IntArray:
    """Return the positions of so many instances, or of all, that stand for all; they rise."""
    if len(panel.instances) <= most:
        return np.arange(len(panel.instances))
    return np.sort(np.argsort(lots(panel), kind="stable")[:most])


def lots(panel: Panel) -> IntArray:
    """Return a number for every instance; those with the lowest are a sample."""
    found = draw(panel.instances)
    if panel.gold is not None:
        # What is known is worth more than what stands for others.
        found[panel.gold.rows] = -1
    return found


def draw(instances: Index) -> IntArray:
    """Return a number for every instance by which to draw lots; it depends on the id alone."""
    return np.array([crc32(id_.encode()) for id_ in instances], dtype=np.int64)


def labels_per_answer(parts: Parts) -> float:
    """Return `Panel.labels_per_answer` of all parts together."""
    occurrences, answers = parts.total(_said_of_asked)
    return float((occurrences / np.maximum(answers, 1.0)).sum())


def _said_of_asked(panel: Panel) -> tuple[FloatArray, FloatArray]:
    return panel.occurrences, panel.answers_per_label
