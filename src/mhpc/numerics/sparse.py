"""Sparse matrices (csr): building them from entries, reading cells, finding equal rows.

A cell has a number, ``row * columns + column``. One sort of such numbers puts entries into the
order of a csr matrix and brings together those of the same cell, at a fraction of what sorting
by two keys costs.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Single, Sparse

TABLE_BYTES = 1 << 24
"""The largest dense table in which cells are looked up; it should fit in the cache."""

_TABLE_CELLS_PER_LOOKUP = 64
"""A table that has more cells for each that is stored or looked up costs more than it saves."""

DIGITS = 12
"""Decimals by which values are compared; differences beyond them are rounding errors."""


def row_indices(matrix: Sparse) -> IntArray:
    """Return the row of every stored entry of a csr matrix, (nnz,).

    Examples
    --------
    >>> row_indices(sparse.csr_array([[1, 0], [1, 1]])).tolist()
    [0, 1, 1]
    """
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def incidence(
    rows: IntArray,
    columns: IntArray | None = None,
    *,
    shape: tuple[int, int],
    values: npt.NDArray[Any] | None = None,
) -> Sparse:
    """Return the matrix that is 1 (or `values`) in the cells (rows[i], columns[i]), 0 elsewhere.

    Without `columns` entry i is in column i, so that the product with a matrix sums its rows by
    group: ``incidence(group, shape=(groups, n)) @ X``. Entries of the same cell are added.

    Parameters
    ----------
    rows, columns : int array, (n,)
        The cells.
    shape : pair of int
        The shape of the matrix.
    values : float array, (n,), optional
        The values of the entries.

    Examples
    --------
    >>> incidence(np.array([0, 1, 0]), shape=(2, 3)).toarray()
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    if columns is None:
        columns = np.arange(len(rows))
    if values is None:
        values = np.ones(len(rows))
    return sparse.csr_array((values, (rows, columns)), shape=shape)


def slice_rows(matrix: Sparse, rows: slice) -> Sparse:
    """Return consecutive rows of a csr matrix, which share its memory.

    Examples
    --------
    >>> slice_rows(sparse.csr_array([[1, 0], [0, 2], [3, 4]]), slice(1, 3)).toarray()
    array([[0, 2],
           [3, 4]])
    """
    ends = matrix.indptr[rows.start : rows.stop + 1]
    entries = slice(ends[0], ends[-1])
    parts = (matrix.data[entries], matrix.indices[entries], ends - ends[0])
    part = sparse.csr_array(parts, shape=(len(ends) - 1, matrix.shape[1]))
    if matrix.has_canonical_format:
        part.has_canonical_format = True
    return part


def count_cells(row: IntArray, column: IntArray, *, shape: tuple[int, int]) -> Sparse:
    """Return how often each cell (row[i], column[i]) occurs, as a canonical matrix.

    Examples
    --------
    >>> count_cells(np.array([0, 1, 0]), np.array([1, 0, 1]), shape=(2, 2)).toarray()
    array([[0., 2.],
           [1., 0.]])
    """
    n_cells = shape[0] * shape[1]
    if n_cells > len(row):
        return canonical(incidence(row, column, shape=shape))
    # Counting takes no sorting, at the cost of a number for every cell.
    count = np.bincount(row * np.int64(shape[1]) + column, minlength=n_cells)
    return sparse.csr_array(count.reshape(shape).astype(np.float64))


def row_blocks(n_rows: int, row_cost: int | IntArray, limit: int) -> Iterator[slice]:
    """Divide rows into consecutive blocks of at most `limit` cost, of at least one row each.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    row_cost : int or int array, (n_rows,)
        The cost of a row, such as the number of its cells; one number if all rows cost the same.
    limit : int
        The largest cost of a block, unless a single row costs more. Also the largest number of
        rows in a block, since an empty row is not free.

    Examples
    --------
    >>> [(block.start, block.stop) for block in row_blocks(5, 10, 20)]
    [(0, 2), (2, 4), (4, 5)]
    >>> [(block.start, block.stop) for block in row_blocks(4, np.array([1, 9, 2, 2]), 4)]
    [(0, 1), (1, 2), (2, 4)]
    """
    if isinstance(row_cost, np.ndarray):
        yield from _blocks_of_varying_cost(row_cost, limit)
        return
    step = max(1, limit // max(row_cost, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _blocks_of_varying_cost(row_cost: IntArray, limit: int) -> Iterator[slice]:
    n_rows, start = len(row_cost), 0
    cost_up_to = np.append(0, np.cumsum(row_cost, dtype=np.int64))
    while start < n_rows:
        stop = int(np.searchsorted(cost_up_to, cost_up_to[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), start + max(limit, 1), n_rows)
        yield slice(start, stop)
        start = stop


def concatenate_ranges(starts: IntArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the numbers of several ranges one after another, and the range of each number.

    Parameters
    ----------
    starts, sizes : int arrays, (n,)
        Range i is starts[i], starts[i] + 1, ..., starts[i] + sizes[i] - 1.

    Returns
    -------
    owner, number : int arrays, (sum of sizes,)

    Examples
    --------
    >>> concatenate_ranges(np.array([5, 0]), np.array([2, 3]))
    (array([0, 0, 1, 1, 1]), array([5, 6, 0, 1, 2]))
    """
    owner = np.repeat(np.arange(len(sizes)), sizes)
    offset = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return owner, np.arange(len(owner)) + offset


def max_of_each(
    row: IntArray, column: IntArray, value: FloatArray, *, shape: tuple[int, int]
) -> Sparse:
    """Return a matrix with the largest value of each cell, without stored zeros."""
    cell = row * np.int64(shape[1])
    cell += column
    cell, value = max_of_equal(cell, value)
    positive = value > 0
    if not positive.all():
        cell, value = cell[positive], value[positive]
    row = cell // shape[1]
    cell -= row * shape[1]
    return csr_from_sorted(row, cell, value, shape=shape)


def max_of_equal(key: IntArray, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the distinct keys in order and the largest value of each; may overwrite `key`."""
    if not len(key):
        return key, np.asarray(value)
    if (value == value[0]).all():
        # Most votes have no scores: all values are equal and need not be sorted with the keys.
        # Votes mostly come instance by instance, and a stable sort makes use of that.
        key.sort(kind="stable")
        new = run_starts(key)
        key = key if new.all() else key[new]
        return key, np.full(len(key), value[0])
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    new = run_starts(key)
    if new.all():
        return key, value
    return key[new], np.maximum.reduceat(value, np.flatnonzero(new))


def run_starts(numbers: npt.NDArray[np.integer[Any]]) -> BoolArray:
    """Mark the first element of every run of equal numbers."""
    new = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=new[1:])
    return new


def csr_from_sorted(
    row: IntArray, column: IntArray, value: FloatArray, *, shape: tuple[int, int]
) -> Sparse:
    """Return a matrix from distinct cells in the order of row, then column."""
    ends = np.append(0, np.cumsum(np.bincount(row, minlength=shape[0])))
    return csr_from_ends(ends, column, value, shape=shape)


def csr_from_ends(
    ends: IntArray, column: IntArray, value: FloatArray, *, shape: tuple[int, int]
) -> Sparse:
    """Return a matrix from the ends of its rows, (n + 1,), and the sorted columns of each."""
    index_type = np.int32 if max(*shape, len(column)) <= np.iinfo(np.int32).max else np.int64
    entries = (value, column.astype(index_type), ends.astype(index_type))
    matrix = sparse.csr_array(entries, shape=shape)
    matrix.has_canonical_format = True
    return matrix


def values_at(
    matrix: Block, row: IntArray, column: IntArray, *, table_bytes: int = TABLE_BYTES
) -> FloatArray:
    """Return the values of the cells (row[i], column[i]); 0 where a sparse matrix stores none.

    Cells of a sparse matrix are looked up in a dense table if it takes at most `table_bytes`.
    """
    wanted = row * np.int64(matrix.shape[1]) + column
    if not sparse.issparse(matrix):
        return np.asarray(matrix.ravel()[wanted], dtype=np.float64)
    matrix = canonical(matrix)
    cell, n_cells = cell_numbers(matrix), matrix.shape[0] * matrix.shape[1]
    if n_cells > _TABLE_CELLS_PER_LOOKUP * (len(cell) + len(wanted)):
        return lookup_cells(wanted, cell, matrix.data)
    if n_cells * matrix.dtype.itemsize > table_bytes:
        return lookup_cells(wanted, cell, matrix.data)
    table = np.zeros(n_cells, dtype=matrix.dtype)
    table[cell] = matrix.data
    return np.asarray(table[wanted], dtype=np.float64)


def are_cells(
    wanted: IntArray, cell: IntArray, n_cells: int, *, table_bytes: int = TABLE_BYTES
) -> BoolArray:
    """Return whether each wanted cell is among the cells, which are below `n_cells`."""
    if n_cells > min(table_bytes, _TABLE_CELLS_PER_LOOKUP * (len(cell) + len(wanted))):
        return np.isin(wanted, cell)
    table = np.zeros(n_cells, dtype=bool)
    table[cell] = True
    return np.asarray(table[wanted])


def cell_numbers(matrix: Sparse) -> IntArray:
    """Return the number of every stored cell, in rising order if the matrix is canonical."""
    return np.asarray(row_indices(matrix) * np.int64(matrix.shape[1]) + matrix.indices)


def lookup_cells(wanted: IntArray, cell: IntArray, value: FloatArray) -> FloatArray:
    """Return the value of every wanted cell; 0 if it is not among the cells, which are sorted."""
    if not len(cell):
        return np.zeros(len(wanted))
    position = np.minimum(np.searchsorted(cell, wanted), len(cell) - 1)
    return np.where(cell[position] == wanted, value[position], 0.0)


def canonical(matrix: Sparse) -> Sparse:
    """Return the matrix with sorted entries and no duplicates; a copy unless it is so already."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def average_in_single(weight: Sparse, values: Single) -> FloatArray:
    """Return weight @ values, computed in single precision.

    Such a product of sparse weights reads far more than it computes, and half as many bytes are
    read three times as fast. Seven digits are more than a mean of neighbours is good for.
    """
    return np.asarray(weight.astype(np.float32) @ values, dtype=np.float64)


def select_columns(matrix: Sparse, columns: IntArray) -> Sparse:
    """Return some columns of a matrix, at increasing positions, in time that follows its entries.

    Examples
    --------
    >>> select_columns(sparse.csr_array([[1, 0, 2], [0, 3, 0]]), np.array([0, 2])).toarray()
    array([[1, 2],
           [0, 0]])
    """
    position = np.full(matrix.shape[1], -1, dtype=matrix.indices.dtype)
    position[columns] = np.arange(len(columns))
    column, shape = position[matrix.indices], (matrix.shape[0], len(columns))
    kept = keep_entries(matrix, column >= 0)
    entries = (kept.data, column[column >= 0], kept.indptr)
    return sparse.csr_array(entries, shape=shape)


def keep_entries(matrix: Sparse, kept: BoolArray) -> Sparse:
    """Return a matrix with some of its entries only, (nnz,).

    Examples
    --------
    >>> keep_entries(sparse.csr_array([[1, 2], [0, 3]]), np.array([False, True, True])).toarray()
    array([[0, 2],
           [0, 3]])
    """
    if kept.all():
        return matrix
    kept_up_to = np.append(0, np.cumsum(kept)).astype(matrix.indptr.dtype)
    entries = (matrix.data[kept], matrix.indices[kept], kept_up_to[matrix.indptr])
    return sparse.csr_array(entries, shape=matrix.shape)


def spread_columns(matrix: Block, columns: IntArray, n_columns: int) -> Sparse:
    """Return a matrix whose given columns are those of another one, and all others 0.

    Examples
    --------
    >>> spread_columns(np.array([[1.0, 2.0]]), np.array([0, 2]), 4).toarray()
    array([[1., 0., 2., 0.]])
    """
    matrix = sparse.csr_array(matrix)
    shape = (matrix.shape[0], n_columns)
    return sparse.csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=shape)


def use_int32(matrix: Sparse) -> Sparse:
    """Return the matrix with 32-bit indices if they suffice, which halves memory traffic."""
    if max(*matrix.shape, matrix.nnz) > np.iinfo(np.int32).max:
        return matrix
    indices, indptr = (
        part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr)
    )
    return sparse.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


def row_digests(matrix: Sparse) -> npt.NDArray[np.uint64]:
    """Return a 64-bit digest of every row, (N,), equal for equal rows to `DIGITS` decimals.

    A digest is the sum of 64 well-mixed bits per entry, so that it does not depend on the order
    of the entries and needs no loop over rows. Two of a million distinct rows share a digest with
    a probability of 3e-8.
    """
    value = np.rint(matrix.data * 10.0**DIGITS).astype(np.int64).view(np.uint64)
    mixed = _mix_bits(_mix_bits(matrix.indices.astype(np.uint64)) ^ value)
    mixed[value == 0] = 0
    # Sums wrap around, and so do their differences.
    sum_up_to = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    digests = sum_up_to[matrix.indptr[1:]] - sum_up_to[matrix.indptr[:-1]]
    return np.asarray(digests, dtype=np.uint64)


def distinct_digests(digests: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray, FloatArray]:
    """Group equal digests, and so the rows that have them.

    Returns
    -------
    first : int array, (G,)
        The first row of each group, in rising order.
    group : int array, (N,)
        The group of each row.
    size : float array, (G,)
        The number of rows in each group.
    """
    _, first, group, size = np.unique(
        digests, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return first[order], position[group], size[order].astype(float)


def _mix_bits(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return bits each of which depends on all input bits (the finaliser of SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
