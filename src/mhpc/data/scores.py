"""Scores (score, specific), Consolidation, Step, top cells."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.selection import Selection
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import (
    Block,
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    Sparse,
    dense,
    selected,
)
from mhpc.numerics.sparse import canonical, cell_numbers, lookup_cells, run_starts
from mhpc.parameters import registered
from mhpc.system.display import MOST_ROWS, short_table

Top: TypeAlias = int | Literal["all"]
"""How many labels of each instance to keep."""

BLOCK_CELLS = 1 << 21
"""Cells of a dense block: 16 MB of float64, so that no walk over scores needs N x K at once."""

BLOCK_ENTRIES = BLOCK_CELLS // 8
"""Stored cells of a block of sparse scores, which take more memory each than dense ones."""


@registered("step")
@dataclass(frozen=True)
class Step:
    """One iteration of a method.

    Attributes
    ----------
    iteration : int
        0 is the first closed-form solve.
    change : float
        ``|Y - Y_before| / |Y_before|``, the relative change that the stopping rule looks at.
    objective : float or None
        The consensus cost that was minimised, where the method has one.
    spread : float
        How much instances still differ, relative to the votes: 1 as much, 0 all alike. A
        falling spread is over-smoothing becoming visible.
    seconds : float
        Wall time of the iteration.
    """

    iteration: int
    change: float
    objective: float | None
    spread: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Consolidation:
    """What a method concludes.

    Attributes
    ----------
    taxonomy, instances
        The two axes.
    score : array, csr_array or Rows, (N, K)
        That the label applies (closed view). The paper's methods give one raw number here and
        in `specific`: larger is likelier, comparable within a run.
    specific : array, csr_array or Rows, (N, K)
        That the label applies and none of its children does (specific view).
    method : str
        The registered name.
    parameters : mapping
        All its parameters.
    trace : tuple of Step
        The iterations, empty for methods without any.
    converged : bool
        False when an iteration stopped at its limit.
    threshold : float or None
        The score from which on a label is decided to apply, where the method knows one.
    probable : bool
        Whether `score` is what share of sources would affirm the label, or stands for it, so that
        as many labels can be expected as sources give.
    one_truth : bool
        Whether the method takes it that an instance has one true label, with its ancestors.
    expected_answers : pair of matrices or None
        What a source not heard yet would say, as (specific, closed), where that is not what the
        method holds true: the truth, made vague and noisy again. The judge looks at this.
    selection : Choice or None
        What was judged and chosen, where the method chooses.
    notes : tuple of str
        What else is to be known of the way it was computed.
    fitted : callable or None
        Returns what the method learnt, with which it concludes on new instances.
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
    selection: Selection | None = None
    notes: tuple[str, ...] = ()
    fitted: Callable[[], Any] | None = None

    def view(self, name: str) -> Matrix:
        """Return `score` for the closed view, `specific` for the specific one."""
        return self.score if name == "closed" else self.specific

    def predict_answers(self, name: str) -> Matrix:
        """Return what a source not heard yet would say, in a view."""
        if self.expected_answers is None:
            return self.view(name)
        return self.expected_answers[1] if name == "closed" else self.expected_answers[0]

    def __repr__(self) -> str:
        return (
            f"Consolidation({self.method}: {len(self.instances)} instances "
            f"x {len(self.taxonomy)} labels)"
        )

    def _repr_html_(self) -> str:
        score = dense(self.score[:MOST_ROWS])
        best = score.argmax(axis=1)
        rows = (
            (self.instances[i], self.taxonomy.labels[k], float(score[i, k]))
            for i, k in enumerate(best)
        )
        header = ("instance", "best label", "score")
        return short_table(repr(self), header, rows, total=len(self.instances))


@dataclass(frozen=True, eq=False)
class ScoredCells:
    """Some cells of both views, an entry a cell: its row, its label and its two numbers."""

    row: IntArray
    label: IntArray
    score: FloatArray
    specific: FloatArray


def select_instances(consolidation: Consolidation, rows: IntArray) -> Consolidation:
    """Return the consolidation of some instances."""
    instances = consolidation.instances
    return replace(
        consolidation,
        instances=Index(tuple(instances[i] for i in rows)),
        score=selected(consolidation.score, rows),
        specific=selected(consolidation.specific, rows),
        expected_answers=None,
    )


def dense_blocks(matrix: Matrix) -> Iterator[tuple[slice, FloatArray]]:
    """Walk over a matrix in dense blocks of rows."""
    rows, columns = matrix.shape
    step = max(1, BLOCK_CELLS // max(columns, 1))
    for start in range(0, rows, step):
        span = slice(start, min(start + step, rows))
        yield span, dense(matrix[span])


def instance_blocks(consolidation: Consolidation, *, sample: int | None = None) -> Iterator[slice]:
    """Walk over the instances in blocks, as large as is good for what the scores are.

    With `sample` some blocks are left out, evenly, so that about so many instances are seen.
    """
    score, specific = consolidation.score, consolidation.specific
    if sparse.issparse(score) and sparse.issparse(specific):
        found = list(stored_blocks(score, specific))
    else:
        N, K = score.shape
        step = max(1, BLOCK_CELLS // max(K, 1))
        found = [slice(start, min(start + step, N)) for start in range(0, N, step)]
    every = 1 if sample is None else max(1, score.shape[0] // sample)
    return iter(found[::every])


def stored_blocks(*matrices: Sparse) -> Iterator[slice]:
    """Walk over sparse matrices of the same height in spans of rows that store about as much."""
    rows = matrices[0].shape[0]
    stored = np.sum([matrix.indptr.astype(np.int64) for matrix in matrices], axis=0)
    start = 0
    while start < rows:
        stop = int(np.searchsorted(stored, stored[start] + BLOCK_ENTRIES, side="right")) - 1
        # An empty row costs too, so a span is never much longer than it would be when full.
        stop = min(max(stop, start + 1), start + BLOCK_ENTRIES, rows)
        yield slice(start, stop)
        start = stop


@dataclass(frozen=True, eq=False)
class Scores:
    """Both numbers of every instance and label.

    Attributes
    ----------
    score, specific : array or csr_array, (n, K)
        As in `Consolidation`.
    expected_answers : pair of matrices or None
        As in `Consolidation`.
    """

    score: Block
    specific: Block
    expected_answers: tuple[Block, Block] | None = None


_ABOVE = float(np.nextafter(0.0, 1.0))
"""The least that is above 0."""


def scored_cells(consolidation: Consolidation, *, top: Top = "all") -> Iterator[ScoredCells]:
    """Walk over the cells worth keeping: above 0 and among the best `top` in a view, in either.

    An instance without any keeps its first label, so that it is not lost. Cells come in order of
    row and label. Sparse scores cost what they store, however many labels there are.
    """
    score, specific = consolidation.score, consolidation.specific
    for span in instance_blocks(consolidation):
        yield top_cells(span.start, score[span], specific[span], top=top)


def top_cells(start: int, score: Block, specific: Block, *, top: Top) -> ScoredCells:
    """Return the cells of a block that are worth keeping; rows are counted from `start`."""
    if sparse.issparse(score) and sparse.issparse(specific):
        return _of_stored(start, canonical(score), canonical(specific), top)
    return _of_dense(start, dense(score), dense(specific), top)


def _of_dense(start: int, score: FloatArray, specific: FloatArray, top: Top) -> ScoredCells:
    row, label = np.nonzero(_among_best(score, top) | _among_best(specific, top))
    lost = np.flatnonzero(np.bincount(row, minlength=len(score)) == 0)
    if len(lost):
        row, label = np.append(row, lost), np.append(label, np.zeros_like(lost))
        order = np.argsort(row, kind="stable")
        row, label = row[order], label[order]
    return ScoredCells(row + start, label, score[row, label], specific[row, label])


def _among_best(scores: FloatArray, top: Top) -> BoolArray:
    """Mark the best labels above 0 of each row, the earlier label first in a tie."""
    columns = scores.shape[1]
    if top == "all" or top >= columns:
        return np.asarray(scores > 0)
    last = np.partition(scores, columns - top, axis=1)[:, columns - top, None]
    mask = scores >= np.maximum(last, _ABOVE)
    crowded = np.flatnonzero(np.count_nonzero(mask, axis=1) > top)
    if len(crowded):
        tied = scores[crowded] == last[crowded]
        room = top - np.count_nonzero(mask[crowded] & ~tied, axis=1)
        late = np.cumsum(tied, axis=1, dtype=np.int32) > room[:, None]
        mask[crowded] &= ~(tied & late)
    return np.asarray(mask)


def _of_stored(start: int, score: Sparse, specific: Sparse, top: Top) -> ScoredCells:
    rows, columns = score.shape
    cell, values = _union(score, specific)
    row = cell // columns
    label = cell - row * columns
    best, other = (_stored_among_best(row, value, rows, top) for value in values)
    keep = best | other
    lost = np.bincount(row[keep], minlength=rows) == 0
    if lost.any():
        firsts = np.flatnonzero(lost) * np.int64(columns)
        kept = np.sort(np.concatenate([cell[keep], firsts]))
        row, label = np.divmod(kept, columns)
        both = (lookup_cells(kept, cell, value) for value in values)
        return ScoredCells(row + start, label, *both)
    return ScoredCells(row[keep] + start, label[keep], values[0][keep], values[1][keep])


def _union(one: Sparse, other: Sparse) -> tuple[IntArray, tuple[FloatArray, FloatArray]]:
    """Return all cells that either stores, in order, and the values of both there."""
    cell, further = cell_numbers(one), cell_numbers(other)
    place = np.searchsorted(cell, further)
    if len(cell) and (cell[np.minimum(place, len(cell) - 1)] == further).all():
        # What is specific is there in the closed view too, so that nothing has to be sorted.
        values = np.zeros(len(cell))
        values[place] = other.data
        return cell, (one.data, values)
    every = np.concatenate([cell, further])
    every.sort()
    every = every[run_starts(every)]
    return every, (lookup_cells(every, cell, one.data), lookup_cells(every, further, other.data))


def _stored_among_best(row: IntArray, value: FloatArray, rows: int, top: Top) -> BoolArray:
    """Mark the stored cells above 0 that are among the best of their row."""
    best = np.asarray(value > 0)
    if top == "all":
        return best
    many = best & (np.bincount(row[best], minlength=rows) > top)[row]
    crowded = np.flatnonzero(many)
    best[crowded] = _nth(row[crowded], value[crowded], rows) < top
    return best


def _nth(row: IntArray, value: FloatArray, rows: int) -> IntArray:
    """Return how many entries of its row come before each: larger ones, and equal ones earlier."""
    nth = np.empty(len(row), dtype=np.int64)
    nth[np.lexsort((-value, row))] = np.arange(len(row)) - _begins(row, rows)[row]
    return nth


def _begins(row: IntArray, rows: int) -> IntArray:
    """Return where the entries of each row begin."""
    size = np.bincount(row, minlength=rows)
    return np.asarray(np.cumsum(size) - size)
