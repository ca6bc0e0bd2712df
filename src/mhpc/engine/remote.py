"""The engine on a Dask cluster: workers read, learn, conclude and write, a partition at a time."""

import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import duckdb

from mhpc.consolidate.fitted import Fitted, concluded
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.registry import make_method
from mhpc.core.arrays import Sparse
from mhpc.core.consolidation import Consolidation, Top
from mhpc.core.decision import Settled
from mhpc.core.model import Model
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress
from mhpc.core.tally import Tally
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import Truth
from mhpc.decide.rule import LOOKED_AT
from mhpc.encode.gold import clamped
from mhpc.encode.labels import Unknown
from mhpc.engine.cluster import Distributed, all_added, in_worker
from mhpc.engine.crew import Crew
from mhpc.engine.finish import finish
from mhpc.engine.local import Here
from mhpc.engine.merge import merge, write_order
from mhpc.engine.partitions import Partition, Partitions, divided, load, shape_of
from mhpc.errors import UnreadableError, UnwritableError, WorkerError
from mhpc.read.model import read_model
from mhpc.read.repeats import LeftOut, tell_left_out
from mhpc.read.survey import Survey, survey_votes

PARTS = "parts"
"""Where, in the folder of the output, partitions are written before they are put together."""

_ROWS = 2_000_000
"""Votes of a partition at most: some hundred megabytes once they are encoded."""

_LEAST_ROWS = 100
"""Below so many a partition is not worth a task."""

_A_THREAD = 2
"""Partitions for each thread, so that those who are done sooner find more to do."""


@dataclass(frozen=True, eq=False)
class Remote:
    """Work on a cluster."""

    crew: Crew
    memory: int | None
    whole: bool = False

    def read(
        self,
        source: str,
        *,
        columns: Mapping[str, str],
        scope: str,
        folder: Path,
        format: str | None = None,  # noqa: A002 - as for read_votes
    ) -> Survey:
        """Look through the votes; what is not Parquet becomes so, where workers can read it."""
        (folder / PARTS).mkdir()
        kept = folder / PARTS / ".votes.parquet"
        return survey_votes(source, columns=columns, scope=scope, keep=kept, format=format)

    def encode(
        self,
        votes: Survey,
        taxonomy: Taxonomy,
        *,
        unknown: Unknown,
        gold: Truth | None,
        earlier: Model | None,
        progress: Progress,
    ) -> "There":
        """Let workers read and encode partitions, and keep them."""
        count = _partitions(votes.rows, self.crew.threads)
        whole = divided(votes, taxonomy, count=count, unknown=unknown, gold=gold, earlier=earlier)
        carried = self.crew.carried(whole)
        loaded = [self.crew.submit(_loaded, carried, part) for part in range(count)]
        facts = self.crew.outcomes(
            self.crew.each(_facts, loaded),
            tell=lambda done: progress("encoding", done, count),
        )
        _refuse_other_hashes(facts, votes.rows)
        tell_left_out((each for found in facts for each in found.left_out), votes.origin)
        parts = Distributed(
            self.crew,
            tuple(part for part, found in zip(loaded, facts, strict=True) if found.instances),
            shape_of(whole),
            sum(found.instances for found in facts),
            self._memory_each(),
        )
        return There(parts)

    def _memory_each(self) -> int | None:
        """Return what a worker may take: on this machine they share what was said."""
        if self.memory is None or not self.crew.started:
            return self.memory
        return self.memory // max(1, self.crew.threads)


@dataclass(frozen=True, eq=False)
class There:
    """Partitions on workers."""

    parts: Distributed

    @property
    def shape(self) -> Panel:
        """A panel without instances."""
        return self.parts.shape

    def for_method(self, method: MethodParameters, folder: Path) -> "There | Here":
        """Bring all votes here for a method that needs them at once."""
        if not method.needs_all(self.parts.instances):
            return self
        panel = self.parts.sample(self.parts.instances)
        shutil.rmtree(folder / PARTS)
        return Here(panel)

    def learn(self, method: MethodParameters, *, progress: Progress) -> Consolidation:
        """Let the method learn from all, and return what it concludes of a sample."""
        fitted = method.learnt(self.parts, progress=progress)
        return self._of_sample(method, fitted, most=LOOKED_AT)

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Return what the earlier run concludes of an instance: its rule is settled."""
        method = make_method(model.method, model.parameters)
        return self._of_sample(method, model.fitted, most=1)

    def seen(self, found: Consolidation) -> Consolidation:
        """Return what is a sample already."""
        return found

    def finish(
        self,
        folder: Path,
        found: Consolidation,
        settled: Settled,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> Tally:
        """Let every partition be written by a task, and put what they wrote together."""
        crew, here = self.parts.crew, folder / PARTS
        scope = crew.carried(scope)
        written = [
            crew.submit(
                _finished, part, f"{at:06d}", folder.absolute(), top, scope, self.parts.memory
            )
            for at, part in enumerate(self.parts.partitions)
        ]
        (tally,) = crew.outcome(
            crew.reduced(all_added, written),
            of=written,
            tell=self.parts.telling("scoring and writing", progress),
        )
        progress("putting parts together", 0, 0)
        merge(here, folder)
        shutil.rmtree(here)
        found_tally: Tally = tally
        return found_tally

    def _of_sample(self, method: MethodParameters, fitted: Fitted, *, most: int) -> Consolidation:
        panel = self.parts.sample(most)
        return clamped(concluded(method, fitted, panel), panel.gold)


@dataclass(frozen=True)
class _Facts:
    """What is to be known here of a partition that a worker holds."""

    instances: int
    rows: int
    left_out: tuple[LeftOut, ...]
    duckdb: str


def _partitions(rows: int, threads: int) -> int:
    most = max(_A_THREAD * threads, -(-rows // _ROWS))
    return max(1, min(most, rows // _LEAST_ROWS))


def _refuse_other_hashes(facts: list[_Facts], rows: int) -> None:
    """Refuse workers that divide votes in another way: some would be lost, some counted twice."""
    others = {found.duckdb for found in facts} - {duckdb.__version__}
    if others or sum(found.rows for found in facts) != rows:
        raise WorkerError(
            f"workers have DuckDB {', '.join(sorted(others)) or duckdb.__version__} and this "
            f"process has {duckdb.__version__}, or the votes changed meanwhile; "
            "install the same versions everywhere"
        )


def _loaded(whole: Partitions, part: int) -> Partition:
    missing = [path for path in whole.survey.files if not path.exists()]
    if missing:
        raise UnreadableError(
            f"{missing[0]} is not there for the worker on {platform.node()}, or not any more; "
            "votes, and OUT/, must be on storage that all workers share, and stay there"
        )
    return load(whole, part)


def _facts(part: Partition) -> _Facts:
    return _Facts(len(part.panel.instances), part.rows, part.left_out, duckdb.__version__)


def _finished(
    part: Partition,
    name: str,
    folder: Path,
    top: Top,
    scope: Sparse | None,
    memory: int | None,
) -> tuple[Tally]:
    """Conclude, decide and write; a task that is done twice does the same twice."""
    if not folder.is_dir():
        raise UnwritableError(
            f"{folder} is not there for the worker on {platform.node()}; OUT/ must be on storage "
            "that all workers share"
        )
    model, panel = _model(folder), part.panel
    with in_worker(memory), _whole(folder / PARTS / name) as here:
        method = make_method(model.method, model.parameters)
        found = clamped(concluded(method, model.fitted, panel), panel.gold)
        tally = finish(here, panel, found, model.settled, top=top, scope=scope)
        write_order(here, panel.instances, part.first)
    return (tally,)


@lru_cache(maxsize=1)
def _model(folder: Path) -> Model:
    return read_model(folder)


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Give a folder that appears under its name when all is in it, if none is there by then."""
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield beside
        if not target.exists():
            beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
