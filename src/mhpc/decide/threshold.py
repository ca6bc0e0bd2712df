"""The first rule: labels whose score reaches a level, with all their ancestors."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.core.arrays import Block, Sparse
from mhpc.core.consolidation import Consolidation, walk
from mhpc.core.hierarchy import raised
from mhpc.core.taxonomy import Taxonomy
from mhpc.decide.rule import Rule

LOOKED_AT = 20_000
"""Instances that a level is matched on at most: sets are then as large as wanted within 0.5 %."""

_ROUNDING = 1e-9
"""Scores that differ by less, relatively, differ by how they were computed alone."""


class Threshold(Rule):
    """Take every label whose score, or that of a label below it, reaches the level.

    The raw numbers of the paper's methods have no common scale, so without a level one is
    found: the level at which the sets are, on average, as large as the sources' answers with
    their ancestors. It needs no truth and changes no ranking.
    """

    name: ClassVar[str] = "threshold"

    level: Annotated[float, Field(gt=0)] | None = None
    """The lowest score that is enough; none: the method's own level, or else as many labels as
    sources give."""

    def settle(self, consolidation: Consolidation, *, labels_per_answer: float) -> "Level":
        """Find the level."""
        level = self.level or consolidation.level
        origin = "given" if self.level else "method" if level else "matched"
        if level is None:
            level = _level_for(consolidation, wanted=labels_per_answer)
        return Level(level, origin)


@dataclass(frozen=True)
class Level:
    """A level, and whether it is given, the method's or matched."""

    level: float
    level_from: str
    rule: str = Threshold.name

    @property
    def parameters(self) -> dict[str, Any]:
        """The level and where it is from."""
        return {"level": self.level, "level_from": self.level_from}

    def sets(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the labels that reach the level, and what they imply."""
        own = _reached(score, self.level)
        implied = (own @ taxonomy.closure.astype(np.int16)).tocsr()
        # 2 for all that is reached, less 1 where a label does so by itself.
        implied.data = np.full(implied.nnz, 2, dtype=np.int8)
        reason = (implied - own.astype(np.int8)).tocsr()
        reason.sort_indices()
        return reason


def _reached(score: Block, level: float) -> Sparse:
    """Return ones where a label reaches the level by itself."""
    if not isinstance(score, np.ndarray):
        at = np.flatnonzero(score.data >= level)
        ones = (np.ones(len(at), dtype=np.int16), score.indices[at])
        return sparse.csr_array((*ones, np.searchsorted(at, score.indptr)), shape=score.shape)
    row, label = np.nonzero(score >= level)
    ends = np.searchsorted(row, np.arange(len(score) + 1))
    return sparse.csr_array((np.ones(len(label), dtype=np.int16), label, ends), shape=score.shape)


def _level_for(consolidation: Consolidation, *, wanted: float) -> float:
    """Return the level that leaves the wanted number of labels an instance, ties included."""
    top, seen = np.zeros(0), 0
    for span in walk(consolidation, most=LOOKED_AT):
        best = raised(consolidation.score[span], consolidation.taxonomy)
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
