"""SA, WA."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field
from scipy import sparse

from mhpc.data.panel import Average, Panel, PanelPartitions, VotesKind
from mhpc.data.scores import Scores
from mhpc.methods.base import PAPER, BaseMethod, FittedMethod
from mhpc.methods.mhpc.algorithm import support_in
from mhpc.numerics.arrays import FloatArray
from mhpc.parameters import registered


class SA(BaseMethod):
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

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Learn nothing."""
        return FittedSA(votes=self.votes, average=self.average)


@registered("sa.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedSA(FittedMethod):
    """The mean needs nothing from other instances."""

    votes: VotesKind
    average: Average

    def predict(self, panel: Panel) -> Scores:
        """Return the scores of the panel's instances."""
        mean = panel.mean(self.votes, self.average)
        return Scores(mean, mean)


class WA(BaseMethod):
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

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Learn the support of the labels."""
        support = support_in(parts, alpha=self.alpha)
        return FittedWA(votes=self.votes, average=self.average, support=support)


@registered("wa.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedWA(FittedMethod):
    """The support of every label, estimated from all answers."""

    votes: VotesKind
    average: Average
    support: FloatArray

    def predict(self, panel: Panel) -> Scores:
        """Return the scores of the panel's instances."""
        support = sparse.diags_array(self.support, format="csr")
        mean = (panel.mean(self.votes, self.average) @ support).tocsr()
        return Scores(mean, mean)
