"""Scorecard: how a consolidation fares against the truth."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mhpc.system.display import short_table

View: TypeAlias = Literal["closed", "specific"]
Ties: TypeAlias = Literal["pessimistic", "half", "strict", "none"]


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
        How a true and a false label of equal score are counted; none where sets are measured.
    """

    metric: str
    value: float
    better: Literal["lower", "higher"]
    ties: Ties


@dataclass(frozen=True)
class LevelScore:
    """How label sets fare on one level of the hierarchy, all instances together.

    Attributes
    ----------
    level : int
        1 for roots.
    true, given : int
        How many labels of the level instances have, and were given.
    precision, recall, f : float
        The share of the given ones that are true, of the true ones that are given, and the
        harmonic mean of both; 0 where there are none to take a share of.
    """

    level: int
    true: int
    given: int
    precision: float
    recall: float
    f: float


@dataclass(frozen=True)
class Scorecard:
    """The metrics of one consolidation in one view of the truth.

    ``view="closed"`` scores against the true labels and all their ancestors,
    ``view="specific"`` against the deepest true labels alone. What is told of label sets, in
    `sets` and level by level, is the same in both; empty where nothing was decided.
    """

    method: str
    view: View
    instances: int
    scores: tuple[Score, ...]
    sets: tuple[Score, ...] = ()
    levels: tuple[LevelScore, ...] = ()

    def __getitem__(self, metric: str) -> float:
        found = [score for score in (*self.scores, *self.sets) if score.metric == metric]
        if not found:
            raise KeyError(metric)
        return found[0].value

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def _repr_html_(self) -> str:
        told = f"{self.method}, {self.view} view, {self.instances:,} instances"
        rows = ((each.metric, float(each.value), each.better, each.ties) for each in self.scores)
        header = ("metric", "value", "better", "ties")
        return short_table(told, header, rows, total=len(self.scores))
