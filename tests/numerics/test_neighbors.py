import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist

from mhpc.numerics import neighbors as everywhere
from mhpc.numerics import neighbors as leaves
from mhpc.numerics import neighbors as module
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.neighbors import Landmarks, nearest


def nearest_among(
    X: FloatArray | Sparse, landmarks: FloatArray | Sparse, count: int
) -> tuple[IntArray, FloatArray]:
    """Return the `count` nearest landmarks of every row and how far they are."""
    return Landmarks(sparse.csr_array(landmarks)).nearest(sparse.csr_array(X), count)


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
    cells: int, count: int, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CELLS", cells)
    monkeypatch.setattr(everywhere, "WIDE", wide)
    X, landmarks = vectors(23, seed=1), vectors(301)
    near, far = nearest_among(X, landmarks, count)
    assert near.tolist() == nearest_by_sorting(X, landmarks, count)
    expected = np.sort(cdist(X, landmarks), axis=1)[:, :count]
    np.testing.assert_allclose(far, expected, atol=1e-6)


@given(
    arrays(float, (40, 2), elements=st.integers(0, 2)),
    arrays(float, (300, 2), elements=st.integers(0, 2)),
    st.integers(1, 60),
)
def test_of_landmarks_equally_far_the_earlier_are_nearer(
    X: FloatArray, landmarks: FloatArray, count: int
) -> None:
    # On nine points hundreds of landmarks are as far as each other, many more than are asked for.
    found = nearest_among(X, landmarks, count)[0]
    assert found.tolist() == nearest_by_sorting(X, landmarks, count)


@pytest.mark.parametrize("answers", [1, 3, 5])
def test_the_nearest_others_are_those_of_the_exact_local_graph(answers: int) -> None:
    # Means of few answers: thirds and fifths, whose distances are equal but for rounding.
    X = np.random.default_rng(0).integers(0, answers + 1, (700, 8)) / answers
    found = Landmarks(sparse.csr_array(X)).nearest(sparse.csr_array(X), 15, but=np.arange(len(X)))
    expected = nearest(X, 15)
    assert found[0].tolist() == expected[0].tolist()
    np.testing.assert_allclose(found[1], expected[1], atol=1e-9)


def test_what_is_left_out_is_infinitely_far() -> None:
    X = vectors(5)
    at = np.array([2, -1, 0, 4, -1])
    near, far = Landmarks(sparse.csr_array(X)).nearest(sparse.csr_array(X), 5, but=at)
    for row, left_out in enumerate(at):
        assert sorted(near[row]) == list(range(5))
        infinite = near[row][np.isinf(far[row])].tolist()
        assert infinite == ([left_out] if left_out >= 0 else [])


def test_where_there_are_no_landmarks_none_is_found() -> None:
    near, far = nearest_among(vectors(3), np.zeros((0, 6)), 4)
    assert near.shape == far.shape == (3, 0)


def test_an_instance_on_a_landmark_is_at_no_distance() -> None:
    X = vectors(50)
    near, far = nearest_among(X, X, 1)
    assert near.ravel().tolist() == list(range(50))
    assert not far.any()


def test_landmarks_are_sent_without_their_layout() -> None:
    found = Landmarks(sparse.csr_array(vectors(40)))
    plain = len(pickle.dumps(found))
    X = sparse.csr_array(vectors(3, seed=2))
    before = found.nearest(X, 4)
    assert len(pickle.dumps(found)) == plain
    after = pickle.loads(pickle.dumps(found)).nearest(X, 4)  # noqa: S301
    assert before[0].tolist() == after[0].tolist()


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few landmarks be so many that they are divided into leaves."""
    monkeypatch.setattr(module, "EVERYWHERE", 100)
    monkeypatch.setattr(leaves, "_SIZE", 7)
    monkeypatch.setattr(leaves, "_GROUP", 2)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("cells", [1, 1 << 24], ids=["rows", "at once"])
@pytest.mark.parametrize("count", [1, 4, 30, 900])
def test_where_all_leaves_are_searched_the_nearest_are_found(
    cells: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CELLS", cells)
    monkeypatch.setattr(leaves, "_SEARCHED", 1.0)
    X, landmarks = vectors(23, seed=1), vectors(301)
    assert nearest_among(X, landmarks, count)[0].tolist() == nearest_by_sorting(X, landmarks, count)


@pytest.mark.usefixtures("many")
def test_of_many_landmarks_equally_far_the_earlier_are_nearer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leaves, "_SEARCHED", 1.0)
    rng = np.random.default_rng(0)
    X, landmarks = rng.integers(0, 3, (40, 2)), rng.integers(0, 3, (300, 2))
    found = nearest_among(X.astype(float), landmarks.astype(float), 25)[0]
    assert found.tolist() == nearest_by_sorting(X.astype(float), landmarks.astype(float), 25)


@pytest.mark.usefixtures("many")
def test_most_of_the_nearest_are_in_an_eighth_of_the_leaves() -> None:
    rng = np.random.default_rng(0)
    centres = rng.random((60, 20)) * (rng.random((60, 20)) < 0.3)
    landmarks = centres[rng.integers(60, size=3000)] + 0.05 * rng.random((3000, 20))
    X = landmarks[::50] + 0.01
    found = nearest_among(X, landmarks, 10)[0]
    same = [
        len(set(a) & set(b))
        for a, b in zip(found.tolist(), nearest_by_sorting(X, landmarks, 10), strict=True)
    ]
    assert np.mean(same) > 9


@pytest.mark.usefixtures("many")
def test_what_is_found_does_not_depend_on_which_rows_come_together() -> None:
    X, landmarks = vectors(60, seed=1), Landmarks(sparse.csr_array(vectors(400)))
    together = landmarks.nearest(sparse.csr_array(X), 5)
    alone = [landmarks.nearest(sparse.csr_array(X[[row]]), 5) for row in range(len(X))]
    assert together[0].tolist() == [near[0].tolist() for near, _ in alone]


@pytest.mark.usefixtures("many")
def test_landmarks_that_are_all_alike_can_be_divided() -> None:
    near, far = nearest_among(np.ones((3, 4)), np.ones((200, 4)), 5)
    assert not far.any()
    assert near.shape == (3, 5)
