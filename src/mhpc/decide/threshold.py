"""The first rule: labels whose score reaches a level, with all their ancestors."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.core.consolidation import Consolidation, blocks
from mhpc.core.decision import Decision
from mhpc.core.hierarchy import raised
from mhpc.core.parameters import Parameters


class Threshold(Parameters):
    """Take every label whose score, or that of a label below it, reaches the level.

    The raw numbers of the paper's methods have no common scale, so without a level one is
    found: the level at which the sets are, on average, as large as the sources' answers with
    their ancestors. It needs no truth and changes no ranking.
    """

    name: ClassVar[str] = "threshold"

    level: Annotated[float, Field(gt=0)] | None = None
    """The lowest score that is enough; none: the method's own level, or else as many labels as
    sources give."""

    def decide(self, consolidation: Consolidation, *, labels_per_answer: float) -> Decision:
        """Return the label sets.

        Parameters
        ----------
        consolidation : Consolidation
            Its `score` decides.
        labels_per_answer : float
            Mean size of the sources' answers, ancestors included.
        """
        level = self.level or consolidation.level
        origin = "given" if self.level else "method" if level else "matched"
        if level is None:
            level = _level_for(consolidation, wanted=labels_per_answer)
        return Decision(
            taxonomy=consolidation.taxonomy,
            instances=consolidation.instances,
            reason=_chosen(consolidation, level),
            rule=self.name,
            parameters={"level": level, "level_from": origin},
        )


def _level_for(consolidation: Consolidation, *, wanted: float) -> float:
    """Return the level that leaves the wanted number of labels an instance, ties included."""
    total = max(1, round(wanted * len(consolidation.instances)))
    top = np.zeros(0)
    for _, block in blocks(consolidation.score):
        best = raised(block, consolidation.taxonomy)
        # Only the highest can decide the level, so that is all that is kept of a block.
        top = np.concatenate([top, best[best > 0]])
        if len(top) > total:
            top = np.partition(top, len(top) - total)[len(top) - total :]
    return float(top.min()) if len(top) else 1.0


def _chosen(consolidation: Consolidation, level: float) -> sparse.csr_array:
    parts = []
    for _, block in blocks(consolidation.score):
        chosen = raised(block, consolidation.taxonomy) >= level
        reason = np.where(block >= level, 1, 2).astype(np.int8)
        parts.append(sparse.csr_array(np.where(chosen, reason, 0)))
    return sparse.vstack(parts, format="csr")
