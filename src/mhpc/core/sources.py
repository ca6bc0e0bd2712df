"""SourceFacts: what can be said of one source."""

from dataclasses import dataclass


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
    agreement : float
        The share of what it said, ancestors included, that the result upholds; nan if nothing.
    """

    source: str
    answers: int
    coverage: float
    mean_depth: float
    agreement: float
