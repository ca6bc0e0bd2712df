"""SA: simple averaging."""

from dataclasses import dataclass
from typing import ClassVar

from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.method import PAPER, MethodParameters
from mhpc.core.panel import Average, Panel, VotesKind
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress, silent
from mhpc.core.views import Views


class SA(MethodParameters):
    """The mean answer of every instance: Y_bar of equation 6.

    The baseline to beat, and hard to beat with many independent sources. Costs one pass over
    the votes.
    """

    name: ClassVar[str] = "sa"
    summary: ClassVar[str] = "simple averaging"
    reference: ClassVar[str] = PAPER
    sparse: ClassVar[bool] = True

    votes: VotesKind = "raw"
    """Average the labels as said, or with all their ancestors."""

    average: Average = "answers"
    """Divide by the answers an instance got, or by the number of sources as the paper does."""

    def fit(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Learn nothing."""
        return _Mean(votes=self.votes, average=self.average)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Mean(Fitted):
    votes: VotesKind
    average: Average

    def views(self, panel: Panel) -> Views:
        mean = panel.mean(self.votes, self.average)
        return Views(mean, mean)
