"""Parts on a cluster: its workers hold some instances each, and the sums come here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from mhpc.core.ahead import in_threads
from mhpc.core.algebra import one_thread_each
from mhpc.core.index import Index
from mhpc.core.memory import within_memory
from mhpc.core.panel import Panel
from mhpc.core.parts import Sums, Whole, added
from mhpc.core.progress import Progress, silent
from mhpc.core.taxonomy import Taxonomy
from mhpc.engine.crew import Crew
from mhpc.engine.partitions import Partition
from mhpc.engine.samples import drawn, joined, sampled


@dataclass(frozen=True, eq=False)
class Distributed:
    """Partitions in the memory of workers, as parts.

    Attributes
    ----------
    crew : Crew
        The workers.
    partitions : tuple of futures
        Of `Partition`, each made by a task that reads it, and made again where it is lost.
    shape : Panel
        A panel without instances, otherwise as all are.
    instances : int
        How many instances there are in all.
    memory : int or None
        Bytes that work may take in a worker.
    """

    crew: Crew
    partitions: tuple[Any, ...]
    shape: Panel
    instances: int
    memory: int | None = None

    @property
    def taxonomy(self) -> Taxonomy:
        """The labels."""
        return self.shape.taxonomy

    @property
    def sources(self) -> Index:
        """The sources."""
        return self.shape.sources

    def total(
        self, measure: Callable[[Panel], Sums], *, stage: str = "", progress: Progress = silent
    ) -> Sums:
        """Sum over all partitions, some at a time and always in the same order."""
        sums = self.crew.each(_measured, self.partitions, self.crew.carried(measure), self.memory)
        found: Sums = self.crew.outcome(
            self.crew.reduced(all_added, sums), of=sums, tell=self.telling(stage, progress)
        )
        return found

    def sample(self, most: int) -> Panel:
        """Return what `Whole.sample` returns of all instances in memory."""
        last = self._last_lot(most) if self.instances > most else None
        some = self.crew.outcomes(self.crew.each(_sampled, self.partitions, last))
        return joined([part for part in some if part is not None])

    def telling(self, stage: str, progress: Progress) -> Callable[[int], None]:
        """Return what tells how far a stage is from the number of partitions that are done."""

        def tell(done: int) -> None:
            if stage:
                share = done / len(self.partitions)
                progress(stage, int(share * self.instances), self.instances)

        tell(0)
        return tell

    def _last_lot(self, most: int) -> tuple[int, int]:
        found = self.crew.outcomes(self.crew.each(drawn, self.partitions, most))
        lot, first = (np.concatenate(column) for column in zip(*found, strict=True))
        at = np.lexsort((first, lot))[most - 1]
        return int(lot[at]), int(first[at])


def all_added(*sums: Sums) -> Sums:
    """Add up several tuples of sums."""
    return reduce(added, sums)


def _measured(part: Partition, measure: Callable[[Panel], Sums], memory: int | None) -> Sums:
    with in_worker(memory):
        return Whole(part.panel).total(measure)


def _sampled(part: Partition, last: tuple[int, int] | None) -> Partition | None:
    return part if last is None else sampled(part, last)


@contextmanager
def in_worker(memory: int | None) -> Iterator[None]:
    """Work in one thread, and within the memory that was said, or half of what the worker has."""
    from distributed import get_worker

    limit = get_worker().memory_manager.memory_limit
    budget = memory or (int(limit) // 2 if limit else None)
    with within_memory(budget), in_threads(1), one_thread_each():
        yield
