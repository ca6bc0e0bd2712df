"""Majority: a label applies if more than half of those who could say so do."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.voices import Hearing, Sources, hearing, listen
from mhpc.core.hierarchy import most_specific, raised
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress, silent
from mhpc.core.views import Views


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

    sources: Sources = "equal"
    """Count all sources alike, or by skill, kin sharing a voice."""

    def fit(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Learn how sources are to be heard."""
        heard = hearing(parts, self.sources)
        return _Shares(heard=heard, level=float(np.nextafter(0.5, 1)))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shares(Fitted):
    heard: Hearing | None

    def views(self, panel: Panel) -> Views:
        """Return the shares, and of which the label is the most specific one said."""
        panel = listen(panel, self.heard)
        score = panel.mean("augmented", "answers")
        if panel.scope is not None:
            # Fewer may be able to speak about a label than about its parent, and all agree.
            score = raised(score, panel.taxonomy)
        stopped = most_specific(panel.augmented, panel.taxonomy)
        return Views(score, panel.averaged(stopped, "answers"))
