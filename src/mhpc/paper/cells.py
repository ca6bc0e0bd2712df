"""Cells of an experiment: votes, the methods to measure on them, and results kept on disk."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import mhpc
from mhpc.data.panel import Panel
from mhpc.data.scorecard import View
from mhpc.data.scores import Consolidation
from mhpc.data.votes import EncodedTruth
from mhpc.datasets.yeast import Split, load_yeast, yeast_file
from mhpc.encoding.gold import encode_truth
from mhpc.encoding.panel import encode
from mhpc.errors import silence_warnings
from mhpc.methods.base import Method
from mhpc.methods.mhpc import Smoothing
from mhpc.methods.registry import make_method
from mhpc.metrics.scorecard import METRICS, score
from mhpc.simulation.departments import Department, simulate_department
from mhpc.simulation.sources import Profile, simulate
from mhpc.system.checkpoints import CheckpointStore
from mhpc.system.display import Progress
from mhpc.system.parallel import process_map

if TYPE_CHECKING:
    pass

VIEWS: tuple[View, ...] = ("specific", "closed")
SHOWN = tuple(
    metric for metric in METRICS if metric.name in ("ranking_loss", "micro_auc", "coverage_error")
)
"""The paper's three metrics, in its order."""


@dataclass(frozen=True)
class YeastVotes:
    """Votes of simulated sources on the genes of one data set."""

    set: str
    split: Split
    sources: int
    seed: int
    specificity: float = Profile.specificity
    accuracy: float = Profile.accuracy

    def make(self, data: Path | None) -> tuple[Panel, EncodedTruth]:
        """Return the encoded votes and the truth."""
        known = load_yeast(self.set, self.split, data=data)
        profile = Profile(specificity=self.specificity, accuracy=self.accuracy)
        votes = simulate(known.truth, known.taxonomy, [profile] * self.sources, seed=self.seed)
        panel = encode(votes, known.taxonomy)
        return panel, encode_truth(known.truth, panel.taxonomy, panel.instances)

    def data_digest(self, data: Path | None) -> str:
        """Return a digest of the file that the votes are generated from."""
        with yeast_file(self.set, self.split, data=data).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class DepartmentVotes:
    """Votes of simulated doctors on the patients of one department."""

    set: str
    department: Department
    seed: int

    def make(self, data: Path | None) -> tuple[Panel, EncodedTruth]:
        """Return the encoded votes and the truth."""
        consultations = simulate_department(self.department, seed=self.seed)
        panel = encode(consultations.votes, consultations.taxonomy)
        return panel, encode_truth(consultations.truth, panel.taxonomy, panel.instances)

    def data_digest(self, data: Path | None) -> str:
        """Return an empty digest: these votes depend on no file."""
        return ""


@dataclass(frozen=True)
class Variant:
    """A method with some of its parameters set, and its name in tables."""

    label: str
    method: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def make(self) -> Method:
        """Return the method."""
        return make_method(self.method, dict(self.parameters))

    def get(self, parameter: str) -> Any:
        """Return the value of a parameter."""
        return getattr(self.make(), parameter)


@dataclass(frozen=True)
class Cell:
    """Votes, and the methods to measure on them.

    With `every_iteration`, iterative methods are measured after each solve.
    """

    votes: YeastVotes | DepartmentVotes
    variants: tuple[Variant, ...]
    every_iteration: bool = False

    def key(self, code: str, data: Path | None) -> str:
        """Return a key that changes with the cell, the code or the data."""
        facts = [asdict(self), code, self.votes.data_digest(data)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


Record: TypeAlias = dict[str, Any]
"""One measurement: variant (its position in the cell), view, metric and value; for measurements of
every iteration also iteration, spread and change."""


@dataclass(frozen=True)
class Task:
    """A cell and the folder of its data, as sent to a worker process."""

    cell: Cell
    data: Path | None


def measure(task: Task) -> list[Record]:
    """Measure all variants of a cell."""
    panel, truth = task.cell.votes.make(task.data)
    records = [
        {"panel": name, "value": value} for name, value in _describe_panel(panel, truth).items()
    ]
    with silence_warnings():
        # Some of these experiments are about methods that do not converge.
        for position, variant in enumerate(task.cell.variants):
            for consolidation in _iterate_consolidations(
                variant.make(), panel, task.cell.every_iteration
            ):
                records += [
                    {"variant": position, **record}
                    for record in _score_records(consolidation, truth, task)
                ]
    return records


def _iterate_consolidations(method: Method, panel: Panel, every: bool) -> Iterator[Consolidation]:
    if every and isinstance(method, Smoothing):
        yield from method.iterate(panel)
    else:
        yield method.consolidate(panel)


def _score_records(
    consolidation: Consolidation, truth: EncodedTruth, task: Task
) -> Iterator[Record]:
    latest = consolidation.trace[-1] if task.cell.every_iteration else None
    step = {} if latest is None else {
        "iteration": latest.iteration, "spread": latest.spread, "change": latest.change,
    }  # fmt: skip
    for view in VIEWS:
        for result in score(consolidation, truth, view=view, metrics=SHOWN):
            yield {"view": view, "metric": result.metric, "value": result.value, **step}


def _describe_panel(panel: Panel, truth: EncodedTruth) -> dict[str, float]:
    """Return the sizes that a page reports about the votes."""
    instances, sources, labels = len(panel.instances), len(panel.sources), len(panel.taxonomy)
    return {
        "instances": instances,
        "sources": sources,
        "labels": labels,
        "answers": len(panel.instance),
        "labels_per_answer": panel.raw.nnz / len(panel.instance),
        "share_of_labels_given": panel.raw.nnz / (instances * sources * labels),
        "true_labels": truth.specific.nnz / max(1, len(truth.rows)),
        "true_labels_closed": truth.closed.nnz / max(1, len(truth.rows)),
    }


@dataclass(frozen=True)
class Measured:
    """A cell and its measurements."""

    cell: Cell
    records: Sequence[Record]


_PACKAGES = (
    "data", "datasets", "encoding", "methods", "metrics", "numerics", "read", "simulation",
)  # fmt: skip
"""The packages whose code a figure depends on."""


def measure_cells(
    cells: Sequence[Cell],
    cache: CheckpointStore,
    *,
    data: Path | None,
    jobs: int,
    stage: str,
    progress: Progress,
) -> list[Measured]:
    """Return the records of every cell, measuring those that are not in the cache."""
    code = _code()
    keys = [cell.key(code, data) for cell in cells]
    finished = {key: records for key in keys if (records := cache.get(key)) is not None}
    open_cells = [(key, cell) for key, cell in zip(keys, cells, strict=True) if key not in finished]
    progress(stage, len(cells) - len(open_cells), len(cells))
    tasks = [Task(cell, data) for _, cell in open_cells]
    for position, records in process_map(measure, tasks, jobs=jobs):
        key = open_cells[position][0]
        cache.put(key, records)
        finished[key] = records
        progress(stage, len(finished), len(cells))
    return [Measured(cell, finished[key]) for key, cell in zip(keys, cells, strict=True)]


def _code() -> str:
    """Return a digest of the code that the figures depend on, ours and that of NumPy and SciPy."""
    digest = hashlib.sha256()
    root = Path(mhpc.__file__).parent
    for path in sorted(path for package in _PACKAGES for path in (root / package).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    digest.update((root / "paper" / "cells.py").read_bytes())
    for package in ("numpy", "scipy"):
        digest.update(version(package).encode())
    return digest.hexdigest()
