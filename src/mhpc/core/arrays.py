"""The array types that signatures name."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.core.rows import Rows

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Sparse: TypeAlias = sparse.csr_array
Block: TypeAlias = FloatArray | Sparse
"""Rows that are at hand."""

Matrix: TypeAlias = Block | Rows


def dense(matrix: Any) -> FloatArray:
    """Return the matrix as a dense float array; the one place where that is made of another."""
    if isinstance(matrix, Rows):
        return matrix[:]
    full = matrix.toarray() if sparse.issparse(matrix) else matrix
    return np.asarray(full, dtype=np.float64)
