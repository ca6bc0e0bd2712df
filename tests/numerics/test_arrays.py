import numpy as np

from mhpc.numerics.arrays import Rows, by_rows, dense, selected

MATRIX = np.arange(12.0).reshape(4, 3)


def lazy_rows(computed: list[int] | None = None) -> Rows:
    """Return `MATRIX` as rows computed on demand; their positions are added to `computed`."""

    def make(rows: np.ndarray) -> np.ndarray:
        if computed is not None:
            computed.extend(rows.tolist())
        return np.asarray(MATRIX[rows])

    return Rows(MATRIX.shape, make)


def test_rows_are_computed_when_they_are_asked_for() -> None:
    computed: list[int] = []
    rows = lazy_rows(computed)
    assert computed == []
    np.testing.assert_array_equal(rows[1:3], MATRIX[1:3])
    assert computed == [1, 2]
    np.testing.assert_array_equal(rows[np.array([3, 0])], MATRIX[[3, 0]])
    np.testing.assert_array_equal(rows[np.array([True, False, False, True])], MATRIX[[0, 3]])
    np.testing.assert_array_equal(dense(rows), MATRIX)
    np.testing.assert_array_equal(np.asarray(rows), MATRIX)


def test_combining_lazy_rows_gives_lazy_rows() -> None:
    computed: list[int] = []
    total = by_rows(lambda a, b: a + b, lazy_rows(computed), MATRIX)
    assert isinstance(total, Rows)
    assert computed == []
    np.testing.assert_array_equal(total[2:], 2 * MATRIX[2:])
    assert computed == [2, 3]


def test_combining_matrices_in_memory_is_immediate() -> None:
    np.testing.assert_array_equal(dense(by_rows(lambda a: a * 2, MATRIX)), MATRIX * 2)


def test_combining_may_use_the_positions_of_rows() -> None:
    scaled = by_rows(lambda rows, a: a * rows[:, None], lazy_rows(), positions=True)
    np.testing.assert_array_equal(scaled[1:3], MATRIX[1:3] * [[1], [2]])


def test_selected_rows_have_new_positions() -> None:
    rows = np.array([3, 1])
    lazy = selected(lazy_rows(), rows)
    assert lazy.shape == (2, 3)
    np.testing.assert_array_equal(lazy[:], MATRIX[rows])
    np.testing.assert_array_equal(dense(selected(MATRIX, rows)), MATRIX[rows])
