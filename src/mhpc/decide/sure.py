"""Sure: as deep as it is sure."""

from typing import Annotated, ClassVar

from pydantic import Field

from mhpc.core.consolidation import Consolidation
from mhpc.decide.bias import tilted
from mhpc.decide.level import Level
from mhpc.decide.rule import Rule
from mhpc.decide.scale import count, scale_for


class Sure(Rule):
    """Go down from the roots to every child whose probability reaches the level, and stop above.

    Where no child of a label reaches the level, its answer ends there; where no root does, it is
    none. Probabilities are scores on a scale on which as many labels are expected as sources give
    (`mhpc.decide.scale`), so that a level means the same for every method; that is what
    `threshold` does not do. They never rise from parent to child: what reaches the level has
    all its parents there, on a DAG too, and going down is a comparison a score, exact.

    A depth bias b divides the odds of the level by 2^b; a larger one never loses a label.
    """

    name: ClassVar[str] = "sure"

    level: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """How probable a label must be."""

    def settle(self, consolidation: Consolidation, *, labels_per_answer: float) -> Level:
        """Find the score that means the level."""
        scale = scale_for(count(consolidation), wanted=labels_per_answer)
        level = scale.score_at(tilted(self.level, self.depth_bias))
        found = {"sure": self.level, "depth_bias": self.depth_bias, "power": scale.power}
        return Level(level, "sure", self.name, found)
