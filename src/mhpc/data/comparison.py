"""The outcome of comparing methods: how well each predicts held-out answers."""

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mhpc.data.scorecard import Scorecard, View
from mhpc.parameters import registered
from mhpc.system.display import Shown, ShownTable


@registered("candidate-score")
@dataclass(frozen=True)
class CandidateScore:
    """How well a method predicts held-out answers: a lower loss is better.

    Attributes
    ----------
    name : str
        The name of the candidate: the method, with the parameters that distinguish it.
    method, parameters
        As in `Consolidation`.
    specific, closed : tuple of float
        The mean loss on every fold, from 0 to 1, in each view: of the labels of the answers, and
        of these with their ancestors.
    instances : int
        How many instances it was measured on.
    seconds : float
        How long it took on all folds together.
    """

    name: str
    method: str
    parameters: Mapping[str, Any]
    specific: tuple[float, ...]
    closed: tuple[float, ...]
    instances: int
    seconds: float

    def loss(self, view: View) -> float:
        """Return the mean loss over the folds."""
        return statistics.fmean(self._losses(view))

    def standard_error(self, view: View) -> float:
        """Return the standard error of the mean loss; nan with one fold."""
        losses = self._losses(view)
        if len(losses) < 2:
            return math.nan
        return statistics.stdev(losses) / math.sqrt(len(losses))

    def _losses(self, view: View) -> tuple[float, ...]:
        return self.closed if view == "closed" else self.specific


@dataclass(frozen=True)
class Comparison:
    """A method in a comparison.

    Attributes
    ----------
    name : str
        The name of the method.
    candidate : CandidateScore or None
        How well it predicts held-out answers; None if no answer could be held out.
    scorecards : tuple of Scorecard
        Its metrics in both views; empty without a truth.
    seconds : float
        How long its fits and predictions took, all together.
    """

    name: str
    candidate: CandidateScore | None
    scorecards: tuple[Scorecard, ...]
    seconds: float


class Comparisons(Shown, tuple[Comparison, ...]):
    """What `mhpc.compare` returns: the methods in the order in which they were named.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "oak"}, "2": {"ann": "oak", "bob": "oak"}}
    >>> mhpc.compare(votes, ["rose", "oak"], ["majority", "sa"], jobs=1)[0].name
    'majority'
    """

    __slots__ = ()

    def shown_tables(self) -> Iterator[ShownTable]:
        """Return one row per method, the one that predicts held-out sources best first."""
        metrics = [
            (card.view, score.metric)
            for comparison in self[:1]
            for card in comparison.scorecards
            for score in (*card.scores, *(card.sets if card.view == "closed" else ()))
            if score.metric in ("ranking_loss", "hierarchical_f")
        ]
        ranked = sorted(self, key=_rank)
        yield ShownTable(
            "Methods by log-rank loss of predicted held-out sources, the best first",
            (
                "method", "loss, closed", "loss, specific",
                *(f"{metric.replace('_', ' ')}, {view}" for view, metric in metrics),
                "instances", "seconds",
            ),
            [
                (
                    comparison.name,
                    *(_format_loss(comparison.candidate, view) for view in _VIEWS),
                    *(_metric(comparison, view, metric) for view, metric in metrics),
                    "" if comparison.candidate is None else comparison.candidate.instances,
                    round(comparison.seconds, 2),
                )
                for comparison in ranked
            ],
            len(self),
        )  # fmt: skip


_VIEWS: tuple[View, ...] = ("closed", "specific")


def _rank(comparison: Comparison) -> tuple[int, float]:
    # Methods that were clearly worse were measured on fewer instances.
    candidate = comparison.candidate
    return (0, 0.0) if candidate is None else (-candidate.instances, candidate.loss("closed"))


def _format_loss(candidate: CandidateScore | None, view: View) -> str:
    if candidate is None:
        return ""
    error = candidate.standard_error(view)
    return f"{candidate.loss(view):.4f}" + ("" if error != error else f" ± {error:.4f}")


def _metric(comparison: Comparison, view: View, metric: str) -> str:
    card = next(card for card in comparison.scorecards if card.view == view)
    return f"{card[metric]:.4f}"
