"""SA: simple averaging."""

from typing import ClassVar

from mhpc.consolidate.method import PAPER, MethodParameters
from mhpc.core.consolidation import Consolidation
from mhpc.core.panel import Average, Panel, VotesKind
from mhpc.core.progress import Progress, silent


class SA(MethodParameters):
    """The mean answer of every instance: Y_bar of equation 6.

    The baseline to beat, and hard to beat with many independent sources. Costs one pass over
    the votes.
    """

    name: ClassVar[str] = "sa"
    summary: ClassVar[str] = "simple averaging"
    reference: ClassVar[str] = PAPER

    votes: VotesKind = "raw"
    """Average the labels as said, or with all their ancestors."""

    average: Average = "answers"
    """Divide by the answers an instance got, or by the number of sources as the paper does."""

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the mean answers."""
        return self.conclude(panel, panel.mean(self.votes, self.average))
