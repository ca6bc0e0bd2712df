"""Tally: what can be counted of sources and label sets, some instances at a time."""

from dataclasses import dataclass

from mhpc.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts that add up over instances.

    Attributes
    ----------
    instances, chosen, without : int
        Instances, labels chosen for them, and how many got none.
    by_source : float array, (6, M)
        Answers; votes; their depths; most specific labels said; those of them that the label sets
        have too; those of these below which the sets have others.
    """

    instances: int
    chosen: int
    without: int
    by_source: FloatArray

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return int(self.by_source[0].sum())

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.instances + other.instances,
            self.chosen + other.chosen,
            self.without + other.without,
            self.by_source + other.by_source,
        )
