"""The outcome of comparing methods: candidates with their losses, and what was selected."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

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
        of these with their ancestors. There is one fold only if it was dropped after the first.
    seconds : float
        How long it took on all folds together.
    """

    name: str
    method: str
    parameters: Mapping[str, Any]
    specific: tuple[float, ...]
    closed: tuple[float, ...]
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
        How long it took on all answers.
    """

    name: str
    candidate: CandidateScore | None
    scorecards: tuple[Scorecard, ...]
    seconds: float


@registered("gold-calibration")
@dataclass(frozen=True)
class GoldCalibration:
    """How much gold labels improved the calibration of the scores.

    Attributes
    ----------
    instances : int
        The number of instances with gold labels.
    before : float
        The mean distance, over bins of scores, between score and share of true labels if scores
        are calibrated on held-out answers.
    after : float
        The same if they are calibrated on gold labels, one half of these on the other.
    """

    instances: int
    before: float
    after: float


@registered("selection")
@dataclass(frozen=True)
class Selection:
    """The candidates that were compared, and those that were selected.

    Attributes
    ----------
    candidates : tuple of CandidateScore
        All candidates, by their loss in the closed view, those dropped after one fold last. Empty
        if no answer could be held out.
    specific, closed : tuple of str
        The names of those whose mean is used in each view.
    folds : int
        The number of folds, gold labels included.
    reason : str
        Why these: a phrase such as "the best of 7 at predicting held-out sources (4-fold
        cross-validation)".
    seconds : float
        How long the selection took.
    gold : GoldCalibration or None
        The effect of gold labels on the calibration, if there are enough of them.
    held_out : "sources" or "answers"
        Whether whole sources were held out or, of many sources, single answers.
    """

    candidates: tuple[CandidateScore, ...]
    specific: tuple[str, ...]
    closed: tuple[str, ...]
    folds: int
    reason: str
    seconds: float
    gold: GoldCalibration | None = None
    held_out: Literal["sources", "answers"] = "sources"
