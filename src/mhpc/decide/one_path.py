"""One path: the label that is most likely the one truth, with all its ancestors."""

from typing import Annotated, ClassVar

from pydantic import Field

from mhpc.core.consolidation import Consolidation
from mhpc.decide.paths import Paths
from mhpc.decide.rule import Rule


class OnePath(Rule):
    """Take the label whose `specific` is highest, the earlier one in a tie, and its ancestors.

    For instances that have one true label. An instance of which nothing is known has none, nor
    has one of which no label reaches the least score. Exact, on a DAG too: a label comes with all
    its ancestors, by every parent. Costs a look at every score.

    A depth bias b moves the end along its path to where ``specific * 2^(b * depth)`` is highest;
    a larger one never gives a shallower label.
    """

    name: ClassVar[str] = "one-path"

    level: Annotated[float, Field(gt=0)] | None = None
    """The least score of a label that may end the path; none: any above 0."""

    def settle(self, consolidation: Consolidation, *, labels_per_answer: float) -> Paths:
        """Nothing depends on other instances."""
        return Paths(1, self.level, self.depth_bias, self.name)
