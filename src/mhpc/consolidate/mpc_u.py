"""MPC-U: MHPC without the hierarchy."""

from typing import ClassVar

import numpy as np

from mhpc.consolidate.method import PAPER
from mhpc.consolidate.smoothing import Smoothing
from mhpc.core.consolidation import Consolidation
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress, silent


class MPCU(Smoothing):
    """MHPC with the same weight 1 for every label: plain Euclidean distance in eq. 7.

    Shows what the support, and so the hierarchy, adds. Costs what MHPC costs.
    """

    name: ClassVar[str] = "mpc-u"
    summary: ClassVar[str] = "mhpc with a uniform support vector"
    reference: ClassVar[str] = PAPER

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the smoothed mean answers."""
        return self.smooth(panel, np.ones(len(panel.taxonomy)), progress)
