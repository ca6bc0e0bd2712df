"""Majority: a label applies if more than half of those who could say so do."""

from typing import ClassVar

from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.shares import MORE_THAN_HALF, Shares
from mhpc.consolidate.voices import Sources, hearing
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress, silent


class Majority(MethodParameters):
    """The share of the answers that affirm a label, by itself or through one below it.

    Only answers whose sources can speak about the label count, each by its weight. A label is
    decided where the share is above a half: of two sources that disagree, neither wins, and
    what they have in common stays. One more answer for a label never lowers it. Costs one pass
    over the votes.
    """

    name: ClassVar[str] = "majority"
    summary: ClassVar[str] = "labels that more than half of the sources affirm"
    reference: ClassVar[str] = (
        "find_majority_vote of taxopy, https://github.com/apcamargo/taxopy, for sets of labels"
    )
    sparse: ClassVar[bool] = True

    sources: Sources = "equal"
    """Count all sources alike, or by skill, kin sharing a voice."""

    def fit(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Learn how sources are to be heard."""
        heard = hearing(parts, self.sources)
        return Shares(heard=heard, level=MORE_THAN_HALF)
