"""What sources are worth: the change without each of them, groups of duplicates, cost curves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mhpc.data.profiles import Proportion
from mhpc.errors import pluralize
from mhpc.system.display import Shown, ShownTable, percent


class Accuracy(NamedTuple):
    """How well label sets match gold labels.

    Attributes
    ----------
    exact_match : float
        The share of the instances with gold labels that have exactly these labels.
    f : float
        The mean F between label sets and gold labels, both with ancestors.
    """

    exact_match: float
    f: float


@dataclass(frozen=True)
class SourceContribution:
    """How much the result depends on one source.

    Attributes
    ----------
    source : str
        Its id.
    answers : int
        The number of instances that it answered.
    changed : float or None
        The share of all label sets that change without it; None if it was not measured.
    agreement : float or None
        The mean F between the label sets with and without it, over all instances.
    instances : int
        The number of instances that it answered on which both were measured.
    alone : float
        The share of its answers whose most specific labels are exactly those of the label set: how
        often it alone would give the same result; nan if it did not answer.
    group : int or None
        The position of its group of near-duplicates; None if it is in none.
    accuracy : Accuracy or None
        The accuracy without it on gold labels; None without gold labels.
    """

    source: str
    answers: int
    changed: float | None
    agreement: float | None
    instances: int
    alone: float
    group: int | None = None
    accuracy: Accuracy | None = None


@dataclass(frozen=True)
class SourceTree:
    """Single linkage of sources by their dependence.

    Attributes
    ----------
    sources : tuple of str
        The sources in an order in which no branches cross; of many, the most dependent ones.
    merges : tuple of (int, int, float)
        Two joined nodes and their dependence, the most dependent first. Nodes below the number of
        these sources are their positions here; the others are earlier merges, in their order.
    """

    sources: tuple[str, ...]
    merges: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class PanelPoint:
    """One point of a curve of quality against cost.

    Attributes
    ----------
    sources : int
        The number of sources that are left.
    dropped : tuple of str
        The sources that were left out in this step.
    cost : float
        The sum of the prices of their answers.
    agreement : float
        The mean F between their label sets and those of all sources.
    quality : Proportion
        With gold labels the mean F against them, else the agreement, with its 95 % interval.
    """

    sources: int
    dropped: tuple[str, ...]
    cost: float
    agreement: float
    quality: Proportion


@dataclass(frozen=True, repr=False)
class SourceContributions(Shown):
    """What `mhpc.source_contributions` returns.

    Attributes
    ----------
    sources : tuple of SourceContribution
        One entry per source, those whose absence changes most first.
    effective_sources, answers_per_instance : float
        How many independent sources the mean instance was answered by, and how many sources.
    groups : tuple of tuples of str
        Near-duplicates: sources that are linked by a dependence of at least 0.95.
    correlated : tuple of tuples of str
        Sources that are linked by a dependence above 0.5.
    tree : SourceTree
        Single linkage of the sources by their dependence.
    curve : tuple of PanelPoint
        Quality against cost, from all sources to one; empty if it was not measured.
    kept : tuple of str
        The cheapest panel of the curve with at least `keep` of the quality of all sources.
    kept_point : PanelPoint or None
        Its point on the curve.
    keep : float
        The share of the quality that the panel to keep must have.
    instances : int
        The number of instances on which the curve was measured.
    gold : int
        The number of instances with gold labels on which accuracy was measured.
    accuracy : Accuracy or None
        The accuracy of all sources together; None without gold labels.
    has_prices : bool
        Whether prices were given; otherwise every answer costs 1.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "bee", "bob": "bee", "cid": "ant"}, "2": {"ann": "ant", "bob": "ant"}}
    >>> result = mhpc.consolidate(votes, ["ant", "bee"], method="majority")
    >>> mhpc.source_contributions(result)
    SourceContributions(3 sources worth 2.5, 1 to keep)
    """

    sources: tuple[SourceContribution, ...]
    effective_sources: float
    answers_per_instance: float
    groups: tuple[tuple[str, ...], ...] = ()
    correlated: tuple[tuple[str, ...], ...] = ()
    tree: SourceTree = SourceTree((), ())
    curve: tuple[PanelPoint, ...] = ()
    kept: tuple[str, ...] = ()
    kept_point: PanelPoint | None = None
    keep: float = 0.95
    instances: int = 0
    gold: int = 0
    accuracy: Accuracy | None = None
    has_prices: bool = False

    def shown_tables(self) -> Iterator[ShownTable]:
        """Return one row per source, those whose absence changes most first."""
        yield ShownTable(
            f"{pluralize(len(self.sources), 'source')}, worth {self.effective_sources:.1f} "
            "independent ones per instance",
            ("source", "answers", "label sets that change without it", "same result alone"),
            [
                (each.source, each.answers, _percent(each.changed), percent(each.alone))
                for each in self.sources
            ],
            len(self.sources),
        )

    def __repr__(self) -> str:
        kept = f", {len(self.kept)} to keep" if self.kept else ""
        return (
            f"SourceContributions({pluralize(len(self.sources), 'source')} worth "
            f"{self.effective_sources:.1f}{kept})"
        )


def _percent(share: float | None) -> str:
    return "" if share is None else percent(share)
