"""WA: averaging weighted by the support of labels."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field
from scipy import sparse

from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.method import PAPER, MethodParameters
from mhpc.consolidate.support import support_in
from mhpc.core.arrays import FloatArray
from mhpc.core.panel import Average, Panel, VotesKind
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress, silent
from mhpc.core.views import Views


class WA(MethodParameters):
    """The mean answer with every label multiplied by its support: Y_bar * S.

    Labels that are often said, ancestors above all, move up; the order within a label stays
    that of SA. Costs one pass over the votes.
    """

    name: ClassVar[str] = "wa"
    summary: ClassVar[str] = "averaging, each label weighted by its support"
    reference: ClassVar[str] = PAPER
    sparse: ClassVar[bool] = True

    votes: VotesKind = "raw"
    """Average the labels as said, or with all their ancestors."""

    average: Average = "answers"
    """Divide by the answers an instance got, or by the number of sources as the paper does."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Significance level of the support's confidence bound."""

    def fit(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Learn the support of the labels."""
        support = support_in(parts, alpha=self.alpha)
        return _Weighted(votes=self.votes, average=self.average, support=support)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Weighted(Fitted):
    votes: VotesKind
    average: Average
    support: FloatArray

    def views(self, panel: Panel) -> Views:
        support = sparse.diags_array(self.support, format="csr")
        mean = (panel.mean(self.votes, self.average) @ support).tocsr()
        return Views(mean, mean)
