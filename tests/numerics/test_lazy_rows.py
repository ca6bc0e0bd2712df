import numpy as np

from mhpc.numerics.arrays import Rows, by_rows, dense, selected

MATRIX = np.arange(12.0).reshape(4, 3)


def made(asked: list[int] | None = None) -> Rows:
    def make(at: np.ndarray) -> np.ndarray:
        if asked is not None:
            asked.extend(at.tolist())
        return np.asarray(MATRIX[at])

    return Rows(MATRIX.shape, make)


def test_rows_are_made_when_they_are_asked_for() -> None:
    asked: list[int] = []
    rows = made(asked)
    assert asked == []
    np.testing.assert_array_equal(rows[1:3], MATRIX[1:3])
    assert asked == [1, 2]
    np.testing.assert_array_equal(rows[np.array([3, 0])], MATRIX[[3, 0]])
    np.testing.assert_array_equal(rows[np.array([True, False, False, True])], MATRIX[[0, 3]])
    np.testing.assert_array_equal(dense(rows), MATRIX)
    np.testing.assert_array_equal(np.asarray(rows), MATRIX)


def test_combining_with_rows_gives_rows_that_wait_too() -> None:
    asked: list[int] = []
    both = by_rows(lambda one, other: one + other, made(asked), MATRIX)
    assert isinstance(both, Rows)
    assert asked == []
    np.testing.assert_array_equal(both[2:], 2 * MATRIX[2:])
    assert asked == [2, 3]


def test_combining_what_is_at_hand_is_done_at_once() -> None:
    np.testing.assert_array_equal(dense(by_rows(lambda one: one * 2, MATRIX)), MATRIX * 2)


def test_combining_may_depend_on_where_rows_are() -> None:
    doubled = by_rows(lambda at, one: one * at[:, None], made(), positions=True)
    np.testing.assert_array_equal(doubled[1:3], MATRIX[1:3] * [[1], [2]])


def test_selected_rows_are_counted_anew() -> None:
    some = selected(made(), np.array([3, 1]))
    assert some.shape == (2, 3)
    np.testing.assert_array_equal(some[:], MATRIX[[3, 1]])
    np.testing.assert_array_equal(dense(selected(MATRIX, np.array([3, 1]))), MATRIX[[3, 1]])
