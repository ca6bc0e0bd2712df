"""What is known about sources: their profiles in a result, their skill and dependence."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.errors import MissingExtraError, ParameterError, pluralize
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.parameters import check_count, registered, show_value
from mhpc.system.display import Shown, ShownTable, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class BySource:
    """Marks an array of a fitted method that has one row per source, and columns if it has pairs.

    ``Annotated[FloatArray, BySource()]`` is all that a class has to say, so that a model can be
    applied to votes of sources which it does not know.

    Attributes
    ----------
    new : float or None
        What the row of a new source is filled with; None: the mean of the known sources.
    pairs : bool
        Whether the array has one column per source as well.
    """

    new: float | None = None
    pairs: bool = False


SourceRelation: TypeAlias = Literal["near-duplicate", "correlated"]


class Proportion(NamedTuple):
    """A proportion and its 95 % interval; nan if there is nothing to count."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Weakness:
    """A subtree of the taxonomy in which a source errs more than elsewhere.

    Of the `given` most specific labels that it gave there, at `label` or below, `wrong` are not in
    the result.
    """

    label: str
    given: int
    wrong: int


@dataclass(frozen=True)
class SourceProfile:
    """One row of ``sources.csv``.

    Attributes
    ----------
    source : str
        Its id.
    answers : int
        The number of instances that it answered.
    coverage : float
        Their proportion among all instances.
    mean_depth : float
        The mean level of the labels it gave, 1 at the top; nan if it gave none.
    accurate, vague, wrong : Proportion
        Of the most specific labels in an answer, on average: the result has the label and nothing
        below it; the result has the label and one below it; the result does not have the label.
        They add up to 1. Answers are what is counted, not labels: an answer with ten labels counts
        as much as one with a single label.
    independence : float
        The weight of its answers beside those of dependent sources: 1 if it is independent, 1/2 for
        each of two copies.
    nearest_source : str
        The source that it agrees with most beyond what skill explains; empty if with none.
    dependence : float
        The dependence between the two, from 0 to 1.
    relation : "near-duplicate", "correlated" or None
        To the nearest source: near-duplicate if the dependence is at least 0.95, correlated if it
        is above 0.5.
    weaknesses : tuple of Weakness
        Where in the taxonomy it errs more than elsewhere, the most significant first.
    same_set : float
        The proportion of its answers whose most specific labels are exactly those of the label set:
        how often the source alone would give the same result; nan if it did not answer.
    abstentions : int
        The number of instances that it was asked about but did not know.
    denials : int
        The number of its negative votes.
    rejected : int
        The number of its most specific labels that the result does not have.
    """

    source: str
    answers: int
    coverage: float
    mean_depth: float
    accurate: Proportion
    vague: Proportion
    wrong: Proportion
    independence: float
    nearest_source: str
    dependence: float
    relation: SourceRelation | None = None
    weaknesses: tuple[Weakness, ...] = ()
    same_set: float = math.nan
    abstentions: int = 0
    denials: int = 0
    rejected: int = 0


class SourceProfiles(Shown, tuple[SourceProfile, ...]):
    """The profiles of all sources, which print and notebooks show as a table.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "oak"}, "2": {"ann": "oak", "bob": "oak"}}
    >>> result = mhpc.consolidate(votes, ["rose", "oak"], method="majority")
    >>> [profile.source for profile in result.sources]
    ['ann', 'bob']
    """

    __slots__ = ()

    def shown_tables(self) -> Iterator[ShownTable]:
        """Return one row per source, those with the most answers first."""
        yield ShownTable(
            f"{pluralize(len(self), 'source')}: of their most specific labels, the shares that the "
            "result has, has more specifically, and rejects",
            (
                "source", "answers", "coverage", "accurate", "vague", "wrong", "95 % interval",
                "independence",
            ),
            [
                (
                    each.source, each.answers, percent(each.coverage),
                    *map(percent, (each.accurate.value, each.vague.value, each.wrong.value)),
                    " to ".join(filter(None, map(percent, each.wrong[1:]))),
                    round(each.independence, 2),
                )
                for each in _most_answers(self)
            ],
            len(self),
        )  # fmt: skip

    def plot(self, *, most: int = 30, ax: "Axes | None" = None) -> "Axes":
        """Draw the shares of accurate, vague and wrong labels of every source.

        Lines are the 95 % intervals of the shares that are accurate, from the left, and wrong, from
        the right. It needs matplotlib.

        Parameters
        ----------
        most : int
            How many sources to draw, those with the most answers.
        ax : Axes, optional
            Where to draw; by default a new figure.

        Examples
        --------
        >>> import mhpc
        >>> garden = mhpc.load_garden()
        >>> result = mhpc.consolidate(garden.votes, garden.taxonomy, method="majority")
        >>> axes = result.sources.plot()  # doctest: +SKIP
        """
        if ax is not None and not hasattr(ax, "barh"):
            raise ParameterError(f"ax = {show_value(ax)} is not allowed; give axes of matplotlib")
        shown = _most_answers(self)[: check_count("most", most)]
        # The first is drawn at the bottom; sources without a label, which are nan, go there.
        shown = sorted(
            shown, key=lambda each: (each.wrong.value == each.wrong.value, -_wrong(each))
        )
        ax = _new_axes(len(shown)) if ax is None else ax
        _draw_shares(ax, shown)
        _draw_intervals(ax, shown)
        ax.set_xlim(0, 1)
        ax.set_xlabel(
            "share of the most specific labels (answers in brackets; lines: 95 % intervals)"
        )
        ax.xaxis.set_major_formatter(lambda share, _: percent(share))
        if len(shown) < len(self):
            ax.set_title(
                f"the {len(shown)} sources with the most answers, of {len(self):,}", pad=24
            )
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return ax


_COLOURS = {"accurate": "#2a6f4e", "vague": "#c9a227", "wrong": "#b0521b"}


def _most_answers(profiles: Sequence[SourceProfile]) -> list[SourceProfile]:
    return sorted(profiles, key=lambda each: -each.answers)


def _wrong(profile: SourceProfile) -> float:
    return 0.0 if profile.wrong.value != profile.wrong.value else profile.wrong.value


def _new_axes(sources: int) -> "Axes":
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(
            "drawing needs matplotlib, which is not installed; pip install 'mhpc[report]'"
        ) from None
    _, ax = plt.subplots(figsize=(7.5, 1.3 + 0.32 * max(sources, 1)), layout="constrained")
    return ax


def _draw_shares(ax: "Axes", profiles: Sequence[SourceProfile]) -> None:
    """Draw three bars for each source, one after the other; ids are text, never formulas."""
    left = np.zeros(len(profiles))
    for kind, colour in _COLOURS.items():
        share = np.nan_to_num([getattr(profile, kind).value for profile in profiles])
        ax.barh(range(len(profiles)), share, left=left, color=colour, label=kind, height=0.72)
        left += share
    names = [f"{profile.source} ({profile.answers:,})" for profile in profiles]
    ax.set_yticks(range(len(profiles)), names, parse_math=False)


def _draw_intervals(ax: "Axes", profiles: Sequence[SourceProfile]) -> None:
    for row, profile in enumerate(profiles):
        _, low, high = profile.accurate
        ax.plot([low, high], [row + 0.12] * 2, color="black", linewidth=1.2)
        _, low, high = profile.wrong
        ax.plot([1 - low, 1 - high], [row - 0.12] * 2, color="black", linewidth=1.2)


@registered("source-dependence")
@dataclass(frozen=True, eq=False)
class SourceDependence:
    """How skilled sources are, and how far they depend on each other.

    Attributes
    ----------
    skill : float array, (M,)
        a, the correlation of the answers of a source with what is common to all sources.
    matrix : csr_array, (M, M)
        The dependence between two sources, in [0, 1]; 0 on the diagonal. Of many sources, few
        depend on each other.
    """

    skill: Annotated[FloatArray, BySource()]
    matrix: Annotated[Sparse, BySource(new=0.0, pairs=True)]

    @property
    def independence(self) -> FloatArray:
        """1 / (1 + summed dependence on all others), (M,): 1/2 for each of two copies."""
        return np.asarray(1.0 / (1.0 + np.asarray(self.matrix.sum(axis=1)).ravel()))

    @property
    def nearest(self) -> tuple[IntArray, FloatArray]:
        """The source that each depends on most, and how far, 0 if on none, (M,) each."""
        if not self.matrix.nnz:
            return np.zeros(len(self.skill), dtype=np.int64), np.zeros(len(self.skill))
        return (
            np.asarray(self.matrix.argmax(axis=1)).ravel(),
            np.asarray(self.matrix.max(axis=1).toarray()).ravel(),
        )


def independent_sources(n_sources: int) -> SourceDependence:
    """Return the dependence of equally skilled, independent sources."""
    return SourceDependence(np.ones(n_sources), sparse.csr_array((n_sources, n_sources)))
