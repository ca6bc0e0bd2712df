"""DaskEngine: partitions on workers."""

import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from mhpc.data.decision import RULE_SAMPLE, FittedRule
from mhpc.data.index import Index
from mhpc.data.panel import Panel, SinglePartition, Sums, add_sums, labels_per_answer
from mhpc.data.scores import Consolidation, Top
from mhpc.data.summary import Model, RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Unknown
from mhpc.engines.dask_cluster import DaskCluster
from mhpc.engines.local import LocalVotes, write_results
from mhpc.engines.partitions import (
    Partition,
    PartitionPlan,
    drawn,
    joined,
    load,
    plan_partitions,
    sampled,
    shape_of,
)
from mhpc.errors import UnreadableError, UnwritableError, WorkerError
from mhpc.methods.base import BaseMethod
from mhpc.methods.memory import check_memory
from mhpc.model import read_model
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.read.partitioned import VotesSurvey, survey_votes
from mhpc.read.votes import DroppedVotes, warn_dropped
from mhpc.rules.base import Rule
from mhpc.steps import apply_model, score
from mhpc.system.database import database, literal, some_files, writing
from mhpc.system.display import Progress, silent
from mhpc.system.files import atomic_path
from mhpc.system.memory import memory_budget, use_memory_budget
from mhpc.system.parallel import limit_threads, single_threaded_blas


@dataclass(frozen=True, eq=False)
class DaskPartitions:
    """Partitions in the memory of workers, as parts.

    Attributes
    ----------
    crew : Crew
        The workers.
    partitions : tuple of futures
        Of `Partition`, each made by a task that reads it, and made again where it is lost.
    template : Panel
        A panel without instances, otherwise as all are.
    instances : int
        How many instances there are in all.
    memory : int or None
        Bytes that work may take in a worker.
    progress : callable
        Where a method reports how far it is.
    """

    cluster: DaskCluster
    partitions: tuple[Any, ...]
    template: Panel
    instances: int
    memory: int | None = None
    progress: Progress = silent

    @property
    def taxonomy(self) -> Taxonomy:
        """The labels."""
        return self.template.taxonomy

    @property
    def sources(self) -> Index:
        """The sources."""
        return self.template.sources

    def sum(self, statistic: Callable[[Panel], Sums], *, stage: str = "") -> Sums:
        """Sum over all partitions, some at a time and always in the same order."""
        sums = self.cluster.each(
            _measured, self.partitions, self.cluster.broadcast(statistic), self.memory
        )
        found: Sums = self.cluster.outcome(
            self.cluster.reduced(all_added, sums), of=sums, tell=self.telling(stage, self.progress)
        )
        return found

    def sample(self, n: int) -> Panel:
        """Return what `SinglePartition.sample` returns of all instances in memory."""
        last = self._last_lot(n) if self.instances > n else None
        some = self.cluster.outcomes(self.cluster.each(_sampled, self.partitions, last))
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
        found = self.cluster.outcomes(self.cluster.each(drawn, self.partitions, most))
        lot, first = (np.concatenate(column) for column in zip(*found, strict=True))
        at = np.lexsort((first, lot))[most - 1]
        return int(lot[at]), int(first[at])


def all_added(*sums: Sums) -> Sums:
    """Add up several tuples of sums."""
    return reduce(add_sums, sums)


def _measured(part: Partition, measure: Callable[[Panel], Sums], memory: int | None) -> Sums:
    with in_worker(memory):
        return SinglePartition(part.panel).sum(measure)


def _sampled(part: Partition, last: tuple[int, int] | None) -> Partition | None:
    return part if last is None else sampled(part, last)


@contextmanager
def in_worker(memory: int | None) -> Iterator[None]:
    """Work in one thread, and within the memory that was said, or half of what the worker has."""
    from distributed import get_worker

    limit = get_worker().memory_manager.memory_limit
    budget = memory or (int(limit) // 2 if limit else None)
    with use_memory_budget(budget), limit_threads(1), single_threaded_blas():
        yield


ORDER = "order.parquet"


def write_order(folder: Path, instances: Index, first: IntArray) -> None:
    """Write where each instance of a partition appears first."""
    with database(threads=1) as connection:
        connection.register("part", {"instance": np.array(instances.ids, object), "first": first})
        connection.execute(f"COPY part TO {literal(str(folder / ORDER))} (FORMAT parquet)")


def merge(parts: Path, folder: Path) -> None:
    """Write ``scores.parquet`` and ``labels.csv`` of all partitions' folders.

    Rows are sorted where they do not fit into memory too.
    """
    found = sorted(path for path in parts.iterdir() if not path.name.startswith("."))
    with writing(folder), database() as connection:
        # It would be drawn over our own, and in files that take standard error.
        connection.execute(f"SET memory_limit = '{memory_budget() // 1_000_000}MB'")
        connection.execute(f"SET temp_directory = {literal(str(parts / '.sorting'))}")
        orders = some_files(path / ORDER for path in found)
        connection.execute(f"CREATE TABLE places AS SELECT * FROM read_parquet({orders})")
        _merge_scores(connection, found, folder / "scores.parquet")
        _merge_labels(connection, found, folder / "labels.csv")


def _merge_scores(connection: duckdb.DuckDBPyConnection, parts: list[Path], target: Path) -> None:
    files = some_files(path / "scores.parquet" for path in parts)
    connection.execute(
        "COPY (SELECT instance, label, score, specific "
        f"FROM read_parquet({files}, file_row_number=true) JOIN places USING (instance) "
        "ORDER BY first, file_row_number) "
        f"TO {literal(str(target))} (FORMAT parquet, COMPRESSION zstd)"
    )


def _merge_labels(connection: duckdb.DuckDBPyConnection, parts: list[Path], target: Path) -> None:
    files = some_files(path / "labels.csv" for path in parts)
    columns = "{'instance': 'VARCHAR', 'label': 'VARCHAR', 'score': 'VARCHAR'}"
    connection.execute(
        "COPY (SELECT instance, label, score FROM (SELECT *, row_number() OVER () AS row "
        f"FROM read_csv({files}, auto_detect=false, header=true, delim=',', quote='\"', "
        f"escape='\"', hive_partitioning=false, columns={columns})) JOIN places USING (instance) "
        f"ORDER BY first, row) TO {literal(str(target))} (FORMAT csv, HEADER)"
    )


PARTS = "parts"
"""Where, in the folder of the output, partitions are written before they are put together."""

_ROWS = 2_000_000
"""Votes of a partition at most: some hundred megabytes once they are encoded."""

_LEAST_ROWS = 100
"""Below so many a partition is not worth a task."""

_A_THREAD = 2
"""Partitions for each thread, so that those who are done sooner find more to do."""


@dataclass(frozen=True, eq=False)
class DaskEngine:
    """Work on a cluster."""

    cluster: DaskCluster
    memory: int | None
    rule_sample: int = RULE_SAMPLE
    is_local: bool = False

    def read(
        self,
        source: str,
        *,
        columns: Mapping[str, str],
        scope: str,
        folder: Path,
        format: str | None = None,  # noqa: A002 - as for read_votes
    ) -> VotesSurvey:
        """Look through the votes; what is not Parquet becomes so, where workers can read it."""
        (folder / PARTS).mkdir()
        kept = folder / PARTS / ".votes.parquet"
        return survey_votes(source, columns=columns, scope=scope, keep=kept, format=format)

    def encode(
        self,
        votes: VotesSurvey,
        taxonomy: Taxonomy,
        *,
        unknown: Unknown,
        gold: Truth | None,
        earlier: Model | None,
        progress: Progress,
    ) -> "DaskVotes":
        """Let workers read and encode partitions, and keep them."""
        count = _partitions(votes.rows, self.cluster.threads)
        whole = plan_partitions(
            votes, taxonomy, count=count, unknown=unknown, gold=gold, earlier=earlier
        )
        broadcast = self.cluster.broadcast(whole)
        loaded = [self.cluster.submit(_loaded, broadcast, part) for part in range(count)]
        facts = self.cluster.outcomes(
            self.cluster.each(_facts, loaded),
            tell=lambda done: progress("encoding", done, count),
        )
        _check_same_hashes(facts, votes.rows)
        warn_dropped((each for found in facts for each in found.dropped), votes.origin)
        parts = DaskPartitions(
            self.cluster,
            tuple(part for part, found in zip(loaded, facts, strict=True) if found.instances),
            shape_of(whole),
            sum(found.instances for found in facts),
            self._memory_each(),
        )
        return DaskVotes(parts, self.rule_sample)

    def _memory_each(self) -> int | None:
        """Return what a worker may take: on this machine they share what was said."""
        if self.memory is None or not self.cluster.started:
            return self.memory
        return self.memory // max(1, self.cluster.threads)


@dataclass(frozen=True, eq=False)
class DaskVotes:
    """Partitions on workers."""

    partitions: DaskPartitions
    rule_sample: int = RULE_SAMPLE

    @property
    def template(self) -> Panel:
        """A panel without instances."""
        return self.partitions.template

    def place_for(self, method: BaseMethod, folder: Path) -> "DaskVotes | LocalVotes":
        """Bring all votes here for a method that needs them at once."""
        if not method.needs_all(self.partitions.instances):
            return self
        panel = self.partitions.sample(self.partitions.instances)
        shutil.rmtree(folder / PARTS)
        return LocalVotes(panel, self.rule_sample)

    def fit_and_score(self, method: BaseMethod, *, progress: Progress) -> Consolidation:
        """Let the method learn from all, and return what it concludes of a sample."""
        check_memory(method, self.partitions, scores_elsewhere=True)
        fitted = method.fit_checkpointed(replace(self.partitions, progress=progress))
        return score(method, fitted, self.partitions.sample(self.rule_sample))

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Return what the earlier run concludes of an instance: its rule is settled."""
        return apply_model(model, self.partitions.sample(1))

    def fit_rule(self, rule: Rule, scores: Consolidation) -> FittedRule:
        """Fit a rule to the scores, which are those of a sample."""
        return rule.fit(scores, labels_per_answer=labels_per_answer(self.partitions))

    def write_results(
        self,
        folder: Path,
        found: Consolidation,
        settled: FittedRule,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> RunCounts:
        """Let every partition be written by a task, and put what they wrote together."""
        cluster, here = self.partitions.cluster, folder / PARTS
        scope = cluster.broadcast(scope)
        written = [
            cluster.submit(
                _finished, part, f"{at:06d}", folder.absolute(), top, scope, self.partitions.memory
            )
            for at, part in enumerate(self.partitions.partitions)
        ]
        (tally,) = cluster.outcome(
            cluster.reduced(all_added, written),
            of=written,
            tell=self.partitions.telling("scoring and writing", progress),
        )
        progress("putting parts together", 0, 0)
        merge(here, folder)
        shutil.rmtree(here)
        found_tally: RunCounts = tally
        return found_tally


@dataclass(frozen=True)
class _Facts:
    """What is to be known here of a partition that a worker holds."""

    instances: int
    rows: int
    dropped: tuple[DroppedVotes, ...]
    duckdb: str


def _partitions(rows: int, threads: int) -> int:
    most = max(_A_THREAD * threads, -(-rows // _ROWS))
    return max(1, min(most, rows // _LEAST_ROWS))


def _check_same_hashes(facts: list[_Facts], rows: int) -> None:
    """Refuse workers that divide votes in another way: some would be lost, some counted twice."""
    others = {found.duckdb for found in facts} - {duckdb.__version__}
    if others or sum(found.rows for found in facts) != rows:
        raise WorkerError(
            f"workers have DuckDB {', '.join(sorted(others)) or duckdb.__version__} and this "
            f"process has {duckdb.__version__}, or the votes changed meanwhile; "
            "install the same versions everywhere"
        )


def _loaded(whole: PartitionPlan, part: int) -> Partition:
    missing = [path for path in whole.survey.files if not path.exists()]
    if missing:
        raise UnreadableError(
            f"{missing[0]} is not there for the worker on {platform.node()}, or not any more; "
            "votes, and OUT/, must be on storage that all workers share, and stay there"
        )
    return load(whole, part)


def _facts(part: Partition) -> _Facts:
    return _Facts(len(part.panel.instances), part.rows, part.dropped, duckdb.__version__)


def _finished(
    part: Partition,
    name: str,
    folder: Path,
    top: Top,
    scope: Sparse | None,
    memory: int | None,
) -> tuple[RunCounts]:
    """Conclude, decide and write; a task that is done twice does the same twice."""
    if not folder.is_dir():
        raise UnwritableError(
            f"{folder} is not there for the worker on {platform.node()}; OUT/ must be on storage "
            "that all workers share"
        )
    model, panel = _model(folder), part.panel
    with in_worker(memory), atomic_path(folder / PARTS / name, replace=False) as part_folder:
        part_folder.mkdir()
        scores = apply_model(model, panel)
        tally = write_results(part_folder, panel, scores, model.rule, top=top, scope=scope)
        write_order(part_folder, panel.instances, part.first)
    return (tally,)


@lru_cache(maxsize=1)
def _model(folder: Path) -> Model:
    return read_model(folder)
