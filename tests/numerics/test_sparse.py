import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from mhpc.numerics.arrays import FloatArray, dense
from mhpc.numerics.sparse import (
    are_cells,
    cell_numbers,
    count_cells,
    distinct_digests,
    incidence,
    max_of_each,
    row_blocks,
    row_digests,
    row_indices,
    use_int32,
    values_at,
)

ENTRIES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
)


def test_row_indices_skip_empty_rows() -> None:
    matrix = sparse.csr_array(np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]]))
    assert row_indices(matrix).tolist() == [0, 0, 2]
    assert row_indices(sparse.csr_array((3, 2))).tolist() == []


def test_an_incidence_matrix_sums_rows_by_group() -> None:
    group, X = np.array([1, 0, 1]), np.array([[1.0], [2.0], [4.0]])
    assert (incidence(group, shape=(3, 3)) @ X).tolist() == [[2.0], [5.0], [0.0]]
    weighted = incidence(group, shape=(3, 3), values=np.array([0.5, 1.0, 2.0]))
    assert (weighted @ X).tolist() == [[2.0], [8.5], [0.0]]


def test_an_incidence_matrix_counts_repeated_cells() -> None:
    rows, columns = np.array([0, 1, 0]), np.array([2, 0, 2])
    assert dense(incidence(rows, columns, shape=(2, 3))).tolist() == [[0, 0, 2], [1, 0, 0]]


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 12))
def test_blocks_cover_all_rows_within_the_limit(costs: list[int], limit: int) -> None:
    blocks = list(row_blocks(len(costs), np.array(costs, dtype=np.int64), limit))
    assert [row for block in blocks for row in range(block.start, block.stop)] == [
        *range(len(costs))
    ]
    for block in blocks:
        size = block.stop - block.start
        assert size == 1 or (sum(costs[block]) <= limit and size <= limit)


@pytest.mark.parametrize(
    ("n_rows", "cost", "limit", "sizes"),
    [(0, 3, 9, []), (7, 3, 9, [3, 3, 1]), (2, 100, 9, [1, 1]), (5, 0, 3, [3, 2])],
)
def test_blocks_of_equal_cost_have_equal_sizes(
    n_rows: int, cost: int, limit: int, sizes: list[int]
) -> None:
    blocks = row_blocks(n_rows, cost, limit)
    assert [block.stop - block.start for block in blocks] == sizes


@given(ENTRIES)
def test_the_largest_value_of_a_cell_is_kept(entries: list[tuple[int, int, float]]) -> None:
    expected = np.zeros((4, 3))
    for r, k, value in entries:
        expected[r, k] = max(expected[r, k], value)
    row, column = (np.array([entry[i] for entry in entries], dtype=np.int64) for i in (0, 1))
    matrix = max_of_each(row, column, np.array([entry[2] for entry in entries]), shape=(4, 3))
    np.testing.assert_array_equal(dense(matrix), expected)
    assert matrix.nnz == np.count_nonzero(expected)
    assert matrix.has_sorted_indices
    ones = max_of_each(row, column, np.ones(len(entries)), shape=(4, 3))
    assert set(zip(*ones.nonzero(), strict=True)) == {(r, k) for r, k, _ in entries}
    assert set(ones.data.tolist()) <= {1.0}
    assert ones.indices.dtype == np.int32


def test_cell_numbers_beyond_32_bits_are_distinguished() -> None:
    row, column = np.array([99_999, 5]), np.array([99_999, 7])
    shape = (100_000, 100_000)
    matrix = max_of_each(row, column, np.array([0.5, 1.0]), shape=shape).tocoo()
    assert list(zip(matrix.row, matrix.col, matrix.data, strict=True)) == [
        (5, 7, 1.0),
        (99_999, 99_999, 0.5),
    ]


def test_values_of_cells_are_the_same_in_dense_and_sparse_matrices() -> None:
    full = np.array([[0.0, 0.5, 0.0], [1.0, 0.0, 0.25]])
    row, column = np.array([1, 0, 0, 1]), np.array([2, 1, 0, 0])
    for matrix in (full, sparse.csr_array(full)):
        assert values_at(matrix, row, column).tolist() == [0.25, 0.5, 0.0, 1.0]
    assert values_at(sparse.csr_array((2, 3)), row, column).tolist() == [0.0] * 4


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.int8, np.float64]))
def test_cells_are_the_same_by_table_and_by_bisection(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 9, 2))
    full: np.ndarray = (rng.integers(1, 9, shape) * (rng.random(shape) < 0.4)).astype(dtype)
    row, column = rng.integers(0, shape[0], 20), rng.integers(0, shape[1], 20)
    matrix, wanted = sparse.csr_array(full), row * shape[1] + column
    for table_bytes in (0, 1 << 20):
        values = values_at(matrix, row, column, table_bytes=table_bytes)
        np.testing.assert_array_equal(values, full[row, column])
        assert values.dtype == np.float64
        stored = rng.permutation(cell_numbers(matrix))
        found = are_cells(wanted, stored, full.size, table_bytes=table_bytes)
        np.testing.assert_array_equal(found, full[row, column] > 0)


@pytest.mark.parametrize("shape", [(3, 4), (50, 60)])
def test_cells_are_counted_however_many_there_are(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    row, column = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
    expected = np.zeros(shape)
    np.add.at(expected, (row, column), 1)
    counts = count_cells(row, column, shape=shape)
    assert counts.has_canonical_format
    np.testing.assert_array_equal(dense(counts), expected)


def test_a_matrix_with_32_bit_indices_holds_the_same_values() -> None:
    full = np.array([[0.0, 2.0], [1.0, 0.0]])
    wide = sparse.csr_array(full)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert use_int32(wide).indices.dtype == use_int32(wide).indptr.dtype == np.int32
    np.testing.assert_array_equal(dense(use_int32(wide)), full)


def test_equal_rows_form_one_group_with_their_count() -> None:
    rows = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [-0.0, 0.0], [2.0, 1.0]])
    first_row, group, size = distinct_digests(row_digests(sparse.csr_array(rows)))
    assert first_row.tolist() == [0, 1, 4]
    assert group.tolist() == [0, 1, 0, 1, 2]
    assert size.tolist() == [2, 2, 1]


@given(arrays(float, (12, 3), elements=st.sampled_from([0.0, 0.5, 1 / 3])))
def test_digests_are_equal_exactly_where_rows_are(matrix: FloatArray) -> None:
    digests = row_digests(sparse.csr_array(matrix))
    for i in range(12):
        for j in range(12):
            assert (digests[i] == digests[j]) == (matrix[i] == matrix[j]).all()


def test_digests_ignore_rounding_errors_and_the_order_of_entries() -> None:
    rows = sparse.csr_array(np.array([[0.1 + 0.2, 0.0, 1.0], [0.3, 0.0, 1.0]]))
    reordered = sparse.csr_array(([1.0, 0.3, 0.0], [2, 0, 1], [0, 3]), shape=(1, 3))
    assert len({*row_digests(rows).tolist(), *row_digests(reordered).tolist()}) == 1


def test_groups_of_equal_digests_are_ordered_by_their_first_member() -> None:
    digests = np.array([9, 2, 9, 5, 2], dtype=np.uint64)
    first_row, group, size = distinct_digests(digests)
    assert first_row.tolist() == [0, 1, 3]
    assert group.tolist() == [0, 1, 0, 2, 1]
    assert size.tolist() == [2.0, 2.0, 1.0]
