"""SourceFacts: what can be said of one source."""

from dataclasses import dataclass
from typing import NamedTuple


class Share(NamedTuple):
    """A share and its 95 % interval; nan where there is nothing to have a share of."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SourceFacts:
    """One row of ``sources.csv``.

    Attributes
    ----------
    source : str
        Its id.
    answers : int
        Instances it answered.
    coverage : float
        The share of all instances that is.
    mean_depth : float
        Mean level of the labels it gave, 1 the top; nan if it gave none.
    reliability : Share
        How much of what it said, most specific labels alone, the result upholds.
    vagueness : Share
        How much of that the result knows more precisely: it has a label below it.
    voice : float
        What its answers count beside those of its kin: 1 alone, 1/2 for each of two copies.
    kin : str
        The source that it is most alike beyond what skill explains; empty if to none.
    kinship : float
        How alike, from 0 to 1.
    """

    source: str
    answers: int
    coverage: float
    mean_depth: float
    reliability: Share
    vagueness: Share
    voice: float
    kin: str
    kinship: float
