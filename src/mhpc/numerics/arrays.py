"""Array type aliases, dense(), LazyRows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

Which: TypeAlias = "slice | IntArray | BoolArray"


@dataclass(frozen=True, eq=False)
class Rows:
    """Scores of so many instances that they do not fit: some at a time, as often as needed.

    Attributes
    ----------
    shape : pair of int
        (N, K).
    make : callable
        Returns the rows at given positions, dense.
    """

    shape: tuple[int, int]
    make: "Callable[[IntArray], FloatArray]"

    def __getitem__(self, which: Which) -> "FloatArray":
        """Make the rows of a slice, of positions or of a mask."""
        return self.make(np.arange(self.shape[0])[which])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "FloatArray":
        """Make them all, as NumPy asks for."""
        return np.asarray(self[:], dtype=dtype)


def by_rows(
    combine: "Callable[..., Block]", *matrices: "Matrix", positions: bool = False
) -> "Matrix":
    """Combine matrices row by row: at once, or when rows are asked for if some are made then.

    `combine` takes as many matrices, of any rows, and returns one; with `positions` it is first
    given where the rows are.
    """
    shape = matrices[0].shape
    if not any(isinstance(matrix, Rows) for matrix in matrices):
        return combine(*((np.arange(shape[0]),) if positions else ()), *matrices)

    def make(at: "IntArray") -> "FloatArray":
        some = combine(*((at,) if positions else ()), *(matrix[at] for matrix in matrices))
        return np.asarray(some.toarray() if hasattr(some, "toarray") else some)

    return Rows(shape, make)


def selected(matrix: "Matrix", rows: "IntArray") -> "Matrix":
    """Return some rows of a matrix; of one whose rows are made when asked for, such a one."""
    if not isinstance(matrix, Rows):
        return matrix[rows]
    return Rows((len(rows), matrix.shape[1]), lambda at: matrix[rows[at]])


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


def ratio(part: float, whole: float) -> float:
    """Return part / whole, 0 if the whole is not positive: nothing is no part of nothing."""
    return part / whole if whole > 0 else 0.0
