"""WA: averaging weighted by the support of labels."""

from typing import Annotated, ClassVar

from pydantic import Field
from scipy import sparse

from mhpc.consolidate.method import PAPER, MethodParameters
from mhpc.consolidate.support import label_support
from mhpc.core.consolidation import Consolidation
from mhpc.core.panel import Average, Panel, VotesKind
from mhpc.core.progress import Progress, silent


class WA(MethodParameters):
    """The mean answer with every label multiplied by its support: Y_bar * S.

    Labels that are often said, ancestors above all, move up; the order within a label stays
    that of SA. Costs one pass over the votes.
    """

    name: ClassVar[str] = "wa"
    summary: ClassVar[str] = "averaging, each label weighted by its support"
    reference: ClassVar[str] = PAPER

    votes: VotesKind = "raw"
    """Average the labels as said, or with all their ancestors."""

    average: Average = "answers"
    """Divide by the answers an instance got, or by the number of sources as the paper does."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Significance level of the support's confidence bound."""

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the weighted mean answers."""
        support = label_support(panel, alpha=self.alpha)
        mean = panel.mean(self.votes, self.average) @ sparse.diags_array(support, format="csr")
        return self.conclude(panel, mean)
