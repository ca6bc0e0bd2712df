"""Threshold and Sure."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.decision import RULE_SAMPLE
from mhpc.data.hierarchy import propagate_up
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.rules.base import FittedThreshold, Rule, cost_of_missing, shift_threshold
from mhpc.rules.expected_f import count, scale_for

_ROUNDING = 1e-9
"""Scores that differ by less, relatively, differ by how they were computed alone."""


class Threshold(Rule):
    """Take every label whose score, or that of a label below it, reaches the level.

    The raw numbers of the paper's methods have no common scale, so without a level one is
    found: the level at which the sets are, on average, as large as the sources' answers with
    their ancestors. It needs no truth and changes no ranking.

    A depth bias b divides the odds of the level by 2^b, or makes matched sets 2^b times as large;
    a larger one never loses a label. An instance of which no label reaches the level has none. If
    all sources said "none of these" of everything and the method has no level, none has any.
    """

    name: ClassVar[str] = "threshold"

    threshold: Annotated[float, Field(gt=0)] | None = None
    """The lowest score that is enough; none: the method's own level, or else as many labels as
    sources give."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedThreshold:
        """Find the level."""
        level = self.threshold or consolidation.threshold
        origin = "given" if self.threshold else "method" if level else "matched"
        if level is None:
            wanted = labels_per_answer * cost_of_missing(self.depth_bias)
            level = _level_for(consolidation, wanted=wanted)
        else:
            level = shift_threshold(level, self.depth_bias)
        return FittedThreshold(level, origin, self.name, {"depth_bias": self.depth_bias})


def _level_for(consolidation: Consolidation, *, wanted: float) -> float:
    """Return the level that leaves the wanted number of labels an instance, ties included."""
    if not wanted:
        return 1.0
    top, seen = np.zeros(0), 0
    for span in instance_blocks(consolidation, sample=RULE_SAMPLE):
        best = propagate_up(consolidation.score[span], consolidation.taxonomy)
        values = np.asarray(best.data if sparse.issparse(best) else best)
        seen += span.stop - span.start
        # Only the highest can decide the level, so that is all that is kept of a block; what is
        # not among them now will not be when more are seen.
        top = np.concatenate([top, values[values > 0]])
        total = max(1, round(wanted * len(consolidation.instances)))
        if len(top) > total:
            top = np.partition(top, len(top) - total)[len(top) - total :]
    total = max(1, round(wanted * seen))
    if len(top) > total:
        top = np.partition(top, len(top) - total)[len(top) - total :]
    return float(top.min()) * (1 - _ROUNDING) if len(top) else 1.0


class MinProbability(Rule):
    """Go down from the roots to every child whose probability reaches the level, and stop above.

    Where no child of a label reaches the level, its answer ends there; where no root does, it is
    none. Probabilities are scores on a scale on which as many labels are expected as sources give
    (`mhpc.rules.expected_f`), so that a level means the same for every method; that is what
    `threshold` does not do. They never rise from parent to child: what reaches the level has
    all its parents there, on a DAG too, and going down is a comparison a score, exact.

    A depth bias b divides the odds of the level by 2^b; a larger one never loses a label.
    """

    name: ClassVar[str] = "min-probability"

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """How probable a label must be."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedThreshold:
        """Find the score that means the level."""
        scale = scale_for(count(consolidation), wanted=labels_per_answer)
        level = scale.score_at(shift_threshold(self.threshold, self.depth_bias))
        found = {
            "min_probability": self.threshold,
            "depth_bias": self.depth_bias,
            "power": scale.power,
        }
        return FittedThreshold(level, "min-probability", self.name, found)
