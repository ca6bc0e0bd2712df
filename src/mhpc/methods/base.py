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
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from mhpc.data.combination import Combination
from mhpc.data.panel import (
    MAX_BLOCK_INSTANCES,
    Panel,
    PanelPartitions,
    SinglePartition,
    dense_blocks,
    panel_block,
)
from mhpc.data.scores import Consolidation, Scores, Step
from mhpc.data.size import Size
from mhpc.numerics.arrays import FloatArray, IntArray, Matrix, Rows
from mhpc.parameters import Parameters, registered
from mhpc.system.checkpoints import checkpointed
from mhpc.system.display import Progress, silent
from mhpc.system.memory import memory_budget

DENSE_SCORE_BYTES = 1 << 29
"""Dense scores of up to so many bytes are computed at once, if memory allows."""

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

    def fit(self, partitions: PanelPartitions) -> "FittedMethod":
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

    def needs_all(self, instances: int) -> bool:
        """Return whether so many instances have to be in the memory of one machine."""
        return False

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Fit the method to a panel and return a score for every instance and label of it."""
        fitted = self.fit_checkpointed(SinglePartition(panel, progress))
        return predict_scores(self, fitted, panel, progress=progress)

    def fit_checkpointed(self, partitions: PanelPartitions) -> "FittedMethod":
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


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMethod:
    """What a method estimated from all answers: enough to score any instances from their answers.

    Attributes
    ----------
    trace, converged, threshold, is_probability, one_truth, combination, notes
        As in `Consolidation`.

    Notes
    -----
    A subclass is a frozen dataclass. Its class argument `saved_as` is its name in ``model.npz``,
    ``METHOD.fitted``; without it, a fitted method cannot be saved.
    """

    trace: tuple[Step, ...] = ()
    converged: bool = True
    threshold: float | None = None
    is_probability: bool = False
    one_truth: bool = False
    combination: Combination | None = None
    notes: tuple[str, ...] = ()

    def __init_subclass__(cls, *, saved_as: str = "", **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if saved_as:
            registered(saved_as)(cls)

    def predict(self, panel: Panel) -> Scores:
        """Return the scores of the panel's instances; 0 for instances without an answer."""
        raise NotImplementedError


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

    Sparse scores are computed at once. So are dense ones if they need at most `max_dense_bytes`
    and a quarter of the memory; else the rows are computed whenever they are read.

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
    blocks = list(dense_blocks(*shape, max_instances=max_instances)) or [slice(0, 0)]
    first = fitted.predict(panel_block(panel, blocks[0]))
    if len(blocks) == 1:
        return method.make_consolidation(
            panel, first.score, first.specific, expected_answers=first.expected_answers, **details
        )
    if not sparse.issparse(first.score):
        needed = 2 * 8 * shape[0] * shape[1]
        if needed > min(memory_budget() / 4, max_dense_bytes):
            rows = _PredictedRows(fitted, panel)
            score, specific = (Rows(shape, partial(rows, view)) for view in ("score", "specific"))
            return method.make_consolidation(panel, score, specific, **details)
    scores = _predict_blocks(fitted, panel, blocks, first, progress)
    if sparse.issparse(first.score):
        both = zip(*((block.score, block.specific) for block in scores), strict=True)
        score, specific = (sparse.vstack(matrices, format="csr") for matrices in both)
        return method.make_consolidation(panel, score, specific, **details)
    return method.make_consolidation(panel, *_join_dense(scores, shape), **details)


def _return_fitted(fitted: FittedMethod) -> FittedMethod:
    """Return the argument; unlike a lambda, this function can be pickled."""
    return fitted


def _predict_blocks(
    fitted: FittedMethod, panel: Panel, blocks: list[slice], first: Scores, progress: Progress
) -> Iterator[Scores]:
    yield first
    for block in blocks[1:]:
        progress("scoring", block.start, len(panel.instances))
        yield fitted.predict(panel_block(panel, block))


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

    def __call__(self, view: str, instances: IntArray) -> FloatArray:
        remembered, scores = getattr(self.memory, "latest", (instances[:0], None))
        if scores is None or not np.array_equal(remembered, instances):
            scores = self._predict(instances)
            self.memory.latest = (instances, scores)
        rows: FloatArray = getattr(scores, view)
        return rows

    def _predict(self, instances: IntArray) -> Scores:
        ascending, position = np.unique(instances, return_inverse=True)
        scores = self.fitted.predict(self.panel.select_instances(ascending))
        if np.array_equal(ascending, instances):
            return scores
        return Scores(scores.score[position], scores.specific[position])
