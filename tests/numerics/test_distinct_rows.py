import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from mhpc.numerics.arrays import FloatArray
from mhpc.numerics.sparse import distinct_digests, distinct_rows, row_digests


def test_equal_rows_become_one_with_their_count() -> None:
    rows = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [-0.0, 0.0], [2.0, 1.0]])
    first, member, count = distinct_rows(rows)
    assert first.tolist() == [0, 1, 4]
    assert member.tolist() == [0, 1, 0, 1, 2]
    assert count.tolist() == [2, 2, 1]


@given(arrays(float, (12, 3), elements=st.sampled_from([0.0, 0.5, 1 / 3])))
def test_digests_are_equal_where_rows_are(matrix: FloatArray) -> None:
    digests = row_digests(sparse.csr_array(matrix))
    for i in range(12):
        for j in range(12):
            assert (digests[i] == digests[j]) == (matrix[i] == matrix[j]).all()


def test_what_rounding_leaves_and_the_order_of_entries_do_not_matter() -> None:
    rows = sparse.csr_array(np.array([[0.1 + 0.2, 0.0, 1.0], [0.3, 0.0, 1.0]]))
    turned = sparse.csr_array(([1.0, 0.3, 0.0], [2, 0, 1], [0, 3]), shape=(1, 3))
    assert len({*row_digests(rows).tolist(), *row_digests(turned).tolist()}) == 1


def test_sets_of_equal_digests_come_in_the_order_of_their_first() -> None:
    digests = np.array([9, 2, 9, 5, 2], dtype=np.uint64)
    first, member, size = distinct_digests(digests)
    assert first.tolist() == [0, 1, 3]
    assert member.tolist() == [0, 1, 0, 2, 1]
    assert size.tolist() == [2.0, 2.0, 1.0]
