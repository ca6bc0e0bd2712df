"""Consolidation: a score for every instance and label, and how it came about."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Matrix, Sparse, dense
from mhpc.core.choice import Choice
from mhpc.core.display import MOST_ROWS, short_table
from mhpc.core.index import Index
from mhpc.core.rows import selected
from mhpc.core.taxonomy import Taxonomy

Top: TypeAlias = int | Literal["all"]
"""How many labels of each instance to keep."""

BLOCK_CELLS = 1 << 21
"""Cells of a dense block: 16 MB of float64, so that no walk over scores needs N x K at once."""

BLOCK_ENTRIES = BLOCK_CELLS // 8
"""Stored cells of a block of sparse scores, which take more memory each than dense ones."""


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
    level : float or None
        The score from which on a label is decided to apply, where the method knows one.
    probable : bool
        Whether `score` is what share of sources would affirm the label, or stands for it, so that
        as many labels can be expected as sources give.
    one_truth : bool
        Whether the method takes it that an instance has one true label, with its ancestors.
    said : pair of matrices or None
        What a source not heard yet would say, as (specific, closed), where that is not what the
        method holds true: the truth, made vague and noisy again. The judge looks at this.
    choice : Choice or None
        What was judged and chosen, where the method chooses.
    notes : tuple of str
        What else is to be known of the way it was computed.
    learnt : callable or None
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
    level: float | None = None
    probable: bool = False
    one_truth: bool = False
    said: tuple[Matrix, Matrix] | None = None
    choice: Choice | None = None
    notes: tuple[str, ...] = ()
    learnt: Callable[[], Any] | None = None

    def view(self, name: str) -> Matrix:
        """Return `score` for the closed view, `specific` for the specific one."""
        return self.score if name == "closed" else self.specific

    def foretold(self, name: str) -> Matrix:
        """Return what a source not heard yet would say, in a view."""
        if self.said is None:
            return self.view(name)
        return self.said[1] if name == "closed" else self.said[0]

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


def among(consolidation: Consolidation, rows: IntArray) -> Consolidation:
    """Return the consolidation of some instances."""
    instances = consolidation.instances
    return replace(
        consolidation,
        instances=Index(tuple(instances[i] for i in rows)),
        score=selected(consolidation.score, rows),
        specific=selected(consolidation.specific, rows),
        said=None,
    )


def blocks(matrix: Matrix) -> Iterator[tuple[slice, FloatArray]]:
    """Walk over a matrix in dense blocks of rows."""
    rows, columns = matrix.shape
    step = max(1, BLOCK_CELLS // max(columns, 1))
    for start in range(0, rows, step):
        span = slice(start, min(start + step, rows))
        yield span, dense(matrix[span])


def walk(consolidation: Consolidation, *, most: int | None = None) -> Iterator[slice]:
    """Walk over the instances in blocks, as large as is good for what the scores are.

    With `most` some blocks are left out, evenly, so that about so many instances are seen.
    """
    score, specific = consolidation.score, consolidation.specific
    if sparse.issparse(score) and sparse.issparse(specific):
        found = list(spans(score, specific))
    else:
        N, K = score.shape
        step = max(1, BLOCK_CELLS // max(K, 1))
        found = [slice(start, min(start + step, N)) for start in range(0, N, step)]
    every = 1 if most is None else max(1, score.shape[0] // most)
    return iter(found[::every])


def spans(*matrices: Sparse) -> Iterator[slice]:
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
