import numpy as np

from mhpc.graph.distinct import distinct_rows


def test_equal_rows_become_one_with_their_count() -> None:
    rows = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [-0.0, 0.0], [2.0, 1.0]])
    first, member, count = distinct_rows(rows)
    assert first.tolist() == [0, 1, 4]
    assert member.tolist() == [0, 1, 0, 1, 2]
    assert count.tolist() == [2, 2, 1]
