"""A cell: the smallest piece of an experiment, which stands alone and is kept once done."""

import hashlib
import json
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mhpc.consolidate.method import Method
from mhpc.consolidate.registry import make_method
from mhpc.consolidate.smoothing import Smoothing
from mhpc.core.consolidation import Consolidation
from mhpc.core.panel import Panel
from mhpc.core.scorecard import View
from mhpc.core.truth import EncodedTruth
from mhpc.datasets.yeast import Split, load_yeast, yeast_file
from mhpc.encode.panel import encode
from mhpc.encode.truth import encode_truth
from mhpc.errors import MhpcWarning
from mhpc.evaluate.metrics import METRICS
from mhpc.evaluate.scorecard import score
from mhpc.simulate.departments import Department, simulate_department
from mhpc.simulate.sources import Profile, simulate

VIEWS: tuple[View, ...] = ("specific", "closed")
SHOWN = tuple(
    metric for metric in METRICS if metric.name in ("ranking_loss", "micro_auc", "coverage_error")
)
"""The paper's three metrics, in its order."""


@dataclass(frozen=True)
class YeastVotes:
    """What simulated sources say of the genes of one set."""

    set: str
    split: Split
    sources: int
    seed: int
    specificity: float = Profile.specificity
    accuracy: float = Profile.accuracy

    def make(self, data: Path | None) -> tuple[Panel, EncodedTruth]:
        """Return the encoded votes and the truth beside them."""
        known = load_yeast(self.set, self.split, data=data)
        profile = Profile(specificity=self.specificity, accuracy=self.accuracy)
        votes = simulate(known.truth, known.taxonomy, [profile] * self.sources, seed=self.seed)
        panel = encode(votes, known.taxonomy)
        return panel, encode_truth(known.truth, panel.taxonomy, panel.instances)

    def made_from(self, data: Path | None) -> str:
        """Return what these votes depend on besides what is written here."""
        with yeast_file(self.set, self.split, data=data).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class DepartmentVotes:
    """What simulated doctors say of the patients of one department."""

    set: str
    department: Department
    seed: int

    def make(self, data: Path | None) -> tuple[Panel, EncodedTruth]:
        """Return the encoded votes and the truth beside them."""
        found = simulate_department(self.department, seed=self.seed)
        panel = encode(found.votes, found.taxonomy)
        return panel, encode_truth(found.truth, panel.taxonomy, panel.instances)

    def made_from(self, data: Path | None) -> str:
        """Return what these votes depend on besides what is written here: nothing."""
        return ""


@dataclass(frozen=True)
class Variant:
    """A method with some of its parameters set, and what tables call it."""

    label: str
    method: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def make(self) -> Method:
        """Return the method."""
        return make_method(self.method, dict(self.parameters))

    def get(self, parameter: str) -> Any:
        """Return the value that a parameter has here."""
        return getattr(self.make(), parameter)


@dataclass(frozen=True)
class Cell:
    """Votes, and the methods to measure on them.

    With `every_iteration`, methods that iterate are measured after each of their solves.
    """

    votes: YeastVotes | DepartmentVotes
    variants: tuple[Variant, ...]
    every_iteration: bool = False

    def key(self, code: str, data: Path | None) -> str:
        """Return a name that changes whenever the outcome could: with cell, code or data."""
        facts = [asdict(self), code, self.votes.made_from(data)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


Record: TypeAlias = dict[str, Any]
"""One measurement: variant (its position in the cell), view, metric, value; with iterations also
iteration, spread and change."""


@dataclass(frozen=True)
class Task:
    """A cell and where its data are, as it is sent to a worker."""

    cell: Cell
    data: Path | None


def measure(task: Task) -> list[Record]:
    """Do the work of a cell."""
    panel, truth = task.cell.votes.make(task.data)
    records = [{"panel": name, "value": value} for name, value in _facts(panel, truth).items()]
    with warnings.catch_warnings():
        # Whether an iteration settled is what some of these experiments are about.
        warnings.simplefilter("ignore", MhpcWarning)
        for at, variant in enumerate(task.cell.variants):
            for found in _consolidations(variant.make(), panel, task.cell.every_iteration):
                records += [{"variant": at, **record} for record in _measured(found, truth, task)]
    return records


def _consolidations(method: Method, panel: Panel, every: bool) -> Iterator[Consolidation]:
    if every and isinstance(method, Smoothing):
        yield from method.iterations(panel)
    else:
        yield method.consolidate(panel)


def _measured(found: Consolidation, truth: EncodedTruth, task: Task) -> Iterator[Record]:
    latest = found.trace[-1] if task.cell.every_iteration else None
    step = {} if latest is None else {
        "iteration": latest.iteration, "spread": latest.spread, "change": latest.change,
    }  # fmt: skip
    for view in VIEWS:
        for each in score(found, truth, view=view, metrics=SHOWN):
            yield {"view": view, "metric": each.metric, "value": each.value, **step}


def _facts(panel: Panel, truth: EncodedTruth) -> dict[str, float]:
    """Return what a reader wants to know about the votes."""
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
