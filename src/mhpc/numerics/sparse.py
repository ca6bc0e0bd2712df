"""Csr helpers: rows_of, incidence, lookup, group max, distinct rows, row blocks.

One sort of such numbers puts entries in the order of a csr matrix and brings together those that
name the same cell, at a fraction of what sorting by two keys costs.
"""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse


def max_of_each(
    row: IntArray, column: IntArray, value: FloatArray, *, shape: tuple[int, int]
) -> Sparse:
    """Return a matrix that keeps the largest value of each cell and no zeros."""
    cell = row * np.int64(shape[1])
    cell += column
    cell, value = max_of_equal(cell, value)
    some = value > 0
    if not some.all():
        cell, value = cell[some], value[some]
    row = cell // shape[1]
    cell -= row * shape[1]
    return csr_from_sorted(row, cell, value, shape=shape)


def max_of_equal(key: IntArray, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the keys in order, each once, and the largest value of each. `key` may be reused."""
    if not len(key):
        return key, np.asarray(value)
    if (value == value[0]).all():
        # Votes without scores, as most are: nothing has to follow its key.
        key.sort()
        new = run_starts(key)
        key = key if new.all() else key[new]
        return key, np.full(len(key), value[0])
    order = np.argsort(key)
    key, value = key[order], value[order]
    new = run_starts(key)
    if new.all():
        return key, value
    return key[new], np.maximum.reduceat(value, np.flatnonzero(new))


def run_starts(ordered: IntArray) -> BoolArray:
    """Mark the first of every run of equal numbers."""
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return new


def csr_from_sorted(
    row: IntArray, column: IntArray, value: FloatArray, *, shape: tuple[int, int]
) -> Sparse:
    """Return a matrix from entries in order of row, then column, no cell twice."""
    kind = np.int32 if max(*shape, len(row)) <= np.iinfo(np.int32).max else np.int64
    indptr = np.zeros(shape[0] + 1, dtype=kind)
    np.cumsum(np.bincount(row, minlength=shape[0]), out=indptr[1:])
    matrix = sparse.csr_array((value, column.astype(kind), indptr), shape=shape)
    matrix.has_canonical_format = True
    return matrix


def cell_numbers(matrix: Sparse) -> IntArray:
    """Return the number of every stored cell, in order if the matrix is canonical."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(row * np.int64(matrix.shape[1]) + matrix.indices)


def values_at(matrix: Block, row: IntArray, column: IntArray) -> FloatArray:
    """Return the values of some cells; 0 where a sparse matrix stores none."""
    if not sparse.issparse(matrix):
        return np.asarray(matrix[row, column], dtype=np.float64)
    matrix = canonical(matrix)
    return lookup_cells(row * np.int64(matrix.shape[1]) + column, cell_numbers(matrix), matrix.data)


def lookup_cells(wanted: IntArray, cell: IntArray, value: FloatArray) -> FloatArray:
    """Return the value of every wanted cell among ordered ones, 0 where it is not there."""
    if not len(cell):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(cell, wanted), len(cell) - 1)
    return np.where(cell[place] == wanted, value[place], 0.0)


def canonical(matrix: Sparse) -> Sparse:
    """Return the matrix with its entries in order and none twice; a copy unless it is so."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def use_int32(matrix: Sparse) -> Sparse:
    """Return the matrix with 32-bit indices if they suffice, so that products move half as much."""
    if max(*matrix.shape, matrix.nnz) > np.iinfo(np.int32).max:
        return matrix
    indices, indptr = (
        part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr)
    )
    return sparse.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


DIGITS = 12
"""Decimals of a value; what rounding leaves beyond them tells no two rows apart."""


def distinct_rows(matrix: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the first of each set of equal rows, which set every row is in, and their sizes.

    Rows are compared by a 128-bit digest of their bytes: linear in the matrix, where sorting
    whole rows would compare them column by column again and again.
    """
    sets: dict[bytes, int] = {}
    first: list[int] = []
    member = np.empty(len(matrix), dtype=np.int64)
    # Adding 0.0 turns -0.0 into 0.0, which has other bytes.
    for at, row in enumerate(np.ascontiguousarray(matrix + 0.0)):
        known = sets.setdefault(blake2b(row, digest_size=16).digest(), len(first))
        if known == len(first):
            first.append(at)
        member[at] = known
    return np.array(first, dtype=np.int64), member, np.bincount(member).astype(float)


def row_digests(matrix: Sparse) -> npt.NDArray[np.uint64]:
    """Return a number for every row, the same for equal rows and hardly ever for others.

    The sum of 64 well-mixed bits for every entry, so that it neither depends on the order of
    entries nor needs a step a row. Of a million distinct rows two have the same number with a
    chance of 3e-8.
    """
    value = np.rint(matrix.data * 10.0**DIGITS).astype(np.int64).view(np.uint64)
    mixed = _mixed(_mixed(matrix.indices.astype(np.uint64)) ^ value)
    mixed[value == 0] = 0
    # Sums wrap around, and so do their differences.
    until = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(until[matrix.indptr[1:]] - until[matrix.indptr[:-1]], dtype=np.uint64)


def distinct_digests(digests: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the first of each set of equal digests, which set each is in, and their sizes."""
    _, first, member, size = np.unique(
        digests, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return first[order], place[member], size[order].astype(float)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return bits of which each depends on all that were given (the finaliser of SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
