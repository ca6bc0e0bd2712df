"""What a method is: parameters, `fit` on all answers, and `predict` for any instances.

A method is one class and what it fits is another:

>>> class Mean(BaseMethod):
...     name = "mean"
...     def fit(self, partitions):
...         return FittedMean()
>>> class FittedMean(FittedMethod, saved_as="mean.fitted"):
...     def predict(self, panel):
...         mean = panel.mean("augmented", "answers")
...         return Scores(mean, mean)
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Annotated, Any, ClassVar, Protocol, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.panel import (
    MAX_BLOCK_INSTANCES,
    Panel,
    PanelPartitions,
    SinglePartition,
    dense_blocks,
    panel_block,
)
from mhpc.data.scores import Consolidation, Scores
from mhpc.data.size import Size
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.used_labels import put_back_labels, use_labels
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Matrix, Rows
from mhpc.parameters import Parameters
from mhpc.system.blas import single_threaded_blas
from mhpc.system.checkpoints import checkpointed
from mhpc.system.display import Progress, silent
from mhpc.system.memory import memory_budget
from mhpc.system.parallel import parallel_map

DENSE_SCORE_BYTES = 1 << 29
"""Dense scores of up to so many bytes are computed at once, if memory allows."""

N_FIRST = 100
"""Instances that are scored before all others, to see how much memory scores take."""

MAX_ANSWERS = 10**12
"""The largest weight of a prior, in answers: beyond that, answers do not count any more."""

MAX_INSTANCES = 10**9
"""The largest number of instances that a parameter can ask for; more never means more than all."""

MAX_ITER = 10_000
"""The largest number of iterations that a parameter can ask for."""

Significance: TypeAlias = Annotated[float, Field(ge=1e-12, lt=1)]
"""The significance level of a confidence bound; below this, no bound is computed reliably."""

PAPER = (
    "Zhang, Xie, Li, Gao, Fan, Yu: Multi-source Hierarchical Prediction Consolidation, CIKM 2016"
)


class Method(Protocol):
    """Anything with a name, a summary, a reference and the verb `consolidate`.

    Every method accepts sets of labels and scores, treats "not asked" as missing, works on DAGs,
    is deterministic, says when it did not converge, and gives an instance that nobody answered 0
    for every label. An instance with a single answer gets the labels of that answer; where answers
    are tied, so are the scores, and the rule decides. Scores are finite for all answers and for
    all parameters within their limits.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return a score for every instance and label of the panel."""
        ...


class BaseMethod(Parameters):
    """The base class of methods: a frozen set of parameters that can be fitted.

    A method declares its parameters as fields, with their limits and a docstring each, and defines
    `fit`. Everything else has a default.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]

    sparse: ClassVar[bool] = False
    """Whether the scores are as sparse as the votes."""

    def fit(self, partitions: PanelPartitions) -> FittedMethod:
        """Estimate from all answers what is needed to score any instance.

        Parameters
        ----------
        partitions : PanelPartitions
            All answers: sums over all instances (`partitions.sum`), or a sample of them
            (`partitions.sample`). Methods that use only these run on one machine and on many.
        """
        raise NotImplementedError

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes that fitting needs at its peak, in addition to the votes."""
        return 0

    def describe_memory(self, size: Size) -> str:
        """Return what needs the memory, for the error if there is not enough; may be empty."""
        return ""

    def explain_duration(self, size: Size) -> str:
        """Return why fitting would take hours, for the error that says so; empty if it does not."""
        return ""

    def needs_all(self, instances: int) -> bool:
        """Return whether so many instances have to be in the memory of one machine."""
        return False

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Fit the method to a panel and return a score for every instance and label of it."""
        fitted = self.fit_used_labels(SinglePartition(panel, progress))
        return predict_scores(self, fitted, panel, progress=progress)

    def fit_used_labels(self, partitions: PanelPartitions) -> FittedMethod:
        """Fit the method to the labels in use, if the taxonomy has many others."""
        reduced, labels = use_labels(partitions)
        fitted = self.fit_checkpointed(reduced)
        return fitted if labels is None else put_back_labels(fitted, labels)

    def fit_checkpointed(self, partitions: PanelPartitions) -> FittedMethod:
        """Return what `fit` returns, from a checkpoint if a resumed run has one."""
        stage = f"fitting {self.name} with {self.model_dump_json()}"
        return checkpointed(stage, lambda: self.fit(partitions))

    def make_consolidation(
        self, panel: Panel, score: Matrix, specific: Matrix | None = None, **details: Any
    ) -> Consolidation:
        """Return scores of a panel as a `Consolidation`; without `specific`, `score` is both."""
        return Consolidation(
            taxonomy=panel.taxonomy,
            instances=panel.instances,
            score=score,
            specific=score if specific is None else specific,
            method=self.name,
            parameters=self.model_dump(),
            **details,
        )


def predict_scores(
    method: BaseMethod,
    fitted: FittedMethod,
    panel: Panel,
    *,
    progress: Progress = silent,
    max_dense_bytes: int = DENSE_SCORE_BYTES,
    max_instances: int = MAX_BLOCK_INSTANCES,
) -> Consolidation:
    """Score all instances of a panel with a fitted method, one block of instances at a time.

    Scores that need at most a quarter of the memory are computed at once, dense ones only if they
    need no more than `max_dense_bytes`; else the rows are computed whenever they are read.

    Parameters
    ----------
    method : BaseMethod
        The method, with its parameters.
    fitted : FittedMethod
        What it fitted.
    panel : Panel
        The instances and their answers.
    progress : callable
        Called after every block.
    max_dense_bytes : int
        The largest dense scores that are computed at once.
    max_instances : int
        The largest number of instances in a block.
    """
    shape = (len(panel.instances), len(panel.taxonomy))
    details: dict[str, Any] = {
        item.name: getattr(fitted, item.name) for item in fields(FittedMethod)
    }
    details["fitted"] = partial(_return_fitted, fitted)
    width = fitted.count_computed(shape[1])
    blocks = list(dense_blocks(shape[0], width, max_instances=max_instances)) or [slice(0, 0)]
    if len(blocks) == 1:
        only = fitted.predict(panel)
        return method.make_consolidation(
            panel, only.score, only.specific, expected_answers=only.expected_answers, **details
        )
    # A few instances show how much memory the scores take.
    first = fitted.predict(panel_block(panel, slice(0, min(N_FIRST, blocks[0].stop))))
    limit = memory_budget() / 4
    if not sparse.issparse(first.score):
        limit = min(limit, max_dense_bytes)
    if _bytes_per_row(first) * shape[0] > limit:
        rows = _PredictedRows(fitted, panel)
        score, specific = (
            Rows(shape, partial(rows, view), width) for view in ("score", "specific")
        )
        return method.make_consolidation(panel, score, specific, **details)
    scores = _predict_blocks(fitted, panel, blocks, progress)
    if sparse.issparse(first.score):
        both = zip(*((block.score, block.specific) for block in scores), strict=True)
        score, specific = (sparse.vstack(matrices, format="csr") for matrices in both)
        return method.make_consolidation(panel, score, specific, **details)
    return method.make_consolidation(panel, *_join_dense(scores, shape), **details)


def _bytes_per_row(scores: Scores) -> float:
    """Return the memory that both views of an instance take, on average."""
    # An entry of a sparse matrix has a value and a column.
    n_bytes = sum(
        view.nbytes if isinstance(view, np.ndarray) else 12 * view.nnz
        for view in (scores.score, scores.specific)
    )
    return float(n_bytes / max(scores.score.shape[0], 1))


def _return_fitted(fitted: FittedMethod) -> FittedMethod:
    """Return the argument; unlike a lambda, this function can be pickled."""
    return fitted


def _predict_blocks(
    fitted: FittedMethod, panel: Panel, blocks: list[slice], progress: Progress
) -> Iterator[Scores]:
    def predict(block: slice) -> Scores:
        return fitted.predict(panel_block(panel, block))

    for block, scores in zip(blocks, parallel_map(predict, blocks), strict=True):
        progress("scoring", block.start, len(panel.instances))
        yield scores


def _join_dense(scores: Iterator[Scores], shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    score, specific = np.empty(shape), np.empty(shape)
    start = 0
    for block in scores:
        stop = start + block.score.shape[0]
        score[start:stop], specific[start:stop] = block.score, block.specific
        start = stop
    return score, specific


@dataclass(frozen=True, eq=False)
class _PredictedRows:
    """Predicts the rows that are read, and remembers the last ones: both views are read in turn.

    Every thread remembers its own.
    """

    fitted: FittedMethod
    panel: Panel
    memory: threading.local = field(default_factory=threading.local)

    def __reduce__(self) -> tuple[Any, ...]:
        # What is remembered is computed again.
        return type(self), (self.fitted, self.panel)

    def __call__(self, view: str, instances: IntArray) -> Block:
        remembered, scores = getattr(self.memory, "latest", (instances[:0], None))
        if scores is None or not np.array_equal(remembered, instances):
            scores = self._predict(instances)
            self.memory.latest = (instances, scores)
        rows: Block = getattr(scores, view)
        return rows

    def _predict(self, instances: IntArray) -> Scores:
        ascending, position = np.unique(instances, return_inverse=True)
        with single_threaded_blas():
            scores = self.fitted.predict(self.panel.select_instances(ascending))
        if np.array_equal(ascending, instances):
            return scores
        return Scores(scores.score[position], scores.specific[position])
