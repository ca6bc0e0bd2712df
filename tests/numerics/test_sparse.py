import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mhpc.numerics.arrays import dense
from mhpc.numerics.sparse import max_of_each, use_int32, values_at

ENTRIES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
)


@given(ENTRIES)
def test_of_entries_for_one_cell_the_largest_stays(entries: list[tuple[int, int, float]]) -> None:
    expected = np.zeros((4, 3))
    for r, k, value in entries:
        expected[r, k] = max(expected[r, k], value)
    row, column = (np.array([e[at] for e in entries], dtype=np.int64) for at in (0, 1))
    matrix = max_of_each(row, column, np.array([e[2] for e in entries]), shape=(4, 3))
    np.testing.assert_array_equal(dense(matrix), expected)
    assert matrix.nnz == np.count_nonzero(expected)
    assert matrix.has_sorted_indices
    sets = max_of_each(row, column, np.ones(len(entries)), shape=(4, 3))
    assert set(zip(*sets.nonzero(), strict=True)) == {(r, k) for r, k, _ in entries}
    assert set(sets.data.tolist()) <= {1.0}
    assert sets.indices.dtype == np.int32


def test_cells_of_more_than_32_bits_are_told_apart() -> None:
    row, column = np.array([99_999, 5]), np.array([99_999, 7])
    shape = (100_000, 100_000)
    matrix = max_of_each(row, column, np.array([0.5, 1.0]), shape=shape).tocoo()
    assert list(zip(matrix.row, matrix.col, matrix.data, strict=True)) == [
        (5, 7, 1.0),
        (99_999, 99_999, 0.5),
    ]


def test_values_are_found_in_dense_and_sparse_matrices_alike() -> None:
    full = np.array([[0.0, 0.5, 0.0], [1.0, 0.0, 0.25]])
    row, column = np.array([1, 0, 0, 1]), np.array([2, 1, 0, 0])
    for matrix in (full, sparse.csr_array(full)):
        assert values_at(matrix, row, column).tolist() == [0.25, 0.5, 0.0, 1.0]
    assert values_at(sparse.csr_array((2, 3)), row, column).tolist() == [0.0] * 4


def test_narrow_matrices_hold_the_same() -> None:
    full = np.array([[0.0, 2.0], [1.0, 0.0]])
    wide = sparse.csr_array(full)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert use_int32(wide).indices.dtype == use_int32(wide).indptr.dtype == np.int32
    np.testing.assert_array_equal(dense(use_int32(wide)), full)
