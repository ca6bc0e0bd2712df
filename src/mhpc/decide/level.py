"""A level that scores must reach: what most rules come down to once they are settled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mhpc.core.arrays import Block, Sparse
from mhpc.core.taxonomy import Taxonomy
from mhpc.decide.closing import closed, reached


@dataclass(frozen=True)
class Level:
    """The level, and how it came about.

    Attributes
    ----------
    level : float
        The lowest score that is enough.
    level_from : str
        given, method (its own), matched (sets as large as answers), expected-f or sure.
    rule : str
        The rule that found it.
    found : mapping
        The rule's other parameters, computed ones included.
    """

    level: float
    level_from: str
    rule: str
    found: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Any]:
        """The level, where it is from, and the rest."""
        return {"level": self.level, "level_from": self.level_from, **self.found}

    def sets(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the labels that reach the level, and what they imply."""
        return closed(reached(score, self.level), taxonomy)
