"""The lowest values of every row, where many are equal but for rounding."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mhpc.core.arrays import IntArray

Single: TypeAlias = npt.NDArray[np.float32]

ROUNDED = 4 * float(np.finfo(np.float32).eps)
"""Error of a squared distance in single precision, relative to the largest squared norms."""


def lowest(values: npt.NDArray[Any], count: int) -> IntArray:
    """Return the columns of the lowest values of each row, in any order."""
    if count >= values.shape[1]:
        return np.tile(np.arange(values.shape[1]), (len(values), 1))
    return np.argpartition(values, count - 1, axis=1)[:, :count]


def crowded_rows(
    taken: Single, count: int, margin: Single
) -> tuple[IntArray, tuple[Single, Single]]:
    """Return the rows where more may be as low as the last one than were taken, and its border.

    Parameters
    ----------
    taken : float array, (rows, wanted)
        The lowest values, somewhat more than `count`.
    count : int
        How many are asked for.
    margin : float array, (rows, 1)
        What rounding may make of equal values.
    """
    ordered = np.sort(taken, axis=1)
    border = ordered[:, count - 1 : count]
    rows = np.flatnonzero(ordered[:, -1] <= (border + margin)[:, 0])
    return rows, ((border - margin)[rows], (border + margin)[rows])


def ranked(values: Single, border: tuple[Single, Single], order: IntArray) -> IntArray:
    """Return a rank of every value: below, within or above the border, and then by order."""
    low, high = border
    level = (values >= low).astype(np.int64) + (values > high)
    return np.asarray(level * (1 << 40) + order)
