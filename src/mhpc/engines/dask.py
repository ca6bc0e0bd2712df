"""DaskEngine: the votes of a run in partitions, which the workers of a Dask cluster hold."""

import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from mhpc.data.decision import RULE_SAMPLE, FittedRule
from mhpc.data.index import Index
from mhpc.data.items import ITEM_COLUMNS
from mhpc.data.panel import Panel, SinglePartition, Sums, add_sums, labels_per_answer
from mhpc.data.scores import Consolidation, Top, select_instances
from mhpc.data.summary import Model, RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Policy, Truth
from mhpc.encoding.known_sources import KnownSources
from mhpc.engines.dask_cluster import DaskCluster
from mhpc.engines.local import LocalVotes, write_results
from mhpc.engines.partitions import (
    Partition,
    PartitionPlan,
    draw_lots,
    join_partitions,
    load_partition,
    make_template,
    plan_partitions,
    select_up_to,
)
from mhpc.errors import UnreadableError, UnwritableError, WorkerError
from mhpc.methods.base import BaseMethod
from mhpc.methods.memory import check_memory
from mhpc.model import read_model
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.read.options import ReadOptions
from mhpc.read.partitioned import VotesSurvey, survey_votes
from mhpc.read.votes import DroppedVotes, warn_dropped
from mhpc.rules.base import Rule
from mhpc.steps import apply_model, leave_out_gold, score
from mhpc.system.blas import single_threaded_blas
from mhpc.system.database import database, literal, some_files, writing
from mhpc.system.display import Progress, silent
from mhpc.system.files import atomic_path
from mhpc.system.memory import database_memory, memory_budget, use_memory_budget
from mhpc.system.parallel import limit_threads
from mhpc.write.run_folder import SCORES_FORMAT

ORDER = "order.parquet"
"""Where, in the folder of a partition, it is written which row each instance appears in first."""

PARTS = "parts"
"""Where, in the folder of the output, partitions are written before they are merged."""

MAX_ROWS = 2_000_000
"""Votes of a partition at most: some hundred megabytes once they are encoded."""

MIN_ROWS = 100
"""Votes below which a partition is not worth a task."""

PARTITIONS_PER_THREAD = 2
"""More than one, so that workers which finish early find more to do."""


@dataclass(frozen=True, eq=False)
class DaskEngine:
    """Works on a Dask cluster."""

    cluster: DaskCluster
    memory: int | None
    rule_sample: int = RULE_SAMPLE
    is_local: bool = False

    def read(
        self,
        source: str | Sequence[str],
        options: ReadOptions,
        *,
        scope: str,
        folder: Path,
    ) -> VotesSurvey:
        """Look through the votes; those that are not Parquet are converted for the workers."""
        (folder / PARTS).mkdir()
        converted = folder / PARTS / ".votes.parquet"
        return survey_votes(source, options, scope=scope, keep=converted)

    def encode(
        self,
        votes: VotesSurvey,
        taxonomy: Taxonomy,
        *,
        unknown: Policy,
        gold: Truth | None,
        earlier: KnownSources | None,
        progress: Progress,
    ) -> "DaskVotes":
        """Let workers read and encode partitions, and hold them."""
        count = _count_partitions(votes.rows, self.cluster.threads)
        plan = plan_partitions(
            votes, taxonomy, count=count, unknown=unknown, gold=gold, earlier=earlier
        )
        broadcast = self.cluster.broadcast(plan)
        loaded = [self.cluster.submit(_load, broadcast, number) for number in range(count)]
        facts = self.cluster.results(
            self.cluster.map(_describe, loaded),
            report=lambda done: progress("encoding", done, count),
        )
        _check_same_hashes(facts, votes.rows)
        warn_dropped((dropped for fact in facts for dropped in fact.dropped), votes.origin)
        filled = [part for part, fact in zip(loaded, facts, strict=True) if fact.instances]
        instances = sum(fact.instances for fact in facts)
        partitions = DaskPartitions(
            self.cluster, tuple(filled), make_template(plan), instances, self._worker_memory()
        )
        return DaskVotes(partitions, self.rule_sample)

    def _worker_memory(self) -> int | None:
        """Return what a worker may use: those of this machine share what was given."""
        if self.memory is None or not self.cluster.started:
            return self.memory
        return self.memory // max(1, self.cluster.threads)


@dataclass(frozen=True, eq=False)
class DaskVotes:
    """Partitions on workers."""

    partitions: "DaskPartitions"
    rule_sample: int = RULE_SAMPLE

    @property
    def template(self) -> Panel:
        """A panel without instances."""
        return self.partitions.template

    def place_for(self, method: BaseMethod, folder: Path) -> "DaskVotes | LocalVotes":
        """Fetch all votes for a method that needs them at once."""
        if not method.needs_all(self.partitions.instances):
            return self
        panel = self.partitions.sample(self.partitions.instances)
        shutil.rmtree(folder / PARTS)
        return LocalVotes(panel, self.rule_sample)

    def fit_and_score(self, method: BaseMethod, *, progress: Progress) -> Consolidation:
        """Fit a method to all partitions, and score a sample of the instances."""
        check_memory(method, self.partitions, scores_elsewhere=True)
        fitted = method.fit_used_labels(replace(self.partitions, progress=progress))
        return score(method, fitted, self.partitions.sample(self.rule_sample))

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Score one instance by the model of an earlier run, whose rule is fitted already.

        If there are negative votes and the earlier run had none, a sample shows what they count.
        """
        must_estimate = self.template.denials is not None and model.denial_weights is None
        return apply_model(model, self.partitions.sample(self.rule_sample if must_estimate else 1))

    def fit_rule(self, rule: Rule, scores: Consolidation) -> FittedRule:
        """Fit a rule to the scores, which are those of a sample, without gold instances."""
        if self.template.gold is not None:
            gold = self.partitions.sample(self.rule_sample).gold
            rows = np.arange(len(scores.instances))
            scores = select_instances(scores, leave_out_gold(rows, gold))
        return rule.fit(scores, labels_per_answer=labels_per_answer(self.partitions))

    def write_results(
        self,
        folder: Path,
        scores: Consolidation,
        rule: FittedRule,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> RunCounts:
        """Let every partition be scored and written by a task, and merge the files."""
        cluster, memory = self.partitions.cluster, self.partitions.memory
        scope = cluster.broadcast(scope)
        written = [
            cluster.submit(
                _write_partition, part, f"{number:06d}", folder.absolute(), top, scope, memory
            )
            for number, part in enumerate(self.partitions.partitions)
        ]
        (counts,) = cluster.result(
            cluster.reduce(add_all, written),
            of=written,
            report=self.partitions.reporter("scoring and writing", progress),
        )
        progress("merging the parts", 0, 0)
        merge_partitions(folder / PARTS, folder)
        shutil.rmtree(folder / PARTS)
        total: RunCounts = counts
        return total


@dataclass(frozen=True, eq=False)
class DaskPartitions:
    """Partitions in the memory of workers.

    Attributes
    ----------
    cluster : DaskCluster
        The workers.
    partitions : tuple of futures
        Of `Partition`. Each is made by a task that reads it, and made again if it is lost.
    template : Panel
        A panel without instances, with the taxonomy, sources and scope that all have.
    instances : int
        How many instances there are in all.
    memory : int or None
        Bytes that a worker may use.
    progress : callable
        Called while workers compute.
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
        """Return the sum of a statistic over all partitions, always added in the same order."""
        sums = self.cluster.map(
            _sum_partition, self.partitions, self.cluster.broadcast(statistic), self.memory
        )
        total: Sums = self.cluster.result(
            self.cluster.reduce(add_all, sums), of=sums, report=self.reporter(stage, self.progress)
        )
        return total

    def sample(self, n: int) -> Panel:
        """Return the panel of `n` instances, the same ones as `SinglePartition.sample` returns."""
        last = self._find_last_lot(n) if self.instances > n else None
        parts = self.cluster.results(self.cluster.map(_select, self.partitions, last))
        return join_partitions([part for part in parts if part is not None])

    def reporter(self, stage: str, progress: Progress) -> Callable[[int], None]:
        """Return a function that reports a stage, given how many partitions are done."""

        def report(done: int) -> None:
            if stage:
                share = done / len(self.partitions)
                progress(stage, int(share * self.instances), self.instances)

        report(0)
        return report

    def _find_last_lot(self, n: int) -> tuple[int, int]:
        """Return the lot and the first row of the last of `n` instances, by lot."""
        lots = self.cluster.results(self.cluster.map(draw_lots, self.partitions, n))
        lot, first_row = (np.concatenate(column) for column in zip(*lots, strict=True))
        last = np.lexsort((first_row, lot))[n - 1]
        return int(lot[last]), int(first_row[last])


def add_all(*sums: Sums) -> Sums:
    """Add several tuples of sums."""
    return reduce(add_sums, sums)


def _sum_partition(part: Partition, statistic: Callable[[Panel], Sums], memory: int | None) -> Sums:
    with in_worker(memory):
        return SinglePartition(part.panel).sum(statistic)


def _select(part: Partition, last: tuple[int, int] | None) -> Partition | None:
    return part if last is None else select_up_to(part, last)


@contextmanager
def in_worker(memory: int | None) -> Iterator[None]:
    """Use one thread, and the memory that was given or half of what the worker has."""
    from distributed import get_worker

    limit = get_worker().memory_manager.memory_limit
    budget = memory or (int(limit) // 2 if limit else None)
    with use_memory_budget(budget), limit_threads(1), single_threaded_blas():
        yield


@dataclass(frozen=True)
class _PartitionFacts:
    """What this process needs to know of a partition that a worker holds."""

    instances: int
    rows: int
    dropped: tuple[DroppedVotes, ...]
    duckdb: str


def _count_partitions(rows: int, threads: int) -> int:
    wanted = max(PARTITIONS_PER_THREAD * threads, -(-rows // MAX_ROWS))
    return max(1, min(wanted, rows // MIN_ROWS))


def _load(plan: PartitionPlan, number: int) -> Partition:
    missing = [path for path in plan.survey.files if not path.exists()]
    if missing:
        raise UnreadableError(
            f"{missing[0]} is not available to the worker on {platform.node()}; "
            "votes, and OUT/, must be on storage that all workers share, and stay there"
        )
    return load_partition(plan, number)


def _describe(part: Partition) -> _PartitionFacts:
    return _PartitionFacts(len(part.panel.instances), part.rows, part.dropped, duckdb.__version__)


def _check_same_hashes(facts: list[_PartitionFacts], rows: int) -> None:
    """Refuse workers that partition votes differently: some would be lost, some counted twice."""
    others = {fact.duckdb for fact in facts} - {duckdb.__version__}
    if others or sum(fact.rows for fact in facts) != rows:
        raise WorkerError(
            f"workers have DuckDB {', '.join(sorted(others)) or duckdb.__version__} and this "
            f"process has {duckdb.__version__}, or the votes changed in between; "
            "install the same versions everywhere"
        )


def _write_partition(
    part: Partition,
    name: str,
    folder: Path,
    top: Top,
    scope: Sparse | None,
    memory: int | None,
) -> tuple[RunCounts]:
    """Score, decide and write a partition; a task that is run twice does the same twice."""
    if not folder.is_dir():
        raise UnwritableError(
            f"{folder} is not there for the worker on {platform.node()}; OUT/ must be on storage "
            "that all workers share"
        )
    model, panel = _read_model(folder), part.panel
    with in_worker(memory), atomic_path(folder / PARTS / name, replace=False) as target:
        target.mkdir()
        scores = apply_model(model, panel)
        counts = write_results(target, panel, scores, model.rule, top=top, scope=scope)
        write_order(target, panel.instances, part.first_rows)
    return (counts,)


@lru_cache(maxsize=1)
def _read_model(folder: Path) -> Model:
    return read_model(folder)


def write_order(folder: Path, instances: Index, first_rows: IntArray) -> None:
    """Write the row in which each instance of a partition appears first."""
    columns = {"instance": np.array(instances.ids, object), "first": first_rows}
    with database(threads=1) as connection:
        connection.register("part", columns)
        connection.execute(f"COPY part TO {literal(str(folder / ORDER))} (FORMAT parquet)")


def merge_partitions(parts: Path, folder: Path) -> None:
    """Merge the ``scores.parquet``, ``labels.csv`` and ``items.csv`` of all partitions.

    Rows that do not fit into memory are sorted on disk.
    """
    folders = sorted(path for path in parts.iterdir() if not path.name.startswith("."))
    with writing(folder), database() as connection:
        connection.execute(f"SET memory_limit = '{database_memory(memory_budget())}B'")
        connection.execute(f"SET temp_directory = {literal(str(parts / '.sorting'))}")
        orders = some_files(path / ORDER for path in folders)
        connection.execute(f"CREATE TABLE places AS SELECT * FROM read_parquet({orders})")
        _merge_scores(connection, folders, folder / "scores.parquet")
        _merge_tables(connection, folders, folder / "labels.csv", ("instance", "label", "score"))
        _merge_tables(connection, folders, folder / "items.csv", ITEM_COLUMNS)


def _merge_scores(connection: duckdb.DuckDBPyConnection, folders: list[Path], target: Path) -> None:
    files = some_files(path / "scores.parquet" for path in folders)
    connection.execute(
        "COPY (SELECT instance, label, score, specific "
        f"FROM read_parquet({files}, file_row_number=true) JOIN places USING (instance) "
        "ORDER BY first, file_row_number) "
        f"TO {literal(str(target))} ({SCORES_FORMAT})"
    )


def _merge_tables(
    connection: duckdb.DuckDBPyConnection, folders: list[Path], target: Path, columns: Sequence[str]
) -> None:
    """Merge CSV files of all partitions, whose rows stay in order within an instance."""
    files = some_files(path / target.name for path in folders)
    kinds = ", ".join(f"'{column}': 'VARCHAR'" for column in columns)
    connection.execute(
        f"COPY (SELECT {', '.join(columns)} FROM (SELECT *, row_number() OVER () AS row "
        f"FROM read_csv({files}, auto_detect=false, header=true, delim=',', quote='\"', "
        f"escape='\"', hive_partitioning=false, columns={{{kinds}}})) JOIN places USING (instance) "
        f"ORDER BY first, row) TO {literal(str(target))} (FORMAT csv, HEADER)"
    )
