"""What an experiment is, and the rows and texts that its table, figure and page are made of."""

import io
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from mhpc.errors import pluralize
from mhpc.methods.registry import METHODS, method_class
from mhpc.paper.published import published_lambda, published_value
from mhpc.paper.render import ExperimentReport
from mhpc.write.tables import write_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from mhpc.paper.cells import SHOWN, Cell, Measured, Record, Variant

METRIC_ORDER = tuple(metric.name for metric in SHOWN)
PAPER_METHODS = ("sa", "wa", "mlcm", "mpc-u", "mhpc")
COMPARED = tuple(name for name in METHODS if name != "auto")
"""All methods but auto, which is a selection of them."""


COLUMNS = ("set", "method", "sources", "view", "metric", "value", "sd", "published")


@dataclass(frozen=True)
class Row:
    """One figure of a table: the mean over seeds.

    `axes` holds what an experiment varies besides set, method and sources; these are the last
    columns of its table. `values` are the single runs, in the order of the seeds.
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
    """Return one row per combination of everything but the seed."""
    rows: dict[tuple[Any, ...], Row] = {}
    for result in measured:
        votes = result.cell.votes
        for record in result.records:
            if "panel" in record:
                continue
            row = Row(
                votes.set,
                result.cell.variants[record["variant"]].label,
                getattr(votes, "sources", None),
                record["view"],
                record["metric"],
                (record["value"],),
                axes=axes(result.cell, record),
            )
            key = (row.set, row.method, row.sources, row.view, row.metric, *row.axes.values())
            before = rows.get(key)
            rows[key] = replace(row, values=before.values + row.values) if before else row
    return [replace(row, published=_published(row)) for row in rows.values()]


def describe_votes(measured: Iterable[Measured], set_: str) -> dict[str, float]:
    """Return the sizes of the votes on a set, as means over seeds."""
    sizes: dict[str, list[float]] = {}
    for result in measured:
        for record in result.records if result.cell.votes.set == set_ else ():
            if "panel" in record:
                sizes.setdefault(record["panel"], []).append(record["value"])
    return {name: statistics.fmean(values) for name, values in sizes.items()}


def to_csv(rows: Sequence[Row]) -> str:
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
    """Return the published figure of a row; the paper uses the specific view."""
    if row.view != "specific":
        return None
    return published_value(row.set, row.method, row.sources, row.metric)


class Experiment(Protocol):
    """One experiment: the cells to measure, and the table, figure and report made of them."""

    name: ClassVar[str]
    title: ClassVar[str]
    figure_text: ClassVar[str]

    def cells(self, seeds: Sequence[int]) -> list[Cell]:
        """Return the cells to measure, the slowest first."""
        ...

    def rows(self, measured: Sequence[Measured]) -> list[Row]:
        """Return the tidy table."""
        ...

    def draw(self, rows: Sequence[Row]) -> "Figure":
        """Return the figure."""
        ...

    def report(self, rows: Sequence[Row], measured: Sequence[Measured]) -> ExperimentReport:
        """Return the findings beside the published ones."""
        ...


def all_methods(set_: str) -> tuple[Variant, ...]:
    """Return every registered method, with the lambda that the paper chose for the set."""
    lam = ("lam", published_lambda(set_))
    return tuple(
        Variant(name, name, (lam,) if "lam" in method_class(name).model_fields else ())
        for name in COMPARED
    )


def select(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """Return the rows that have these values in their columns or axes."""
    return [
        row
        for row in rows
        if all(
            row.axes.get(name, getattr(row, name, None)) == value for name, value in wanted.items()
        )
    ]


def only(rows: Iterable[Row], **wanted: object) -> Row:
    """Return the only row that has these values."""
    (row,) = select(rows, **wanted)
    return row


def format_value(metric: str, value: float | None) -> str:
    """Format a figure of ours, with one digit more than the paper prints for a proportion."""
    if value is None:
        return "-"
    return f"{value:.2f}" if metric == "coverage_error" else f"{value:.4f}"


def format_published(value: float | None) -> str:
    """Format a published figure with the digits that the paper prints."""
    return "-" if value is None else f"{value:.3f}"


def format_mean(row: Row) -> str:
    """Format a row as ``mean ± sd``."""
    mean = format_value(row.metric, row.value)
    return mean if row.sd is None else f"{mean} ± {format_value(row.metric, row.sd)}"


def relative(row: Row) -> float:
    """Return the relative difference from the published figure."""
    if row.published is None:
        raise ValueError(f"nothing is published for {row}")
    return row.value / row.published - 1


def format_percent(share: float) -> str:
    """Format a proportion as ``+3 %``, with one decimal below 10 %."""
    return f"{100 * share:+.{0 if abs(share) >= 0.1 else 1}f} %"


def better(metric: str, ours: float, theirs: float) -> bool:
    """Return whether the first figure is better than the second."""
    return ours > theirs if metric == "micro_auc" else ours < theirs


def ranks(metric: str, values: Sequence[float]) -> list[int]:
    """Rank values, 1 being the best; equal values share the better rank."""
    return [1 + sum(better(metric, other, value) for other in values) for value in values]


def count_seeds(rows: Sequence[Row]) -> str:
    """Return ``5 seeds``."""
    return pluralize(len(rows[0].values), "seed")


def join_words(names: Iterable[str]) -> str:
    """Join names as ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
