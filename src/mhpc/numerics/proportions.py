"""Confidence intervals of proportions."""

import numpy as np

from mhpc.numerics.arrays import FloatArray

QUANTILE = 1.959964
"""The normal quantile of a 95 % interval."""


def wilson_interval(part: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's 95 % intervals of proportions, which stay within 0 and 1.

    They contain every P for which ``(p - P)^2 <= z^2 P (1 - P) / n``, with p = part / whole and
    n = whole, which need not be whole numbers (Wilson, J. Am. Stat. Assoc. 1927).

    Examples
    --------
    >>> low, high = wilson_interval(np.array([10.0]), np.array([10.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.722], [1.0])
    """
    p, z = part / whole, QUANTILE**2 / whole
    centre = (p + z / 2) / (1 + z)
    half_width = np.sqrt(z * (p * (1 - p) + z / 4)) / (1 + z)
    return np.maximum(centre - half_width, 0.0), np.minimum(centre + half_width, 1.0)
