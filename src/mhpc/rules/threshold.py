"""Threshold and MinProbability: all labels whose score, or whose probability, is high enough."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.decision import RULE_SAMPLE, ThresholdOrigin
from mhpc.data.hierarchy import propagate_up
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.numerics.arrays import FloatArray
from mhpc.rules.base import FittedThreshold, Rule, cost_of_missing, shift_threshold
from mhpc.rules.probability import IDENTITY, count_scores, fit_scale

_ROUNDING = 1e-9
"""Scores whose relative difference is smaller differ by rounding only."""


class Threshold(Rule):
    """Choose every label whose score, or that of a descendant, reaches the threshold.

    The raw scores of the paper's methods have no common scale. Without a threshold of its own or
    of the method, the rule uses the one at which label sets are, on average, as large as the
    sources' answers with their ancestors. That needs no truth and changes no ranking.

    A depth bias b divides the odds of the threshold by 2^b, or makes matched sets 2^b times as
    large; a larger one never removes a label. An instance gets no label if none reaches the
    threshold. If all answers are "none of these" and the method has no threshold, no instance gets
    any.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> rule = mhpc.Threshold(threshold=0.6)
    >>> mhpc.consolidate(votes, taxonomy, method="majority", rule=rule).labels["1"]
    ['flower']
    """

    name: ClassVar[str] = "threshold"

    threshold: Annotated[float, Field(gt=0)] | None = None
    """The lowest score of a label that is given; none: the method's own threshold or, if it has
    none, the one at which sets are as large as answers."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedThreshold:
        """Determine the threshold."""
        details = {"depth_bias": self.depth_bias}
        threshold = self.threshold or consolidation.threshold
        if threshold is None:
            wanted = labels_per_answer * cost_of_missing(self.depth_bias)
            matched = match_threshold(consolidation, labels_per_instance=wanted)
            return FittedThreshold(matched, "matched", self.name, details)
        origin: ThresholdOrigin = "given" if self.threshold else "method"
        return FittedThreshold(
            shift_threshold(threshold, self.depth_bias), origin, self.name, details
        )


def match_threshold(
    consolidation: Consolidation, *, labels_per_instance: float, sample: int = RULE_SAMPLE
) -> float:
    """Return the threshold that gives so many labels per instance on average, ties included.

    Parameters
    ----------
    consolidation : Consolidation
        The scores.
    labels_per_instance : float
        The wanted mean number of labels, ancestors included.
    sample : int
        About how many instances to look at.
    """
    if not labels_per_instance:
        return 1.0
    highest, n_instances = np.zeros(0), 0
    at_most = max(1, round(labels_per_instance * len(consolidation.instances)))
    for rows in instance_blocks(consolidation, sample=sample):
        scores = propagate_up(consolidation.score[rows], consolidation.taxonomy)
        values = np.asarray(scores.data if sparse.issparse(scores) else scores)
        n_instances += rows.stop - rows.start
        # Only the highest scores can be the threshold, so lower ones need not be kept.
        highest = _largest(np.concatenate([highest, values[values > 0]]), at_most)
    highest = _largest(highest, max(1, round(labels_per_instance * n_instances)))
    return float(highest.min()) * (1 - _ROUNDING) if len(highest) else 1.0


def _largest(values: FloatArray, n: int) -> FloatArray:
    """Return the n largest values, in any order; all if there are not as many."""
    return values if len(values) <= n else np.partition(values, len(values) - n)[-n:]


class MinProbability(Rule):
    """Go down from the roots to every child that is probable enough.

    An answer ends at the label none of whose children reaches the threshold; it is empty if no
    root does. Scores that are not probabilities are put on a scale on which as many labels are
    expected as sources give (`mhpc.rules.probability`), so that, other than in `Threshold`, a
    threshold means the same for every method. Probabilities never increase from parent to child:
    the parents of a label that reaches the threshold do so too, on a DAG as well, so that one
    comparison per score is exact.

    A depth bias b divides the odds of the threshold by 2^b; a larger one never removes a label.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> rule = mhpc.MinProbability(threshold=0.4)
    >>> mhpc.consolidate(votes, taxonomy, method="majority", rule=rule).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "min-probability"

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The lowest probability of a label that is given."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedThreshold:
        """Determine the score that has this probability."""
        scale = IDENTITY
        if not consolidation.is_probability:
            scale = fit_scale(count_scores(consolidation), labels_per_instance=labels_per_answer)
        threshold = scale.inverse(shift_threshold(self.threshold, self.depth_bias))
        details = {
            "min_probability": self.threshold,
            "depth_bias": self.depth_bias,
            "power": scale.power,
        }
        return FittedThreshold(threshold, "min-probability", self.name, details)
