"""What `auto` decided about a panel: which methods it combined, how, and how far gold helped."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mhpc.parameters import registered

ScopeOrigin: TypeAlias = Literal["declared", "inferred", "rejected", "all"]
"""Where the labels that each source can give come from: the user; the answers; the answers, but
held-out answers were predicted worse with it, so that it was not used; or all labels for all."""


@registered("gold-calibration")
@dataclass(frozen=True)
class GoldCalibration:
    """How much gold labels improved the calibration of the scores.

    Attributes
    ----------
    instances : int
        The number of instances with gold labels.
    before, after : float
        The calibration error on the gold labels without them, and if scores are calibrated on one
        half of them and measured on the other.
    plausible : tuple of pairs of float
        What else the probabilities could be: slopes and shifts of their log odds. The first leads
        back to the probabilities without gold labels, the others to calibrations that gold labels
        leave plausible.
    """

    instances: int
    before: float
    after: float
    plausible: tuple[tuple[float, float], ...] = ()


@registered("combination")
@dataclass(frozen=True)
class Combination:
    """The methods that were combined, and what was found out about the panel.

    Attributes
    ----------
    members : tuple of str
        The names of the methods.
    single_label_share : float
        The share of the answers with labels that consist of one label, with its ancestors.
    one_truth_weight : float
        The weight of `one-truth` in the mean, which follows from that share.
    effective_sources : float
        How many independent sources the mean instance was answered by.
    answers_per_instance : float
        How many sources it was answered by.
    scope : "declared", "inferred", "rejected" or "all"
        Where the labels that each source can give come from.
    gold : GoldCalibration or None
        The effect of gold labels on the calibration, if there are enough of them.
    left_out : tuple of str
        The sources that were left out, since they add no information.
    """

    members: tuple[str, ...]
    single_label_share: float
    one_truth_weight: float
    effective_sources: float
    answers_per_instance: float
    scope: ScopeOrigin = "all"
    gold: GoldCalibration | None = None
    left_out: tuple[str, ...] = ()
