"""Tidy tables: one value a row, a mean over seeds beside what was published."""

import io
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mhpc.paper.cell import Cell, Record
from mhpc.paper.published import published_value
from mhpc.write.rows import write_rows

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


def facts_of(measured: Iterable[Measured], set_: str) -> dict[str, float]:
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
