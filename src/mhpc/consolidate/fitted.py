"""What a method learnt, and how that becomes a consolidation."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray
from mhpc.core.choice import Choice
from mhpc.core.consolidation import Consolidation, Step
from mhpc.core.memory import memory_budget
from mhpc.core.panel import Panel
from mhpc.core.parts import part_of, spans
from mhpc.core.progress import Progress, silent
from mhpc.core.rows import Rows
from mhpc.core.views import Views

if TYPE_CHECKING:
    from mhpc.consolidate.method import MethodParameters


AT_HAND = 1 << 29
"""Bytes of dense scores up to which they are all made at once, if memory allows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """What a method learnt from all answers: enough to conclude on any instances from their own.

    Attributes
    ----------
    trace, converged, level, probable, one_truth, choice, notes
        As in `Consolidation`.
    """

    trace: tuple[Step, ...] = ()
    converged: bool = True
    level: float | None = None
    probable: bool = False
    one_truth: bool = False
    choice: Choice | None = None
    notes: tuple[str, ...] = ()

    def views(self, panel: Panel) -> Views:
        """Return what is concluded of the panel's instances; 0 where nobody answered."""
        raise NotImplementedError


def concluded(
    method: "MethodParameters", fitted: Fitted, panel: Panel, *, progress: Progress = silent
) -> Consolidation:
    """Return the consolidation of a panel: at hand where it fits, else made when asked for."""
    shape = (len(panel.instances), len(panel.taxonomy))
    facts: dict[str, Any] = {
        name: getattr(fitted, name)
        for name in ("trace", "converged", "level", "probable", "one_truth", "choice", "notes")
    }
    facts["learnt"] = partial(_itself, fitted)
    parts = list(spans(*shape)) or [slice(0, 0)]
    first = fitted.views(part_of(panel, parts[0]))
    if len(parts) == 1:
        return method.conclude(panel, first.score, first.specific, said=first.said, **facts)
    made = _walked(fitted, panel, parts, first, progress)
    if sparse.issparse(first.score):
        score, specific = (
            sparse.vstack(blocks, format="csr")
            for blocks in zip(*((each.score, each.specific) for each in made), strict=True)
        )
        return method.conclude(panel, score, specific, **facts)
    if 2 * 8 * shape[0] * shape[1] <= min(memory_budget() / 4, AT_HAND):
        return method.conclude(panel, *_filled(made, shape), **facts)
    latest = _Latest(fitted, panel)
    score, specific = (Rows(shape, partial(latest, view)) for view in ("score", "specific"))
    return method.conclude(panel, score, specific, **facts)


def _itself(fitted: Fitted) -> Fitted:
    """Return what was learnt; unlike a lambda, this can be pickled."""
    return fitted


def _walked(
    fitted: Fitted, panel: Panel, parts: list[slice], first: Views, progress: Progress
) -> Iterator[Views]:
    yield first
    for span in parts[1:]:
        progress("scoring", span.start, len(panel.instances))
        yield fitted.views(part_of(panel, span))


def _filled(made: Iterator[Views], shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
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

    fitted: Fitted
    panel: Panel
    kept: threading.local = field(default_factory=threading.local)

    def __call__(self, view: str, instances: IntArray) -> FloatArray:
        at, views = getattr(self.kept, "latest", (instances[:0], None))
        if views is None or not np.array_equal(at, instances):
            views = self._made(instances)
            self.kept.latest = (instances, views)
        found: FloatArray = getattr(views, view)
        return found

    def _made(self, instances: IntArray) -> Views:
        rising, back = np.unique(instances, return_inverse=True)
        views = self.fitted.views(self.panel.part(rising))
        if np.array_equal(rising, instances):
            return views
        return Views(views.score[back], views.specific[back])
