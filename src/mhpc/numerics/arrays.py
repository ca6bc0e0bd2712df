"""Array types, and matrices whose rows are computed when they are asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray: TypeAlias = npt.NDArray[np.float64]
Single: TypeAlias = npt.NDArray[np.float32]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Sparse: TypeAlias = sparse.csr_array
Block: TypeAlias = FloatArray | Sparse
"""A matrix in memory."""

Which: TypeAlias = slice | IntArray | BoolArray
"""Rows: a slice, positions or a mask."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A matrix that does not fit in memory; its rows are computed whenever they are asked for.

    Attributes
    ----------
    shape : pair of int
        (N, K).
    make : callable
        Returns the rows at the given positions.
    width : int, optional
        How many cells of a row are computed, if the others are always 0.
    """

    shape: tuple[int, int]
    make: Callable[[IntArray], Block]
    width: int | None = None

    def __getitem__(self, which: Which) -> Block:
        """Compute the rows of a slice, of positions or of a mask."""
        return self.make(np.arange(self.shape[0])[which])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        """Compute all rows, for NumPy."""
        return np.asarray(dense(self), dtype=dtype)


Matrix: TypeAlias = Block | Rows


def by_rows(combine: Callable[..., Block], *matrices: Matrix, positions: bool = False) -> Matrix:
    """Combine matrices row by row: now, or when rows are asked for if one of them is `Rows`.

    Parameters
    ----------
    combine : callable
        Takes some rows of each matrix and returns the combined rows.
    matrices : matrices, (N, K)
        What is combined.
    positions : bool
        Whether `combine` takes the positions of the rows as its first argument.
    """
    shape = matrices[0].shape
    if not any(isinstance(matrix, Rows) for matrix in matrices):
        return combine(*((np.arange(shape[0]),) if positions else ()), *matrices)

    def make(rows: IntArray) -> FloatArray:
        first = (rows,) if positions else ()
        return dense(combine(*first, *(matrix[rows] for matrix in matrices)))

    return Rows(shape, make)


def selected(matrix: Matrix, rows: IntArray) -> Matrix:
    """Return the given rows of a matrix; of `Rows` without computing them."""
    if not isinstance(matrix, Rows):
        return matrix[rows]
    shape = (len(rows), matrix.shape[1])
    return Rows(shape, lambda positions: matrix[rows[positions]], matrix.width)


def dense(matrix: Any) -> FloatArray:
    """Return any matrix as a dense float array."""
    if isinstance(matrix, Rows):
        matrix = matrix[:]
    full = matrix.toarray() if sparse.issparse(matrix) else matrix
    return np.asarray(full, dtype=np.float64)


def ratio(part: float, whole: float) -> float:
    """Return part / whole; 0 if the whole is not positive."""
    return float(part / whole) if whole > 0 else 0.0
