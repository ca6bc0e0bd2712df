"""Simple and support-weighted averaging of the answers."""

from dataclasses import dataclass, replace
from typing import ClassVar

from scipy import sparse

from mhpc.data.panel import Average, Panel, PanelPartitions, VotesKind, add_sums
from mhpc.data.scores import Scores
from mhpc.methods.base import PAPER, BaseMethod, Significance
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.mhpc.algorithm import clopper_pearson_lower, count_occurrences
from mhpc.numerics.arrays import FloatArray
from mhpc.parameters import registered


class SA(BaseMethod):
    """Simple averaging: the mean answer of every instance, Y_bar of equation 6.

    The baseline to beat, and hard to beat with many independent sources. Costs one pass over the
    votes.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.SA(votes="augmented")).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "sa"
    summary: ClassVar[str] = "simple averaging"
    reference: ClassVar[str] = PAPER
    sparse: ClassVar[bool] = True

    votes: VotesKind = "raw"
    """Average the labels as given, or with all their ancestors."""

    average: Average = "answers"
    """Divide by the answers that an instance got, or by the number of sources, as in the paper."""

    def fit(self, partitions: PanelPartitions) -> FittedMethod:
        """Estimate nothing: the mean of an instance depends on its own answers alone."""
        return FittedSA(votes=self.votes, average=self.average)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedSA(FittedMethod, saved_as="sa.fitted"):
    """Mean answers."""

    votes: VotesKind
    average: Average

    def update(self, partitions: PanelPartitions) -> "FittedSA":
        """Return the same: nothing was estimated."""
        return self

    def predict(self, panel: Panel) -> Scores:
        """Return the mean answers, the same in both views."""
        mean = panel.mean(self.votes, self.average)
        return Scores(mean, mean)


class WA(BaseMethod):
    """Weighted averaging: the mean answer, every label multiplied by its support, Y_bar * S.

    Frequent labels move up, above all ancestors; within a label, instances are ranked as by SA.
    Costs one pass over the votes.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.WA()).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "wa"
    summary: ClassVar[str] = "averaging, each label weighted by its support"
    reference: ClassVar[str] = PAPER
    sparse: ClassVar[bool] = True

    votes: VotesKind = "raw"
    """Average the labels as given, or with all their ancestors."""

    average: Average = "answers"
    """Divide by the answers that an instance got, or by the number of sources, as in the paper."""

    alpha: Significance = 0.05
    """Significance level of the confidence bound that is the support."""

    def fit(self, partitions: PanelPartitions) -> FittedMethod:
        """Estimate the support of every label (equations 8 to 10)."""
        counts = LabelCounts(*partitions.sum(count_occurrences))
        return FittedWA(
            votes=self.votes, average=self.average, counts=counts, alpha=self.alpha,
            support=clopper_pearson_lower(counts.occurrences, counts.trials, alpha=self.alpha),
        )  # fmt: skip


@registered("wa.counts")
@dataclass(frozen=True, eq=False)
class LabelCounts:
    """How often each label occurs, and how many answers could contain it, (K,) each."""

    occurrences: FloatArray
    trials: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedWA(FittedMethod, saved_as="wa.fitted"):
    """Mean answers and the support of every label, (K,), with the counts that it comes from."""

    votes: VotesKind
    average: Average
    support: FloatArray
    counts: LabelCounts
    alpha: float

    def update(self, partitions: PanelPartitions) -> "FittedWA":
        """Return the support by the counts of all answers."""
        sums = add_sums(
            (self.counts.occurrences, self.counts.trials), partitions.sum(count_occurrences)
        )
        support = clopper_pearson_lower(*sums, alpha=self.alpha)
        return replace(self, support=support, counts=LabelCounts(*sums))

    def predict(self, panel: Panel) -> Scores:
        """Return the weighted mean answers, the same in both views."""
        support = sparse.diags_array(self.support, format="csr")
        mean = (panel.mean(self.votes, self.average) @ support).tocsr()
        return Scores(mean, mean)
