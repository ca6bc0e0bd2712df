import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist

from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.landmark_search import DEFAULT_SEARCH, SearchOptions
from mhpc.numerics.neighbors import Landmarks, estimate_sigma, nearest

LEAVES = SearchOptions(max_exact=100, leaf_size=7, group_size=2)
"""A search of leaves among few landmarks."""

ALL_LEAVES = replace(LEAVES, searched_share=1.0)


def nearest_among(
    X: FloatArray | Sparse,
    landmarks: FloatArray | Sparse,
    count: int,
    options: SearchOptions = DEFAULT_SEARCH,
) -> tuple[IntArray, FloatArray]:
    """Return the `count` nearest landmarks of every row and their distances."""
    search = Landmarks(sparse.csr_array(landmarks))
    return search.nearest(sparse.csr_array(X), count, options=options)


def vectors(rows: int, *, columns: int = 6, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.random((rows, columns)) * (rng.random((rows, columns)) < 0.6))


def nearest_by_sorting(X: FloatArray, landmarks: FloatArray, count: int) -> list[list[int]]:
    far = np.round(cdist(X, landmarks, "sqeuclidean"), 12)
    return [sorted(range(len(landmarks)), key=lambda j: (row[j], j))[:count] for row in far]


@pytest.mark.parametrize("cells", [1, 700, 1 << 24], ids=["rows", "blocks", "at once"])
@pytest.mark.parametrize("count", [1, 4, 30, 900])
@pytest.mark.parametrize("wide", [4000, 0], ids=["dense", "sparse"])
def test_nearest_landmarks_are_what_sorting_all_distances_gives(
    cells: int, count: int, wide: int
) -> None:
    options = SearchOptions(block_cells=cells, max_dense_columns=wide)
    X, landmarks = vectors(23, seed=1), vectors(301)
    near, far = nearest_among(X, landmarks, count, options)
    assert near.tolist() == nearest_by_sorting(X, landmarks, count)
    expected = np.sort(cdist(X, landmarks), axis=1)[:, :count]
    np.testing.assert_allclose(far, expected, atol=1e-6)


@given(
    arrays(float, (40, 2), elements=st.integers(0, 2)),
    arrays(float, (300, 2), elements=st.integers(0, 2)),
    st.integers(1, 60),
)
def test_of_landmarks_at_the_same_distance_the_earlier_are_nearer(
    X: FloatArray, landmarks: FloatArray, count: int
) -> None:
    # On nine points hundreds of landmarks are tied, many more than are asked for.
    near = nearest_among(X, landmarks, count)[0]
    assert near.tolist() == nearest_by_sorting(X, landmarks, count)


@pytest.mark.parametrize("answers", [1, 3, 5])
def test_landmarks_and_exact_distances_have_the_same_nearest_rows(answers: int) -> None:
    # Means of few answers: thirds and fifths, whose distances are equal but for rounding.
    X = np.random.default_rng(0).integers(0, answers + 1, (700, 8)) / answers
    nearest_landmarks = Landmarks(sparse.csr_array(X)).nearest(
        sparse.csr_array(X), 15, exclude=np.arange(len(X))
    )
    expected = nearest(X, 15)
    assert nearest_landmarks[0].tolist() == expected[0].tolist()
    np.testing.assert_allclose(nearest_landmarks[1], expected[1], atol=1e-9)


def test_an_excluded_landmark_is_infinitely_far() -> None:
    X = vectors(5)
    excluded = np.array([2, -1, 0, 4, -1])
    near, far = Landmarks(sparse.csr_array(X)).nearest(sparse.csr_array(X), 5, exclude=excluded)
    for row, landmark in enumerate(excluded):
        assert sorted(near[row]) == list(range(5))
        infinite = near[row][np.isinf(far[row])].tolist()
        assert infinite == ([landmark] if landmark >= 0 else [])


def test_without_landmarks_none_is_found() -> None:
    near, far = nearest_among(vectors(3), np.zeros((0, 6)), 4)
    assert near.shape == far.shape == (3, 0)


def test_a_row_that_is_a_landmark_has_distance_zero() -> None:
    X = vectors(50)
    near, far = nearest_among(X, X, 1)
    assert near.ravel().tolist() == list(range(50))
    assert not far.any()


def test_landmarks_are_pickled_without_their_search_structures() -> None:
    landmarks = Landmarks(sparse.csr_array(vectors(40)))
    size = len(pickle.dumps(landmarks))
    X = sparse.csr_array(vectors(3, seed=2))
    before = landmarks.nearest(X, 4)
    assert len(pickle.dumps(landmarks)) == size
    after = pickle.loads(pickle.dumps(landmarks)).nearest(X, 4)  # noqa: S301
    assert before[0].tolist() == after[0].tolist()


@pytest.mark.parametrize("cells", [1, 1 << 24], ids=["rows", "at once"])
@pytest.mark.parametrize("count", [1, 4, 30, 900])
def test_a_search_of_all_leaves_is_exact(cells: int, count: int) -> None:
    X, landmarks = vectors(23, seed=1), vectors(301)
    near, _ = nearest_among(X, landmarks, count, replace(ALL_LEAVES, block_cells=cells))
    assert near.tolist() == nearest_by_sorting(X, landmarks, count)


def test_of_many_landmarks_at_the_same_distance_the_earlier_are_nearer() -> None:
    rng = np.random.default_rng(0)
    X, landmarks = rng.integers(0, 3, (40, 2)), rng.integers(0, 3, (300, 2))
    near = nearest_among(X.astype(float), landmarks.astype(float), 25, ALL_LEAVES)[0]
    assert near.tolist() == nearest_by_sorting(X.astype(float), landmarks.astype(float), 25)


def test_most_of_the_nearest_are_in_an_eighth_of_the_leaves() -> None:
    rng = np.random.default_rng(0)
    centres = rng.random((60, 20)) * (rng.random((60, 20)) < 0.3)
    landmarks = centres[rng.integers(60, size=3000)] + 0.05 * rng.random((3000, 20))
    X = landmarks[::50] + 0.01
    near = nearest_among(X, landmarks, 10, LEAVES)[0]
    n_in_common = [
        len(set(a) & set(b))
        for a, b in zip(near.tolist(), nearest_by_sorting(X, landmarks, 10), strict=True)
    ]
    assert np.mean(n_in_common) > 9


def test_the_result_of_a_row_does_not_depend_on_other_rows() -> None:
    X, landmarks = vectors(60, seed=1), Landmarks(sparse.csr_array(vectors(400)))
    near_together = landmarks.nearest(sparse.csr_array(X), 5, options=LEAVES)
    near_alone = [
        landmarks.nearest(sparse.csr_array(X[[row]]), 5, options=LEAVES) for row in range(len(X))
    ]
    assert near_together[0].tolist() == [near[0].tolist() for near, _ in near_alone]


def test_equal_landmarks_can_be_divided_into_leaves() -> None:
    near, far = nearest_among(np.ones((3, 4)), np.ones((200, 4)), 5, LEAVES)
    assert not far.any()
    assert near.shape == (3, 5)


def distance(X: FloatArray, i: int, j: int) -> float:
    return float(np.sqrt(np.sum((X[i] - X[j]) ** 2)))


def nearest_by_loops(X: FloatArray, count: int) -> list[list[int]]:
    return [
        sorted((j for j in range(len(X)) if j != i), key=lambda j: (distance(X, i, j), j))[:count]
        for i in range(len(X))
    ]


@pytest.mark.parametrize("cells", [1, 100, 1 << 22], ids=["rows", "blocks", "at once"])
@pytest.mark.parametrize("count", [1, 4, 30, 99])
def test_the_nearest_rows_are_what_sorting_all_distances_gives(cells: int, count: int) -> None:
    X = vectors(31)
    near, distances = nearest(X, count, block_cells=cells)
    assert near.tolist() == nearest_by_loops(X, count)
    expected = np.sort(cdist(X, X), axis=1)[:, 1 : 1 + count]
    np.testing.assert_allclose(distances, expected, atol=1e-7)


@given(arrays(float, (12, 2), elements=st.integers(0, 2)), st.integers(1, 11))
def test_of_rows_at_the_same_distance_the_earlier_is_nearer(X: FloatArray, count: int) -> None:
    # On a grid of nine points most distances are tied, and all are exact.
    assert nearest(X, count)[0].tolist() == nearest_by_loops(X, count)


@pytest.mark.parametrize("rows", [0, 1])
def test_a_single_row_has_no_nearest_rows(rows: int) -> None:
    near, distances = nearest(vectors(rows), 3)
    assert near.shape == distances.shape == (rows, 0)


def test_all_distances_to_landmarks_are_euclidean() -> None:
    X, landmarks = vectors(7, seed=1), vectors(30)
    distances = Landmarks(sparse.csr_array(landmarks)).distances(sparse.csr_array(X))
    np.testing.assert_allclose(distances, cdist(X, landmarks), atol=1e-6)


def test_sigma_is_the_mean_distance_to_the_15_nearest_rows() -> None:
    X = vectors(40)
    near = nearest_by_loops(X, 15)
    expected = np.mean([[distance(X, i, j) for j in near[i]] for i in range(len(X))])
    assert estimate_sigma(X) == pytest.approx(expected)


def test_sigma_of_equal_rows_is_one() -> None:
    assert estimate_sigma(np.ones((5, 3))) == 1.0
