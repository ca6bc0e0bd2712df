"""Tally: what can be counted of sources, labels and label sets, some instances at a time."""

from dataclasses import dataclass

from mhpc.core.arrays import FloatArray, Sparse
from mhpc.core.conflicts import Contested


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts that add up over instances.

    Attributes
    ----------
    instances, chosen, without : int
        Instances, labels chosen for them, and how many got none.
    by_source : float array, (5, M)
        Answers; votes; their depths; most specific labels said that the label sets have, and those
        of these below which the sets have others.
    by_label : float array, (4, K)
        Answers that say the label itself; instances of which some answer says it or a label below
        it; instances whose set has it; instances on which it is in dispute.
    said, wrong : csr_array, (M, K)
        How often each source said each label as a most specific one, and how often the set does
        not have it.
    contested : Contested
        Where one more opinion is worth most.
    """

    instances: int
    chosen: int
    without: int
    by_source: FloatArray
    by_label: FloatArray
    said: Sparse
    wrong: Sparse
    contested: Contested

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
            self.by_label + other.by_label,
            self.said + other.said,
            self.wrong + other.wrong,
            self.contested + other.contested,
        )
