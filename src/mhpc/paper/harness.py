"""Cells, caching, tables over seeds."""

import hashlib
import io
import json
import statistics
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import mhpc
from mhpc.data.panel import Panel
from mhpc.data.scorecard import View
from mhpc.data.scores import Consolidation
from mhpc.data.votes import EncodedTruth
from mhpc.datasets.yeast import Split, load_yeast, yeast_file
from mhpc.encoding.gold import encode_truth
from mhpc.encoding.panel import encode
from mhpc.errors import MhpcWarning, pluralize
from mhpc.methods.base import Method
from mhpc.methods.mhpc import Smoothing
from mhpc.methods.registry import METHODS, make_method, method_class
from mhpc.metrics.scorecard import METRICS, score
from mhpc.paper.published import published_lambda, published_value
from mhpc.paper.render import Account
from mhpc.simulation.departments import Department, simulate_department
from mhpc.simulation.sources import Profile, simulate
from mhpc.system.display import Progress
from mhpc.system.files import temporary_folder
from mhpc.system.parallel import process_map
from mhpc.write.tables import write_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
        yield from method.iterate(panel)
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


COLUMNS = ("set", "method", "sources", "view", "metric", "value", "sd", "published")


@dataclass(frozen=True)
class Measured:
    """A cell and what was measured in it."""

    cell: Cell
    records: Sequence[Record]


@dataclass(frozen=True)
class Row:
    """A figure: the mean of what the seeds gave.

    `axes` are what an experiment varies beyond set, method and sources: columns at the end of
    its table. `values` are the single runs, in the order of the seeds.
    """

    set: str
    method: str
    sources: int | None
    view: str
    metric: str
    values: tuple[float, ...]
    published: float | None = None
    axes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The mean."""
        return statistics.fmean(self.values)

    @property
    def sd(self) -> float | None:
        """The standard deviation between seeds."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


Axes = Callable[[Cell, Record], Mapping[str, Any]]


def tabulate(measured: Iterable[Measured], axes: Axes = lambda cell, record: {}) -> list[Row]:
    """Return the means over seeds of everything else that differs."""
    rows: dict[tuple[Any, ...], Row] = {}
    for each in measured:
        votes = each.cell.votes
        for record in each.records:
            if "panel" in record:
                continue
            row = Row(
                votes.set,
                each.cell.variants[record["variant"]].label,
                getattr(votes, "sources", None),
                record["view"],
                record["metric"],
                (record["value"],),
                axes=axes(each.cell, record),
            )
            key = (row.set, row.method, row.sources, row.view, row.metric, *row.axes.values())
            before = rows.get(key)
            rows[key] = replace(row, values=before.values + row.values) if before else row
    return [replace(row, published=_published(row)) for row in rows.values()]


def profile_sources(measured: Iterable[Measured], set_: str) -> dict[str, float]:
    """Return what the votes on a set were like, in the mean over seeds."""
    found: dict[str, list[float]] = {}
    for each in measured:
        for record in each.records if each.cell.votes.set == set_ else ():
            if "panel" in record:
                found.setdefault(record["panel"], []).append(record["value"])
    return {name: statistics.fmean(values) for name, values in found.items()}


def as_csv(rows: Sequence[Row]) -> str:
    """Return the table as CSV."""
    axes = list(rows[0].axes) if rows else []
    cells = (
        [
            row.set, row.method, row.sources, row.view, row.metric, row.value, row.sd,
            row.published, *row.axes.values(),
        ]
        for row in rows
    )  # fmt: skip
    text = io.StringIO()
    write_rows(text, (*COLUMNS, *axes), cells)
    return text.getvalue()


def _published(row: Row) -> float | None:
    """Return the printed figure; the paper's figures are in the specific view."""
    if row.view != "specific":
        return None
    return published_value(row.set, row.method, row.sources, row.metric)


_PACKAGES = (
    "data", "datasets", "encoding", "methods", "metrics", "numerics", "read", "simulation",
)  # fmt: skip
"""The packages whose code a figure depends on."""


@dataclass(frozen=True)
class ResultCache:
    """A folder of finished cells, a file each."""

    folder: Path

    def get(self, key: str) -> list[Record] | None:
        """Return what a cell gave, or None if it is not finished."""
        try:
            found: list[Record] = json.loads((self.folder / f"{key}.json").read_text("utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return found

    def put(self, key: str, records: Sequence[Record]) -> None:
        """Keep what a cell gave; a file appears whole or not at all."""
        with temporary_folder(".writing-", inside=self.folder) as beside:
            (beside / "cell").write_text(json.dumps(records), encoding="utf-8")
            (beside / "cell").replace(self.folder / f"{key}.json")


def measured_cells(
    cells: Sequence[Cell],
    kept: ResultCache,
    *,
    data: Path | None,
    jobs: int,
    stage: str,
    progress: Progress,
) -> list[Measured]:
    """Return what every cell gave, working on those that are not finished."""
    code = _code()
    keys = [cell.key(code, data) for cell in cells]
    found = {key: records for key in keys if (records := kept.get(key)) is not None}
    open_cells = [(key, cell) for key, cell in zip(keys, cells, strict=True) if key not in found]
    progress(stage, len(cells) - len(open_cells), len(cells))
    tasks = [Task(cell, data) for _, cell in open_cells]
    for at, records in process_map(measure, tasks, jobs=jobs):
        key = open_cells[at][0]
        kept.put(key, records)
        found[key] = records
        progress(stage, len(found), len(cells))
    return [Measured(cell, found[key]) for key, cell in zip(keys, cells, strict=True)]


def _code() -> str:
    """Return what the figures depend on besides cells and data: our numerics and theirs."""
    digest = hashlib.sha256()
    root = Path(mhpc.__file__).parent
    for path in sorted(path for package in _PACKAGES for path in (root / package).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    digest.update((root / "paper" / "harness.py").read_bytes())
    for package in ("numpy", "scipy"):
        digest.update(version(package).encode())
    return digest.hexdigest()


METRIC_ORDER = tuple(metric.name for metric in SHOWN)
PAPERS_METHODS = ("sa", "wa", "mlcm", "mpc-u", "mhpc")
COMPARED = tuple(name for name in METHODS if name != "auto")
"""Methods of which each stands for itself; auto is one or some of them each time."""


class Experiment(Protocol):
    """Cells to measure, and what to make of them."""

    name: ClassVar[str]
    title: ClassVar[str]
    figure_text: ClassVar[str]

    def cells(self, seeds: Sequence[int]) -> list[Cell]:
        """Return the work, the longest first."""
        ...

    def rows(self, measured: Sequence[Measured]) -> list[Row]:
        """Return the tidy table."""
        ...

    def draw(self, rows: Sequence[Row]) -> "Figure":
        """Return the figure."""
        ...

    def tell(self, rows: Sequence[Row], measured: Sequence[Measured]) -> Account:
        """Return what came of it, beside what was published."""
        ...


def all_methods(set_: str) -> tuple[Variant, ...]:
    """Return every registered method, with the lambda that the paper chose for the set."""
    lam = ("lam", published_lambda(set_))
    return tuple(
        Variant(name, name, (lam,) if "lam" in method_class(name).model_fields else ())
        for name in COMPARED
    )


def select(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """Return the rows with these values, of columns or of axes."""
    return [
        row
        for row in rows
        if all(row.axes.get(name, getattr(row, name, None)) == at for name, at in wanted.items())
    ]


def only(rows: Iterable[Row], **wanted: object) -> Row:
    """Return the one row with these values."""
    (row,) = select(rows, **wanted)
    return row


def shown(metric: str, value: float | None) -> str:
    """Return a figure of ours: where it is a share, with one digit more than the paper prints."""
    if value is None:
        return "-"
    return f"{value:.2f}" if metric == "coverage_error" else f"{value:.4f}"


def printed(value: float | None) -> str:
    """Return a published figure with the digits that the paper prints."""
    return "-" if value is None else f"{value:.3f}"


def with_sd(row: Row) -> str:
    """Return ``mean ± sd``."""
    mean = shown(row.metric, row.value)
    return mean if row.sd is None else f"{mean} ± {shown(row.metric, row.sd)}"


def relative(row: Row) -> float:
    """Return how far a row is from the published figure, as a share of that."""
    if row.published is None:
        raise ValueError(f"nothing is published for {row}")
    return row.value / row.published - 1


def percent(share: float) -> str:
    """Return ``+3 %``, with a digit where less would say nothing."""
    return f"{100 * share:+.{0 if abs(share) >= 0.1 else 1}f} %"


def better(metric: str, ours: float, theirs: float) -> bool:
    """Tell whether the first figure is the better one."""
    return ours > theirs if metric == "micro_auc" else ours < theirs


def ranks(metric: str, values: Sequence[float]) -> list[int]:
    """Return the rank of every value, 1 the best; equal values share the better rank."""
    return [1 + sum(better(metric, other, value) for other in values) for value in values]


def seeds_of(rows: Sequence[Row]) -> str:
    """Return ``5 seeds``."""
    return pluralize(len(rows[0].values), "seed")


def words(names: Iterable[str]) -> str:
    """Return ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
