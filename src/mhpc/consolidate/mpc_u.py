"""MPC-U: MHPC without the hierarchy."""

from typing import ClassVar

import numpy as np

from mhpc.consolidate.method import PAPER
from mhpc.consolidate.smoothing import Smoothing
from mhpc.core.arrays import FloatArray
from mhpc.core.parts import Parts


class MPCU(Smoothing):
    """MHPC with the same weight 1 for every label: plain Euclidean distance in eq. 7.

    Shows what the support, and so the hierarchy, adds. Costs what MHPC costs.
    """

    name: ClassVar[str] = "mpc-u"
    summary: ClassVar[str] = "mhpc with a uniform support vector"
    reference: ClassVar[str] = PAPER

    def weights(self, parts: Parts) -> FloatArray:
        """Return ones."""
        return np.ones(len(parts.taxonomy))
