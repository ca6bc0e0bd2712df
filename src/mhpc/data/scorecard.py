"""The metrics of a result measured against the truth."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mhpc.system.display import Shown, ShownTable

View: TypeAlias = Literal["closed", "specific"]
Ties: TypeAlias = Literal["pessimistic", "half", "strict", "none"]


@dataclass(frozen=True)
class Score:
    """The value of one metric, with all that is needed to compare it with another.

    Attributes
    ----------
    metric : str
        The name of the metric.
    value : float
        Its value; nan if it is undefined for this truth.
    better : "lower" or "higher"
        Which values are better.
    ties : str
        How a true and a false label with the same score are counted; "none" for metrics of label
        sets.
    """

    metric: str
    value: float
    better: Literal["lower", "higher"]
    ties: Ties


@dataclass(frozen=True)
class LevelScore:
    """The quality of label sets on one level of the taxonomy, over all instances.

    Attributes
    ----------
    level : int
        1 for roots.
    true, given : int
        How many labels of this level are true, and how many were given.
    precision, recall, f : float
        The share of given labels that are true, of true labels that were given, and their harmonic
        mean; 0 if there are none.
    """

    level: int
    true: int
    given: int
    precision: float
    recall: float
    f: float


@dataclass(frozen=True)
class Scorecard(Shown):
    """The metrics of one consolidation in one view of the truth.

    Attributes
    ----------
    method : str
        The name of the method.
    view : "closed" or "specific"
        Whether scores are compared with the true labels and all their ancestors, or with the
        deepest true labels only.
    instances : int
        The number of instances with a known truth.
    scores : tuple of Score
        The metrics of the scores.
    sets : tuple of Score
        The metrics of the label sets, the same in both views; empty without label sets.
    levels : tuple of LevelScore
        The quality of the label sets level by level.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> result = mhpc.consolidate(votes, taxonomy, method="majority")
    >>> mhpc.evaluate(result, {"1": "rose"})["micro_precision"]
    1.0
    """

    method: str
    view: View
    instances: int
    scores: tuple[Score, ...]
    sets: tuple[Score, ...] = ()
    levels: tuple[LevelScore, ...] = ()

    def __getitem__(self, metric: str) -> float:
        return {score.metric: score.value for score in (*self.scores, *self.sets)}[metric]

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def shown_tables(self) -> Iterator[ShownTable]:
        """Return the metrics of the scores and, where there are label sets, theirs."""
        yield ShownTable(
            f"{self.method}, {self.view} view, {self.instances:,} instances",
            ("metric", "value", "better", "ties"),
            [(each.metric, float(each.value), each.better, each.ties) for each in self.scores],
            len(self.scores),
        )
        if self.sets:
            yield ShownTable(
                "Label sets (labels with their ancestors)",
                ("metric", "value", "better"),
                [(each.metric, float(each.value), each.better) for each in self.sets],
                len(self.sets),
            )
