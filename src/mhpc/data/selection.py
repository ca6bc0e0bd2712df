"""Choice: which candidates were judged, and what was chosen of them."""

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
    """A method and how surprising hidden answers are to it: less is better.

    Attributes
    ----------
    name : str
        The method with the parameters that make it this candidate.
    method, parameters
        As in `Consolidation`.
    specific, closed : tuple of float
        Mean surprise in every fold it was tried on, from 0 to 1: of labels as they were said, and
        of labels with their ancestors.
    seconds : float
        What trying it took, all folds together.
    """

    name: str
    method: str
    parameters: Mapping[str, Any]
    specific: tuple[float, ...]
    closed: tuple[float, ...]
    seconds: float

    def loss(self, view: View) -> float:
        """Return the mean over folds."""
        return statistics.fmean(self._folds(view))

    def standard_error(self, view: View) -> float:
        """Return the standard error of that mean; nan with one fold."""
        values = self._folds(view)
        if len(values) < 2:
            return math.nan
        return statistics.stdev(values) / math.sqrt(len(values))

    def _folds(self, view: View) -> tuple[float, ...]:
        return self.closed if view == "closed" else self.specific


@dataclass(frozen=True)
class Comparison:
    """A method in a comparison: judged without truth, and measured where truth is known.

    `candidate` is None where no answer could be hidden, `scorecards` empty without a truth.
    """

    name: str
    candidate: CandidateScore | None
    scorecards: tuple[Scorecard, ...]
    seconds: float


@registered("gold-calibration")
@dataclass(frozen=True)
class GoldCalibration:
    """What knowing some instances was worth: how far scores are off, before and after.

    `before` is the mean distance, over bins of scores, between score and share of true labels when
    scores are calibrated on answers; `after` when they are on gold, each half on the other.
    """

    instances: int
    before: float
    after: float


@registered("selection")
@dataclass(frozen=True)
class Selection:
    """What was chosen for each view, and from what.

    Attributes
    ----------
    candidates : tuple of Judged
        All that were tried, best first in the closed view.
    specific, closed : tuple of str
        Names of those whose mean is taken; one where a blend does not help.
    folds : int
        How many times a part of the answers was hidden.
    reason : str
        Why, in words.
    seconds : float
        What choosing took.
    gold : GoldGain or None
        What known instances were worth, where there are enough.
    """

    candidates: tuple[CandidateScore, ...]
    specific: tuple[str, ...]
    closed: tuple[str, ...]
    folds: int
    reason: str
    seconds: float
    gold: GoldCalibration | None = None
