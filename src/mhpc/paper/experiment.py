"""What an experiment is, and the words and numbers that all of them share."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from mhpc.consolidate.registry import METHODS, method_class
from mhpc.errors import counted
from mhpc.paper.cell import SHOWN, Cell, Variant
from mhpc.paper.page import Account
from mhpc.paper.published import published_lambda
from mhpc.paper.table import Measured, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    return counted(len(rows[0].values), "seed")


def words(names: Iterable[str]) -> str:
    """Return ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
