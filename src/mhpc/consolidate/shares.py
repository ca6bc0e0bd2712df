"""Shares of the answers, however their sources are heard."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mhpc.consolidate.fitted import Fitted
from mhpc.core.hierarchy import most_specific, raised
from mhpc.core.panel import Panel
from mhpc.core.views import Views

MORE_THAN_HALF = float(np.nextafter(0.5, 1))
"""The least score that is more than a half."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shares(Fitted):
    """How much the answers of every source count; None: all alike."""

    heard: Callable[[Panel], Panel] | None

    def views(self, panel: Panel) -> Views:
        """Return the shares, and of which the label is the most specific one said."""
        panel = panel if self.heard is None else self.heard(panel)
        score = panel.mean("augmented", "answers")
        if panel.scope is not None:
            # Fewer may be able to speak about a label than about its parent, and all agree.
            score = raised(score, panel.taxonomy)
        stopped = most_specific(panel.augmented, panel.taxonomy)
        return Views(score, panel.averaged(stopped, "answers"))
