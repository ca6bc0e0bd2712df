"""What a rule is: it settles what depends on all instances, and then decides block by block."""

from typing import ClassVar

from scipy import sparse

from mhpc.core.consolidation import Consolidation, walk
from mhpc.core.decision import Decision, Settled
from mhpc.core.parameters import Parameters
from mhpc.decide.bias import DepthBias

LOOKED_AT = 20_000
"""Instances that a rule looks at, at most, to settle: sets are then as large as wanted within
0.5 %."""


class Rule(Parameters):
    """From scores to label sets that hold, with a label, all its ancestors."""

    name: ClassVar[str]

    depth_bias: DepthBias = 0.0
    """How deep to answer: 0 as the rule says, each 1 more lets a missed label weigh twice as much
    against a wrong one, each 1 less half as much."""

    def settle(self, consolidation: Consolidation, *, labels_per_answer: float) -> Settled:
        """Find what depends on all instances.

        Parameters
        ----------
        consolidation : Consolidation
            The scores.
        labels_per_answer : float
            Mean size of the sources' answers, ancestors included.
        """
        raise NotImplementedError

    def decide(self, consolidation: Consolidation, *, labels_per_answer: float) -> Decision:
        """Return the label sets; parameters as in `settle`."""
        return decided(
            self.settle(consolidation, labels_per_answer=labels_per_answer), consolidation
        )


def decided(settled: Settled, consolidation: Consolidation) -> Decision:
    """Return the label sets by a rule that knows all it needs."""
    parts = [
        settled.sets(
            consolidation.score[span], consolidation.specific[span], consolidation.taxonomy
        )
        for span in walk(consolidation)
    ]
    return Decision(
        taxonomy=consolidation.taxonomy,
        instances=consolidation.instances,
        reason=sparse.vstack(parts, format="csr"),
        rule=settled.rule,
        parameters=settled.parameters,
    )
