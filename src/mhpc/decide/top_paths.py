"""Top paths: so many best labels, none above another, with all their ancestors."""

from typing import Annotated, ClassVar

from pydantic import Field

from mhpc.core.consolidation import Consolidation
from mhpc.decide.paths import Paths
from mhpc.decide.rule import Rule


class TopPaths(Rule):
    """Take the `paths` labels of highest `specific`, none above another, and their ancestors.

    For a fixed number of answers an instance, as suggestions to choose from. Best first, the
    earlier label in a tie; fewer where fewer labels are above 0 or reach the least score, none
    where none does. On a DAG a label comes with all its ancestors, by every parent. Costs a look
    at every score a path.

    A depth bias b moves each end along its own path to where ``specific * 2^(b * depth)`` is
    highest; a larger one never gives a shallower end.
    """

    name: ClassVar[str] = "top-paths"

    paths: Annotated[int, Field(ge=1)] = 3
    """How many."""

    level: Annotated[float, Field(gt=0)] | None = None
    """The least score of a label that may end a path; none: any above 0."""

    def settle(self, consolidation: Consolidation, *, labels_per_answer: float) -> Paths:
        """Nothing depends on other instances."""
        return Paths(self.paths, self.level, self.depth_bias, self.name)
