"""What a method fits: enough to score any instances from their answers."""

from dataclasses import dataclass
from typing import Any

from mhpc.data.combination import Combination
from mhpc.data.panel import Panel
from mhpc.data.scores import Scores, Step
from mhpc.parameters import registered


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMethod:
    """What a method estimated from all answers: enough to score any instances from their answers.

    Attributes
    ----------
    trace, converged, threshold, is_probability, one_truth, combination, notes
        As in `Consolidation`.

    Notes
    -----
    A subclass is a frozen dataclass. Its class argument `saved_as` is its name in ``model.npz``,
    ``METHOD.fitted``; without it, a fitted method cannot be saved.
    """

    trace: tuple[Step, ...] = ()
    converged: bool = True
    threshold: float | None = None
    is_probability: bool = False
    one_truth: bool = False
    combination: Combination | None = None
    notes: tuple[str, ...] = ()

    def __init_subclass__(cls, *, saved_as: str = "", **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if saved_as:
            registered(saved_as)(cls)

    def predict(self, panel: Panel) -> Scores:
        """Return the scores of the panel's instances; 0 for instances without an answer."""
        raise NotImplementedError

    def count_computed(self, n_labels: int) -> int:
        """Return for how many of all labels scores are computed, which is what a block costs."""
        return n_labels
