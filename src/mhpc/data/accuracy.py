"""The estimated accuracy of label sets that nobody reviewed."""

from collections.abc import Iterator
from dataclasses import dataclass

from mhpc.errors import pluralize
from mhpc.system.display import Shown, ShownTable, percent

HALF_WIDTH = 0.02
"""How narrow an interval is usually wanted: ±2 %."""


@dataclass(frozen=True)
class ShareEstimate:
    """An estimated share of instances, with a 95 % interval.

    Attributes
    ----------
    value, low, high : float
        The share, and the ends of the interval; nan, 0 and 1 if nothing was measured.
    measured : int
        The number of instances that were drawn at random and reviewed.
    others : int
        The number of instances that the share is estimated for, none of which was reviewed.
    power : float
        How many answers each of them is worth: 1, or more where what the scores predict helps.
    """

    value: float
    low: float
    high: float
    measured: int
    others: int
    power: float = 1.0


@dataclass(frozen=True)
class LevelAccuracy(ShareEstimate):
    """The same for the labels of one level of the taxonomy, 1 for roots.

    Only instances with a true or decided label on that level count; of the others, how many have
    one is estimated too.
    """

    level: int = 1


@dataclass(frozen=True, repr=False)
class Accuracy(ShareEstimate, Shown):
    """The estimated share of the other instances whose label sets are exactly right.

    Attributes
    ----------
    levels : tuple of LevelAccuracy
        The same for each level of the taxonomy.
    needed : int
        How many more instances must be drawn at random and reviewed until the interval is ±2 %;
        all others if no smaller number is enough.
    left_out : int
        Instances with known labels that were not drawn at random, so that they do not count.
    is_assumed : bool
        Whether the instances are only assumed to be drawn at random, for want of a column
        ``drawn``.
    curve : tuple of ShareEstimate
        The estimate after the first instances that were reviewed, then after more, up to all.

    Examples
    --------
    >>> import mhpc
    >>> votes = {str(number): {"ann": "rose", "bob": "rose"} for number in range(1000)}
    >>> result = mhpc.consolidate(votes, ["rose", "oak"], method="majority")
    >>> mhpc.estimate_accuracy(result, {str(number): "rose" for number in range(50)})
    Accuracy(100 %, 93 to 100 %, of 950 instances, from 50 drawn at random)
    """

    levels: tuple[LevelAccuracy, ...] = ()
    needed: int = 0
    left_out: int = 0
    is_assumed: bool = False
    curve: tuple[ShareEstimate, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Accuracy({format_share(self)}, of {pluralize(self.others, 'instance')}, from "
            f"{self.measured} drawn at random)"
        )

    def sentences(self) -> tuple[str, ...]:
        """Return the finding in words."""
        left_out = ""
        if self.left_out:
            left_out = f"{pluralize(self.left_out, 'instance')} not drawn at random left out. "
        if not self.others:
            return ("The labels of all instances are known, so that there is nothing to estimate.",)
        if not self.measured:
            return (f"{left_out}No instance was drawn at random, so nothing can be estimated.",)
        drawn = pluralize(self.measured, "instance")
        if self.is_assumed:
            verb = "was" if self.measured == 1 else "were"
            origin = f"if the {drawn} of the truth {verb} drawn at random"
        else:
            origin = f"from {drawn} drawn at random"
        levels = "; ".join(f"level {each.level}: {format_share(each)}" for each in self.levels)
        return (
            f"{left_out}Estimated for the other {pluralize(self.others, 'instance')}, {origin}: "
            f"all labels right in {format_share(self, interval='95 % interval ')}.",
            *((f"By level: {levels}.",) if levels else ()),
            self._describe_needed(),
        )

    def _describe_needed(self) -> str:
        width = percent(HALF_WIDTH)
        if self.needed == 0:
            return f"This is within ±{width}."
        if self.needed == self.others:
            return f"No sample of the others would narrow this to ±{width}; review them all."
        answers = pluralize(self.needed, "more random answer")
        return f"{answers} would narrow this to ±{width}."

    def shown_tables(self) -> Iterator[ShownTable]:
        """Return the finding in words, and the levels."""
        first, *more = self.sentences()
        yield ShownTable(" ".join([first, *more[-1:]]))
        if not self.levels:
            return
        yield ShownTable(
            "By level",
            ("level", "right", "low", "high", "measured"),
            [
                (each.level, percent(each.value), percent(each.low), percent(each.high),
                 each.measured)
                for each in self.levels
            ],
            len(self.levels),
        )  # fmt: skip


def format_share(estimate: ShareEstimate, interval: str = "") -> str:
    """Return ``71 %, 58 to 81 %``, or with the word interval ``71 % (95 % interval 58 to 81 %)``.

    Examples
    --------
    >>> format_share(ShareEstimate(0.714, 0.58, 0.81, 60, 1204))
    '71 %, 58 to 81 %'
    """
    if not estimate.measured or not estimate.others:
        return "not known"
    ends = f"{percent(estimate.low).removesuffix(' %')} to {percent(estimate.high)}"
    value = percent(estimate.value)
    return f"{value} ({interval}{ends})" if interval else f"{value}, {ends}"
