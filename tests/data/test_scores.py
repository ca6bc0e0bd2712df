"""Scores in blocks, and the cells of them worth keeping."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from mhpc.data.scores import (
    BLOCK_ENTRIES,
    Consolidation,
    ScoredCells,
    Top,
    add_label_sets,
    best_first,
    instance_blocks,
    scored_cells,
    select_instances,
    sort_best_first,
    top_cells,
)
from mhpc.data.taxonomy import build_taxonomy
from mhpc.numerics.arrays import BoolArray, FloatArray, Matrix
from tests.fixtures.scores import consolidation_of


def flat_consolidation(score: Matrix, specific: Matrix) -> Consolidation:
    """Return a consolidation of labels that are all roots."""
    labels = build_taxonomy([f"k{k}" for k in range(score.shape[1])], [])
    return consolidation_of(score, labels, specific=specific)


def list_cells(
    score: Matrix, specific: Matrix, top: Top, block_entries: int = BLOCK_ENTRIES
) -> list[tuple[float, ...]]:
    """Return (row, label, score, specific) of the cells that are kept."""
    consolidation = flat_consolidation(score, specific)
    return [
        cell
        for block in scored_cells(consolidation, top=top, block_entries=block_entries)
        for cell in zip(*(column.tolist() for column in vars(block).values()), strict=True)
    ]


def list_cells_by_sorting(
    score: FloatArray, specific: FloatArray, top: Top
) -> list[tuple[float, ...]]:
    """Return the same by sorting every row."""
    keep = is_among_top(score, top) | is_among_top(specific, top)
    keep[~keep.any(axis=1), 0] = True
    return [(r, k, score[r, k], specific[r, k]) for r, k in np.argwhere(keep).tolist()]


def is_among_top(scores: FloatArray, top: Top) -> BoolArray:
    mask = np.zeros(scores.shape, dtype=bool)
    order = np.argsort(-scores, axis=1, kind="stable")[:, : None if top == "all" else top]
    np.put_along_axis(mask, order, True, axis=1)
    return mask & (scores > 0)


@st.composite
def pairs_of_scores(draw: st.DrawFn) -> tuple[FloatArray, FloatArray]:
    """Draw two matrices with many ties, zeros and, at times, negative numbers."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lowest, zeros = draw(st.sampled_from([0, -2])), draw(st.sampled_from([0.0, 0.5, 0.9]))
    values = rng.integers(lowest, 4, size=(2, rows, columns)) / 2
    score, specific = np.where(rng.random(values.shape) < zeros, 0.0, values)
    return score, specific


@given(pairs_of_scores(), st.sampled_from([1, 2, 3, 5, 20, "all"]))
def test_dense_and_sparse_scores_keep_the_cells_that_sorting_every_row_keeps(
    pair: tuple[FloatArray, FloatArray], top: Top
) -> None:
    expected = list_cells_by_sorting(*pair, top)
    score, specific = map(sparse.csr_array, pair)
    assert list_cells(*pair, top) == expected
    assert list_cells(score, specific, top) == expected
    assert list_cells(score, pair[1], top) == expected


@given(pairs_of_scores(), st.sampled_from([1, 3, "all"]), st.integers(1, 7))
def test_the_size_of_blocks_does_not_change_the_cells(
    pair: tuple[FloatArray, FloatArray], top: Top, block_entries: int
) -> None:
    score, specific = map(sparse.csr_array, pair)
    assert list_cells(score, specific, top, block_entries) == list_cells_by_sorting(*pair, top)


@given(pairs_of_scores(), st.sampled_from([1, 3, "all"]), st.integers(1, 100))
def test_the_size_of_strips_does_not_change_the_cells(
    pair: tuple[FloatArray, FloatArray], top: Top, strip_cells: int
) -> None:
    whole, strips = (
        top_cells(7, *pair, top=top),
        top_cells(7, *pair, top=top, strip_cells=strip_cells),
    )
    for expected, found in zip(vars(whole).values(), vars(strips).values(), strict=True):
        np.testing.assert_array_equal(found, expected)


@settings(deadline=None)
@given(pairs_of_scores(), st.integers(1, 3), st.data())
def test_label_sets_are_added_to_the_cells_that_are_kept(
    pair: tuple[FloatArray, FloatArray], top: int, data: st.DataObject
) -> None:
    score, specific = pair
    chosen = data.draw(arrays(bool, score.shape))
    is_kept = chosen.copy()
    for row, label, *_ in list_cells_by_sorting(score, specific, top):
        is_kept[int(row), int(label)] = True
    sets = sparse.csr_array(chosen.astype(float))
    for some, other in ((score, specific), (sparse.csr_array(score), sparse.csr_array(specific))):
        cells = top_cells(5, some, other, top=top)
        cells = add_label_sets(cells, 5, some, other, sets)
        assert np.stack([cells.row - 5, cells.label], axis=1).tolist() == (
            np.argwhere(is_kept).tolist()
        )
        assert cells.score.tolist() == score[is_kept].tolist()
        assert cells.specific.tolist() == specific[is_kept].tolist()


def test_sparse_scores_may_be_unsorted_with_repeated_and_zero_entries() -> None:
    # The row 0.5, 0, 2 with its last cell in two entries, and a stored zero.
    score = sparse.csr_array(
        (np.array([1.0, 0.5, 1.0, 0.0]), np.array([2, 0, 2, 1]), np.array([0, 4])), shape=(1, 3)
    )
    assert list_cells(score, score, 1) == [(0, 2, 2.0, 2.0)]
    assert score.nnz == 4


def test_sparse_scores_of_very_many_labels_are_never_made_dense() -> None:
    n_labels = 1 << 40
    entries = (np.array([0.5, 0.25]), (np.array([1, 1]), np.array([7, n_labels - 1])))
    score = sparse.csr_array(entries, shape=(2, n_labels))
    few_labels = flat_consolidation(np.zeros((2, 2)), np.zeros((2, 2)))
    (cells,) = scored_cells(replace(few_labels, score=score, specific=score), top=5)
    assert cells.label.tolist() == [0, 7, n_labels - 1]
    assert cells.score.tolist() == [0.0, 0.5, 0.25]


def test_blocks_of_sparse_scores_are_limited_by_the_entries_of_both_views() -> None:
    full = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1]])
    matrix = sparse.csr_array(full.astype(float))
    consolidation = flat_consolidation(matrix, matrix)
    blocks = instance_blocks(consolidation, block_entries=8)
    assert [(rows.start, rows.stop) for rows in blocks] == [(0, 2), (2, 5), (5, 6)]


def test_blocks_of_dense_scores_are_limited_by_their_cells_and_can_be_sampled() -> None:
    consolidation = flat_consolidation(np.zeros((10, 3)), np.zeros((10, 3)))
    blocks = list(instance_blocks(consolidation, block_cells=6))
    assert [(rows.start, rows.stop) for rows in blocks] == [(i, i + 2) for i in range(0, 10, 2)]
    # Every second block, to see about 5 of 10 instances.
    assert list(instance_blocks(consolidation, block_cells=6, sample=5)) == blocks[::2]


def test_selected_instances_keep_their_scores() -> None:
    score = np.arange(12.0).reshape(4, 3)
    selected = select_instances(flat_consolidation(score, -score), np.array([2, 0]))
    assert list(selected.instances) == ["x2", "x0"]
    np.testing.assert_array_equal(selected.score, score[[2, 0]])
    np.testing.assert_array_equal(selected.specific, -score[[2, 0]])


@settings(deadline=None)
@given(
    arrays(np.int64, st.integers(0, 40), elements=st.sampled_from([3, 4, 5, 10**6])),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["ties", "small", "one bit apart", "huge"]),
)
def test_cells_are_ordered_as_sorting_by_all_four_orders_them(
    rows: np.ndarray, seed: int, kind: str
) -> None:
    rng, n = np.random.default_rng(seed), len(rows)
    score = {
        "ties": rng.choice([0.0, 0.5, 1.0], n),
        "small": rng.random(n) * 1e-9,
        "one bit apart": np.nextafter(0.5, rng.choice([0.0, 0.5, 1.0], n)),
        "huge": rng.choice([0.0, 1e17, 1e300], n) * rng.random(n),
    }[kind]
    cells = ScoredCells(np.sort(rows), np.arange(n), score, rng.choice([0.0, 0.5], n))
    slow = np.lexsort((cells.label, -cells.specific, -cells.score, cells.row))
    assert best_first(cells).tolist() == slow.tolist()
    ordered = sort_best_first(cells)
    assert ordered.row.tolist() == cells.row[slow].tolist()
    assert ordered.specific.tolist() == cells.specific[slow].tolist()
