"""Sparse matrices from entries that may name a cell several times."""

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse


def largest_of_each(
    row: IntArray, column: IntArray, value: FloatArray, *, shape: tuple[int, int]
) -> Sparse:
    """Return a matrix that keeps the largest value of each cell and no zeros."""
    order = np.lexsort((-value, column, row))
    row, column, value = row[order], column[order], value[order]
    first = np.ones(len(row), dtype=bool)
    first[1:] = (np.diff(row) != 0) | (np.diff(column) != 0)
    first &= value > 0
    matrix = sparse.coo_array((value[first], (row[first], column[first])), shape=shape).tocsr()
    matrix.sort_indices()
    return matrix
