"""Intervals of shares."""

import numpy as np

from mhpc.core.arrays import FloatArray
from mhpc.core.sources import Share

_NINETY_FIVE = 1.959964
"""The normal quantile of a 95 % interval."""


def share(part: float, whole: float) -> Share:
    """Return a share with its 95 % interval; nan where there is nothing to have a share of."""
    if whole <= 0:
        return Share(np.nan, np.nan, np.nan)
    low, high = wilson(np.array([part]), np.array([whole]))
    return Share(float(part / whole), float(low[0]), float(high[0]))


def wilson(part: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's 95 % intervals, which stay within 0 and 1 and off their edges."""
    p, z = part / whole, _NINETY_FIVE**2 / whole
    middle = (p + z / 2) / (1 + z)
    reach = np.sqrt(z * (p * (1 - p) + z / 4)) / (1 + z)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)
