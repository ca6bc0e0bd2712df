"""Method, BaseMethod, FittedMethod, predict()."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from mhpc.data.panel import (
    Panel,
    PanelPartitions,
    SinglePartition,
    Size,
    dense_blocks,
    panel_block,
)
from mhpc.data.scores import Consolidation, Scores, Step
from mhpc.data.selection import Selection
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray, IntArray, Matrix, Rows
from mhpc.parameters import Parameters
from mhpc.system.checkpoints import checkpointed
from mhpc.system.display import Progress, silent
from mhpc.system.memory import memory_budget

DENSE_SCORE_BYTES = 1 << 29
"""Bytes of dense scores up to which they are all made at once, if memory allows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMethod:
    """What a method learnt from all answers: enough to conclude on any instances from their own.

    Attributes
    ----------
    trace, converged, threshold, probable, one_truth, selection, notes
        As in `Consolidation`.
    """

    trace: tuple[Step, ...] = ()
    converged: bool = True
    threshold: float | None = None
    is_probability: bool = False
    one_truth: bool = False
    selection: Selection | None = None
    notes: tuple[str, ...] = ()

    def predict(self, panel: Panel) -> Scores:
        """Return what is concluded of the panel's instances; 0 where nobody answered."""
        raise NotImplementedError


def predict_scores(
    method: "BaseMethod", fitted: FittedMethod, panel: Panel, *, progress: Progress = silent
) -> Consolidation:
    """Return the consolidation of a panel: at hand where it fits, else made when asked for."""
    shape = (len(panel.instances), len(panel.taxonomy))
    facts: dict[str, Any] = {
        name: getattr(fitted, name)
        for name in (
            "trace",
            "converged",
            "threshold",
            "is_probability",
            "one_truth",
            "selection",
            "notes",
        )
    }
    facts["fitted"] = partial(_itself, fitted)
    parts = list(dense_blocks(*shape)) or [slice(0, 0)]
    first = fitted.predict(panel_block(panel, parts[0]))
    if len(parts) == 1:
        return method.make_consolidation(
            panel, first.score, first.specific, expected_answers=first.expected_answers, **facts
        )
    made = _walked(fitted, panel, parts, first, progress)
    if sparse.issparse(first.score):
        score, specific = (
            sparse.vstack(blocks, format="csr")
            for blocks in zip(*((each.score, each.specific) for each in made), strict=True)
        )
        return method.make_consolidation(panel, score, specific, **facts)
    if 2 * 8 * shape[0] * shape[1] <= min(memory_budget() / 4, DENSE_SCORE_BYTES):
        return method.make_consolidation(panel, *_filled(made, shape), **facts)
    latest = _Latest(fitted, panel)
    score, specific = (Rows(shape, partial(latest, view)) for view in ("score", "specific"))
    return method.make_consolidation(panel, score, specific, **facts)


def _itself(fitted: FittedMethod) -> FittedMethod:
    """Return what was learnt; unlike a lambda, this can be pickled."""
    return fitted


def _walked(
    fitted: FittedMethod, panel: Panel, parts: list[slice], first: Scores, progress: Progress
) -> Iterator[Scores]:
    yield first
    for span in parts[1:]:
        progress("scoring", span.start, len(panel.instances))
        yield fitted.predict(panel_block(panel, span))


def _filled(made: Iterator[Scores], shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    score, specific = np.empty(shape), np.empty(shape)
    start = 0
    for views in made:
        stop = start + views.score.shape[0]
        score[start:stop], specific[start:stop] = views.score, views.specific
        start = stop
    return score, specific


@dataclass(frozen=True, eq=False)
class _Latest:
    """Makes views of some instances, and remembers the last ones: both numbers are asked for.

    Every thread remembers its own.
    """

    fitted: FittedMethod
    panel: Panel
    kept: threading.local = field(default_factory=threading.local)

    def __call__(self, view: str, instances: IntArray) -> FloatArray:
        at, views = getattr(self.kept, "latest", (instances[:0], None))
        if views is None or not np.array_equal(at, instances):
            views = self._made(instances)
            self.kept.latest = (instances, views)
        found: FloatArray = getattr(views, view)
        return found

    def _made(self, instances: IntArray) -> Scores:
        rising, back = np.unique(instances, return_inverse=True)
        views = self.fitted.predict(self.panel.select_instances(rising))
        if np.array_equal(rising, instances):
            return views
        return Scores(views.score[back], views.specific[back])


class Method(Protocol):
    """Anything with a name, a summary, a reference and the verb `consolidate`.

    Every method takes sets and scores, treats "not asked" as missing, works on DAGs, is
    deterministic, says when it did not converge, and gives an instance that nobody answered 0
    for every label. Where an instance has one answer, that is believed; where answers are tied,
    so are scores, and the rule decides. Scores and what is told beside them are finite whatever
    the answers are and wherever parameters are within their limits.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return a score for every instance and label of the panel."""
        ...


class BaseMethod(Parameters):
    """The parameters of a method; what the registered ones share.

    A method says what it learns (`fit`), and how that concludes on instances (`FittedMethod.predict`).
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]

    learns: ClassVar[bool] = True
    """Whether what is learnt is enough to conclude on other instances."""

    sparse: ClassVar[bool] = False
    """Whether scores are as sparse as the votes."""

    def needs_all(self, instances: int) -> bool:
        """Tell whether so many instances are to be consolidated at once, by `consolidate`."""
        return not self.learns

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes that learning takes beyond the votes, at its highest."""
        return 0

    def check_label_memory(self, taxonomy: Taxonomy) -> None:
        """Refuse a taxonomy whose labels alone need more memory than may be used."""

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Learn from all answers what is needed to conclude on any instance."""
        raise NotImplementedError

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return a score for every instance and label of the panel."""
        fitted = self.fit_checkpointed(SinglePartition(panel, progress))
        return predict_scores(self, fitted, panel, progress=progress)

    def fit_checkpointed(self, parts: PanelPartitions) -> FittedMethod:
        """Return what `fit` learns; a run that goes on from another takes it from there."""
        stage = f"learnt by {self.name} with {self.model_dump_json()}"
        return checkpointed(stage, lambda: self.fit(parts))

    def make_consolidation(
        self, panel: Panel, score: Matrix, specific: Matrix | None = None, **more: Any
    ) -> Consolidation:
        """Return a consolidation; with one number only, it stands in both views, unaltered."""
        return Consolidation(
            taxonomy=panel.taxonomy,
            instances=panel.instances,
            score=score,
            specific=score if specific is None else specific,
            method=self.name,
            parameters=self.model_dump(),
            **more,
        )


PAPER = (
    "Zhang, Xie, Li, Gao, Fan, Yu: Multi-source Hierarchical Prediction Consolidation, CIKM 2016"
)
