"""The outcome of comparing methods: how well each predicts held-out answers."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mhpc.data.scorecard import Scorecard, View
from mhpc.parameters import registered


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
