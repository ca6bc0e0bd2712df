"""The result of a method: scores of instances and labels, and the cells of them worth keeping."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.combination import Combination
from mhpc.data.denials import DenialWeights
from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import (
    Block,
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    Rows,
    Sparse,
    dense,
    selected,
)
from mhpc.numerics.sparse import (
    are_cells,
    canonical,
    cell_numbers,
    lookup_cells,
    row_blocks,
    row_indices,
    run_starts,
    values_at,
)
from mhpc.parameters import registered
from mhpc.system.display import MAX_ROWS, short_table

Top: TypeAlias = int | Literal["all"]
"""How many labels of each instance to keep."""

BLOCK_CELLS = 1 << 21
"""Cells of a dense block, 16 MB of float64: no loop over scores needs N x K of them at once."""

BLOCK_ENTRIES = BLOCK_CELLS // 8
"""Stored cells of a block of sparse scores, each of which takes more memory than a dense one."""

STRIP_CELLS = 1 << 18
"""Cells of a block whose best are found at a time: so few that they stay in the cache."""

GROUP_SIZE = 5
"""Labels whose largest score is found first when the best labels of an instance are."""

ROUNDING = 1e-6
"""How far below 0 a computed score may be, from rounding."""

_MAX_KEY = 1e12
"""Numbers below this are precise enough to keep the cells of different rows apart."""

_SMALLEST = float(np.nextafter(0.0, 1.0))
"""The smallest number above 0."""


@registered("step")
@dataclass(frozen=True)
class Step:
    """One iteration of a method.

    Attributes
    ----------
    iteration : int
        0 is the first closed-form solution.
    change : float
        ``|Y - Y_before| / |Y_before|``, the relative change that the stopping rule looks at.
    objective : float or None
        The cost that is minimized, if the method has one.
    spread : float
        How much instances still differ, relative to the votes: 1 as much as these, 0 not at all.
        A falling spread is a sign of over-smoothing.
    seconds : float
        Wall time of the iteration.
    """

    iteration: int
    change: float
    objective: float | None
    spread: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of some instances in both views.

    Attributes
    ----------
    score, specific, expected_answers
        As in `Consolidation`; n instances.
    """

    score: Block
    specific: Block
    expected_answers: tuple[Block, Block] | None = None

    def __post_init__(self) -> None:
        for name, view in (("score", self.score), ("specific", self.specific)):
            values = np.asarray(view.data if sparse.issparse(view) else view)
            # A comparison with nan is false.
            if not (values.min(initial=0.0) > -ROUNDING and values.max(initial=0.0) < np.inf):
                raise ValueError(f"{name} is negative or no finite number")


@dataclass(frozen=True, eq=False)
class Consolidation:
    """The scores of all instances, and how they were computed.

    Attributes
    ----------
    taxonomy, instances
        The two axes: K labels, N instances.
    score : array, csr_array or lazy rows, (N, K)
        How likely it is that the label applies (closed view). The paper's methods have one raw
        number here and in `specific`; higher is likelier, and comparable within a run.
    specific : array, csr_array or lazy rows, (N, K)
        How likely it is that the label applies and none of its children does (specific view).
    method : str
        The registered name of the method.
    parameters : mapping
        All parameters of the method.
    trace : tuple of Step
        The iterations; empty for methods without any.
    converged : bool
        False if an iteration stopped at its limit.
    threshold : float or None
        The score from which on a label applies, if the method defines one.
    is_probability : bool
        Whether `score` is, or stands for, the share of sources that would give the label, so that
        the number of labels in an answer tells how many labels to expect.
    one_truth : bool
        Whether the method assumes that an instance has one true label, with its ancestors.
    expected_answers : pair of matrices or None
        The answer expected of a new source, as (specific, closed), if it differs from the scores
        because sources are vague and make mistakes. Cross-validation compares it with held-out
        answers.
    combination : Combination or None
        What was combined and how, if the method combines others.
    notes : tuple of str
        Remarks on the computation for the user.
    fitted : callable or None
        Returns the fitted method, which predicts new instances.
    denial_weights : DenialWeights or None
        How much negative votes counted; None if there were none.
    is_cut : bool
        Whether only the highest scores of each instance are known, as a run keeps them, and the
        others are 0.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method="majority").consolidation
    Consolidation(majority: 2 instances x 5 labels)
    """

    taxonomy: Taxonomy
    instances: Index
    score: Matrix
    specific: Matrix
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    trace: tuple[Step, ...] = ()
    converged: bool = True
    threshold: float | None = None
    is_probability: bool = False
    one_truth: bool = False
    expected_answers: tuple[Matrix, Matrix] | None = None
    combination: Combination | None = None
    notes: tuple[str, ...] = ()
    fitted: Callable[[], Any] | None = None
    denial_weights: DenialWeights | None = None
    is_cut: bool = False

    def view(self, name: str) -> Matrix:
        """Return `score` for the closed view, `specific` for the specific one."""
        return self.score if name == "closed" else self.specific

    def predict_answers(self, name: str) -> Matrix:
        """Return the answer expected of a new source, in the closed or the specific view."""
        if self.expected_answers is None:
            return self.view(name)
        return self.expected_answers[1] if name == "closed" else self.expected_answers[0]

    def __repr__(self) -> str:
        return (
            f"Consolidation({self.method}: {len(self.instances)} instances "
            f"x {len(self.taxonomy)} labels)"
        )

    def _repr_html_(self) -> str:
        score = dense(self.score[:MAX_ROWS])
        rows = (
            (self.instances[i], self.taxonomy.labels[k], float(score[i, k]))
            for i, k in enumerate(score.argmax(axis=1))
        )
        header = ("instance", "best label", "score")
        return short_table(repr(self), header, rows, total=len(self.instances))


def select_instances(consolidation: Consolidation, rows: IntArray) -> Consolidation:
    """Return the consolidation of some instances, given by their positions."""
    instances = consolidation.instances
    return replace(
        consolidation,
        instances=Index(tuple(instances[i] for i in rows)),
        score=selected(consolidation.score, rows),
        specific=selected(consolidation.specific, rows),
        expected_answers=None,
    )


def instance_blocks(
    consolidation: Consolidation,
    *,
    sample: int | None = None,
    block_cells: int = BLOCK_CELLS,
    block_entries: int = BLOCK_ENTRIES,
) -> Iterator[slice]:
    """Divide the instances into blocks whose scores are quickly worked on.

    Parameters
    ----------
    consolidation : Consolidation
        The scores.
    sample : int, optional
        About how many instances to look at: blocks are left out, evenly, if there are more.
    block_cells, block_entries : int
        The largest size of a block: cells of dense scores, stored entries of sparse ones.
    """
    score, specific = consolidation.score, consolidation.specific
    N, K = score.shape
    if sparse.issparse(score) and sparse.issparse(specific):
        blocks = list(row_blocks(N, _entries_per_row(score, specific), block_entries))
    else:
        width = score.width if isinstance(score, Rows) and score.width else K
        blocks = list(row_blocks(N, width, block_cells))
    return iter(blocks if sample is None else blocks[:: max(1, N // sample)])


def _entries_per_row(*matrices: Sparse) -> IntArray:
    stored = [np.diff(matrix.indptr) for matrix in matrices]
    return np.asarray(np.sum(stored, axis=0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class ScoredCells:
    """Some cells of both views, in order of row and label: four arrays, one entry per cell."""

    row: IntArray
    label: IntArray
    score: FloatArray
    specific: FloatArray


def scored_cells(
    consolidation: Consolidation, *, top: Top = "all", block_entries: int = BLOCK_ENTRIES
) -> Iterator[ScoredCells]:
    """Give the cells worth keeping, block by block: those of `top_cells`.

    Sparse scores cost as much as they store, however many labels there are.
    """
    score, specific = consolidation.score, consolidation.specific
    for rows in instance_blocks(consolidation, block_entries=block_entries):
        yield top_cells(rows.start, score[rows], specific[rows], top=top)


def top_cells(
    start: int, score: Block, specific: Block, *, top: Top, strip_cells: int = STRIP_CELLS
) -> ScoredCells:
    """Return the cells that are above 0 and among the best of their row in either view.

    A row without such a cell keeps its first label, so that the instance is not lost.

    Parameters
    ----------
    start : int
        The position of the first row.
    score, specific : array or csr_array, (n, K)
        The scores of a block of instances.
    top : int or "all"
        How many labels per row and view to keep; in a tie the earlier label comes first.
    strip_cells : int
        Cells of dense scores to work on at a time.
    """
    if sparse.issparse(score) and sparse.issparse(specific):
        return _top_stored_cells(start, canonical(score), canonical(specific), top)
    score, specific = dense(score), dense(specific)
    strips = [
        _top_dense_cells(start + rows.start, score[rows], specific[rows], top)
        for rows in list(row_blocks(len(score), score.shape[1], strip_cells)) or [slice(0, 0)]
    ]
    columns = zip(*(vars(strip).values() for strip in strips), strict=True)
    return ScoredCells(*map(np.concatenate, columns))


def _top_dense_cells(start: int, score: FloatArray, specific: FloatArray, top: Top) -> ScoredCells:
    keep = _is_among_top(score, top)
    keep |= _is_among_top(specific, top)
    keep[:, 0] |= ~keep.any(axis=1)
    # Numbers of cells are found, and cells read by them, several times as fast as by two indices.
    cell = np.flatnonzero(keep)
    row = cell // score.shape[1]
    values = (scores.ravel()[cell] for scores in (score, specific))
    return ScoredCells(row + start, cell - row * score.shape[1], *values)


def _is_among_top(scores: FloatArray, top: Top, *, group_size: int = GROUP_SIZE) -> BoolArray:
    """Mark the best labels above 0 of each row, the earlier label in a tie.

    The largest scores of groups of labels bound the lowest score among the best from below, so
    that only the few cells above that bound are compared with each other.
    """
    if top == "all" or top >= scores.shape[1]:
        return np.asarray(scores > 0)
    n_groups = scores.shape[1] // group_size
    if n_groups < 2 * top:
        return _is_among_top_of_few(scores, top)
    largest = scores[:, :n_groups].copy()
    for first in range(n_groups, n_groups * group_size, n_groups):
        np.maximum(largest, scores[:, first : first + n_groups], out=largest)
    largest.partition(n_groups - top, axis=1)
    mask = scores >= np.maximum(largest[:, n_groups - top, None], _SMALLEST)
    size = np.count_nonzero(mask, axis=1)
    cell = np.flatnonzero(mask)
    is_candidate = np.arange(size.max(initial=0)) < size[:, None]
    candidates = np.zeros(is_candidate.shape)
    candidates[is_candidate] = scores.ravel()[cell]
    mask.ravel()[cell] = _is_among_top_of_few(candidates, top)[is_candidate]
    return np.asarray(mask)


def _is_among_top_of_few(scores: FloatArray, top: int) -> BoolArray:
    """Mark the same by comparing all cells of a row."""
    K = scores.shape[1]
    if top >= K:
        return np.asarray(scores > 0)
    lowest = np.partition(scores, K - top, axis=1)[:, K - top, None]
    mask = scores >= np.maximum(lowest, _SMALLEST)
    too_many = np.flatnonzero(np.count_nonzero(mask, axis=1) > top)
    if len(too_many):
        is_tied = scores[too_many] == lowest[too_many]
        places = top - np.count_nonzero(mask[too_many] & ~is_tied, axis=1)
        is_late = np.cumsum(is_tied, axis=1, dtype=np.int32) > places[:, None]
        mask[too_many] &= ~(is_tied & is_late)
    return np.asarray(mask)


def _top_stored_cells(start: int, score: Sparse, specific: Sparse, top: Top) -> ScoredCells:
    n_rows, K = score.shape
    cell, values = _union(score, specific)
    row = cell // K
    label = cell - row * K
    in_score, in_specific = (_is_stored_among_top(row, value, n_rows, top) for value in values)
    keep = in_score | in_specific
    is_empty = np.bincount(row[keep], minlength=n_rows) == 0
    if is_empty.any():
        first_cells = np.flatnonzero(is_empty) * np.int64(K)
        kept = np.sort(np.concatenate([cell[keep], first_cells]))
        row, label = np.divmod(kept, K)
        return ScoredCells(
            row + start, label, *(lookup_cells(kept, cell, value) for value in values)
        )
    return ScoredCells(row[keep] + start, label[keep], values[0][keep], values[1][keep])


def _union(score: Sparse, specific: Sparse) -> tuple[IntArray, tuple[FloatArray, FloatArray]]:
    """Return all cells that either matrix stores, in order, and the values of both."""
    cell, specific_cell = cell_numbers(score), cell_numbers(specific)
    position = np.searchsorted(cell, specific_cell)
    if len(cell) and (cell[np.minimum(position, len(cell) - 1)] == specific_cell).all():
        # Usual: every specific label is in the closed view too, and nothing has to be sorted.
        values = np.zeros(len(cell))
        values[position] = specific.data
        return cell, (score.data, values)
    union = np.concatenate([cell, specific_cell])
    union.sort()
    union = union[run_starts(union)]
    return union, (
        lookup_cells(union, cell, score.data),
        lookup_cells(union, specific_cell, specific.data),
    )


def _is_stored_among_top(row: IntArray, value: FloatArray, n_rows: int, top: Top) -> BoolArray:
    """Mark the stored cells above 0 that are among the best of their row."""
    mask = np.asarray(value > 0)
    if top == "all":
        return mask
    n_positive = np.bincount(row[mask], minlength=n_rows)
    in_long_row = np.flatnonzero(mask & (n_positive > top)[row])
    mask[in_long_row] = _rank_in_row(row[in_long_row], value[in_long_row], n_rows) < top
    return mask


def _rank_in_row(row: IntArray, value: FloatArray, n_rows: int) -> IntArray:
    """Return how many entries of its row are larger than each, or equal and earlier."""
    size = np.bincount(row, minlength=n_rows)
    row_start = np.cumsum(size) - size
    rank = np.empty(len(row), dtype=np.int64)
    rank[np.lexsort((-value, row))] = np.arange(len(row)) - row_start[row]
    return rank


def add_label_sets(
    cells: ScoredCells, start: int, score: Block, specific: Block, label_sets: Sparse
) -> ScoredCells:
    """Add the labels that instances were given to the cells of `top_cells`, in the same order.

    A label set may have more labels than are worth keeping otherwise, and each needs its score.

    Parameters
    ----------
    cells : ScoredCells
        What `top_cells` returned.
    start, score, specific
        As for `top_cells`.
    label_sets : csr_array, (n, K)
        An entry at every label of the set of an instance.
    """
    n_rows, K = label_sets.shape
    cell = (cells.row - start) * np.int64(K) + cells.label
    row, label = row_indices(label_sets), label_sets.indices.astype(np.int64)
    is_missing = ~are_cells(row * np.int64(K) + label, cell, n_rows * K)
    if not is_missing.any():
        return cells
    row, label = row[is_missing], label[is_missing]
    order = np.argsort(np.concatenate([cell, row * np.int64(K) + label]), kind="stable")
    added = (row + start, label, *(values_at(block, row, label) for block in (score, specific)))
    columns = zip(vars(cells).values(), added, strict=True)
    return ScoredCells(*(np.concatenate(pair)[order] for pair in columns))


def sort_best_first(cells: ScoredCells) -> ScoredCells:
    """Return the cells by row, then score and specific, the highest first, then label."""
    order = best_first(cells)
    # Sorting leaves every cell in its row.
    return ScoredCells(cells.row, cells.label[order], cells.score[order], cells.specific[order])


def best_first(cells: ScoredCells) -> IntArray:
    """Return the order of `sort_best_first`, (C,).

    Sorting by one number is several times as fast as by four. Cells whose numbers are equal are
    sorted afterwards; they are in the order of their labels already.
    """
    if not len(cells.row):
        return np.zeros(0, dtype=np.int64)
    row, width = cells.row - cells.row[0], float(np.ptp(cells.score)) + 1.0
    if not (row[-1] + 1) * width < _MAX_KEY:
        return np.lexsort((-cells.specific, -cells.score, row))
    key = row * width - cells.score
    order = np.argsort(key, kind="stable")
    key = key[order]
    tied = key[1:] == key[:-1]
    if tied.any():
        positions = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
        run, tied_cells = key[positions], order[positions]
        ranks = np.lexsort((-cells.specific[tied_cells], -cells.score[tied_cells], run))
        order[positions] = tied_cells[ranks]
    return order
