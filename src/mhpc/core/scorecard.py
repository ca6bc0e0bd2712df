"""Scorecard: how a consolidation fares against the truth."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mhpc.core.display import short_table

View: TypeAlias = Literal["closed", "specific"]
Ties: TypeAlias = Literal["pessimistic", "half", "strict"]


@dataclass(frozen=True)
class Score:
    """One metric's value, with all that is needed to compare it with another.

    Attributes
    ----------
    metric : str
        Its name.
    value : float
        Its value; nan where the truth leaves it undefined.
    better : "lower" or "higher"
        Which way is good.
    ties : str
        How a true and a false label of equal score are counted.
    """

    metric: str
    value: float
    better: Literal["lower", "higher"]
    ties: Ties


@dataclass(frozen=True)
class Scorecard:
    """The metrics of one consolidation in one view of the truth.

    ``view="closed"`` scores against the true labels and all their ancestors,
    ``view="specific"`` against the deepest true labels alone.
    """

    method: str
    view: View
    instances: int
    scores: tuple[Score, ...]

    def __getitem__(self, metric: str) -> float:
        return next(score.value for score in self.scores if score.metric == metric)

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def _repr_html_(self) -> str:
        told = f"{self.method}, {self.view} view, {self.instances:,} instances"
        rows = ((each.metric, float(each.value), each.better, each.ties) for each in self.scores)
        header = ("metric", "value", "better", "ties")
        return short_table(told, header, rows, total=len(self.scores))
