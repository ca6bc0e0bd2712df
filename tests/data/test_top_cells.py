import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mhpc.data import scores as walking
from mhpc.data.index import Index
from mhpc.data.scores import Consolidation, Top, scored_cells, stored_blocks
from mhpc.data.taxonomy import build_taxonomy
from mhpc.numerics.arrays import BoolArray, FloatArray, Matrix


def consolidation(score: Matrix, specific: Matrix) -> Consolidation:
    rows, columns = score.shape
    return Consolidation(
        taxonomy=build_taxonomy([f"k{n}" for n in range(columns)], []),
        instances=Index(tuple(f"i{n}" for n in range(rows))),
        score=score,
        specific=specific,
        method="sa",
    )


def found(score: Matrix, specific: Matrix, top: Top) -> list[tuple[float, ...]]:
    return [
        cell
        for part in scored_cells(consolidation(score, specific), top=top)
        for cell in zip(*(x.tolist() for x in vars(part).values()), strict=True)
    ]


def expected(score: FloatArray, specific: FloatArray, top: Top) -> list[tuple[float, ...]]:
    """Sort every row whole."""
    keep = among_best(score, top) | among_best(specific, top)
    keep[~keep.any(axis=1), 0] = True
    return [(r, k, score[r, k], specific[r, k]) for r, k in np.argwhere(keep).tolist()]


def among_best(scores: FloatArray, top: Top) -> BoolArray:
    mask = np.zeros(scores.shape, dtype=bool)
    most = None if top == "all" else top
    order = np.argsort(-scores, axis=1, kind="stable")[:, :most]
    np.put_along_axis(mask, order, True, axis=1)
    return mask & (scores > 0)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[FloatArray, FloatArray]:
    """Draw two matrices with many ties, zeros and, at times, numbers below 0."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lowest, zeros = draw(st.sampled_from([0, -2])), draw(st.sampled_from([0.0, 0.5, 0.9]))
    values = rng.integers(lowest, 4, size=(2, rows, columns)) / 2
    one, other = np.where(rng.random(values.shape) < zeros, 0.0, values)
    return one, other


@given(pairs(), st.sampled_from([1, 2, 3, 5, 20, "all"]))
def test_dense_and_sparse_scores_keep_what_sorting_every_row_keeps(
    pair: tuple[FloatArray, FloatArray], top: Top
) -> None:
    wanted = expected(*pair, top)
    score, specific = map(sparse.csr_array, pair)
    assert found(*pair, top) == wanted
    assert found(score, specific, top) == wanted
    assert found(score, pair[1], top) == wanted


@given(pairs(), st.sampled_from([1, 3, "all"]), st.integers(1, 7))
def test_blocks_make_no_difference(
    pair: tuple[FloatArray, FloatArray], top: Top, entries: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walking, "BLOCK_ENTRIES", entries)
        score, specific = map(sparse.csr_array, pair)
        assert found(score, specific, top) == expected(*pair, top)


def test_sparse_scores_may_be_stored_in_any_order_and_in_pieces() -> None:
    # The row 0.5, 0, 2 with its last cell in two pieces, and a zero that is stored.
    score = sparse.csr_array(
        (np.array([1.0, 0.5, 1.0, 0.0]), np.array([2, 0, 2, 1]), np.array([0, 4])), shape=(1, 3)
    )
    assert found(score, score, 1) == [(0, 2, 2.0, 2.0)]
    assert score.nnz == 4


def test_spans_hold_about_as_many_entries_and_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "BLOCK_ENTRIES", 4)
    full = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1]])
    matrix = sparse.csr_array(full)
    assert [(s.start, s.stop) for s in stored_blocks(matrix)] == [(0, 2), (2, 5), (5, 6)]
    assert [(s.start, s.stop) for s in stored_blocks(matrix, matrix)] == [
        (0, 1), (1, 2), (2, 3), (3, 5), (5, 6),
    ]  # fmt: skip
    assert list(stored_blocks(sparse.csr_array((0, 3)))) == []


def test_many_labels_take_no_dense_block() -> None:
    columns = 1 << 40
    entries = (np.array([0.5, 0.25]), (np.array([1, 1]), np.array([7, columns - 1])))
    score = sparse.csr_array(entries, shape=(2, columns))
    few = consolidation(np.zeros((2, 2)), np.zeros((2, 2)))
    wide = Consolidation(few.taxonomy, few.instances, score, score, "sa")
    (cells,) = scored_cells(wide, top=5)
    assert cells.label.tolist() == [0, 7, columns - 1]
    assert cells.score.tolist() == [0.0, 0.5, 0.25]
