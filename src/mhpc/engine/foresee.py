"""Foresee: how much memory a method will take, so that what cannot fit is refused beforehand.

Figures are what is taken beyond the encoded votes, at the highest; `python -m hard.memory` prints
them beside what runs really took.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mhpc.consolidate.fitted import AT_HAND
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.registry import make_method
from mhpc.consolidate.smoothing import MOST
from mhpc.core.ahead import threads_at_once
from mhpc.core.memory import as_text, held_memory, memory_budget, memory_limit
from mhpc.core.panel import Panel
from mhpc.core.parts import spans
from mhpc.errors import TooLargeError
from mhpc.read.sql import rows_of_parquet
from mhpc.write.streams import LEAST

_LOG = logging.getLogger("mhpc")

_LIBRARIES = 20_000_000
"""What libraries take when they are first used."""

_NUMBER = 8
_ENTRY = 12
"""Bytes of a number in a dense and in a sparse matrix."""

_COPIES = 4
"""Dense copies of a block of instances x labels that a thread works on at once."""

_VOTE = 100
"""Bytes of a vote that is read and encoded."""

_ROW, _ROWS = 4_000, 1 << 16
"""Bytes of an instance that is worked on where scores are sparse, and how many are at once."""

_WAITING = 60
"""Bytes of a score that waits to be written, with its ids."""

_PAIR = 200
"""Bytes of a statement beside what it may mean, in one-truth."""

_FACTORED = 3000
"""Landmarks up to which a graph of them is solved by a dense factor."""

_JUDGED = 4_000_000
"""Instances x labels on which `auto` judges."""

_TRIALS = 45
"""Matrices of so many that it keeps meanwhile."""

_LIGHT = ("dawid-skene", "majority", "sa")
"""What to use instead, the better ones first."""

_SPARSE = ("sa", "wa", "majority", "inat", "dawid-skene", "one-truth")
"""Methods whose scores are as sparse as the votes."""


@dataclass(frozen=True)
class Size:
    """How much there is to work on.

    Attributes
    ----------
    instances, labels, answers : int
        How many.
    implied : int
        Labels that were said of instances, with their ancestors, all instances together.
    groups : int
        Pairs of a source and a label that it said.
    pairs : int
        Labels that were said beside all that were said of the same instance, or implied.
    """

    instances: int
    labels: int
    answers: int
    implied: int
    groups: int
    pairs: int

    @property
    def cells(self) -> int:
        """Instances x labels."""
        return self.instances * self.labels


def size_of(panel: Panel) -> Size:
    """Return how much a panel holds."""
    K = np.int64(len(panel.taxonomy))
    source = np.repeat(panel.source, np.diff(panel.raw.indptr))
    instance = np.repeat(panel.instance, np.diff(panel.augmented.indptr))
    possible = np.unique(instance * K + panel.augmented.indices) // K
    N = len(panel.instances)
    said = np.bincount(panel.instance, np.diff(panel.raw.indptr), minlength=N)
    return Size(
        instances=N,
        labels=int(K),
        answers=len(panel.instance),
        implied=len(possible),
        groups=len(np.unique(source * K + panel.raw.indices)),
        pairs=int(said @ np.bincount(possible, minlength=N)),
    )


def refuse_what_cannot_be_read(source: str) -> None:
    """Refuse Parquet files with more votes than fit; other formats do not say how many."""
    path = Path(source)
    files = sorted(path.glob("[!._]*.parquet")) if path.is_dir() else [path]
    rows, limit = sum(rows_of_parquet(file) for file in files if file.is_file()), memory_limit()
    if _VOTE * rows > limit:
        raise TooLargeError(
            f"{source} holds {rows:,} votes, which need about {as_text(_VOTE * rows)} to be read "
            f"at once, and {as_text(limit)} may be used; raise --memory if there is more, or use "
            "--engine dask, which reads them in parts"
        )


def refuse_what_will_not_fit(method: Any, panel: Panel) -> None:
    """Refuse a method that would take more memory than may be used, and say what would do."""
    if not isinstance(method, MethodParameters):
        # Somebody's own method, of which nothing is known.
        return
    needed, limit = foreseen(method, size_of(panel)), memory_limit()
    _LOG.info("memory: %d bytes foreseen beyond %d held", needed, held_memory())
    if needed > limit:
        raise TooLargeError(
            f"{method.name} of {len(panel.instances):,} instances and {len(panel.taxonomy):,} "
            f"labels needs about {as_text(needed)}, and {as_text(limit)} may be used; "
            f"{_instead(method, size_of(panel), limit)}"
        )


def foreseen(method: MethodParameters, size: Size) -> int:
    """Return the bytes that a method takes beyond the votes, at its highest."""
    learning = _LEARNING.get(method.name, _nothing)(method, size)
    return _LIBRARIES + learning + _scores(method, size) + _blocks(method, size)


def _instead(method: MethodParameters, size: Size, limit: int) -> str:
    """Say what would do: what takes less and fits, and more memory, here or elsewhere."""
    others = (name for name in _LIGHT if name != method.name)
    light = next((name for name in others if foreseen(make_method(name), size) <= limit), None)
    lighter = f"use --method {light}, " if light else ""
    return f"{lighter}raise --memory if there is more, or use --engine dask on several machines"


def _scores(method: MethodParameters, size: Size) -> int:
    """Return what scores take that are all at hand: in both views, where they are dense."""
    both = 2 * _NUMBER * size.cells
    if method.name in _SPARSE:
        return 2 * _ENTRY * size.implied
    return both if both <= min(memory_budget() // 4, AT_HAND) else 0


def _blocks(method: MethodParameters, size: Size) -> int:
    """Return what blocks take that are worked on, and scores that wait to be written."""
    scores = size.instances * min(20, size.labels)
    waiting = min(_WAITING * scores, max(LEAST, memory_budget() // 4))
    if method.name in _SPARSE:
        return waiting + _ROW * min(size.instances, _ROWS)
    rows: int = next(spans(size.instances, size.labels)).stop
    return waiting + _NUMBER * rows * size.labels * (_COPIES + threads_at_once())


def _nothing(method: Any, size: Size) -> int:
    return 0


def _smoothing(method: Any, size: Size) -> int:
    """Return what a graph of all instances takes or, where there are too many, of landmarks."""
    exact = _NUMBER * (6 * size.cells + (size.instances**2 if method.neighbours is None else 0))
    solver = method.solver
    if solver == "auto":
        solver = "exact" if size.instances <= MOST and exact <= memory_budget() else "graph"
    if solver == "exact":
        return exact
    landmarks: int = min(size.instances, method.landmarks)
    views = 2 if method.votes == "each" else 1
    return _NUMBER * (3 * views * landmarks * size.labels + min(landmarks, _FACTORED) ** 2)


def _cross_source(method: Any, size: Size) -> int:
    return _NUMBER * 5 * min(size.labels, size.answers) * size.labels


def _channel(method: Any, size: Size) -> int:
    landmarks, steps = int(min(size.instances, method.landmarks)), int(method.steps)
    return _NUMBER * (steps + 3) * landmarks * size.labels


def _mlcm(method: Any, size: Size) -> int:
    """Return what vectors of groups take, and their factor where there is one."""
    factor = _NUMBER * size.groups**2
    return _NUMBER * 4 * size.groups * size.labels + (
        factor if 3 * factor <= memory_budget() else 0
    )


def _one_truth(method: Any, size: Size) -> int:
    return _PAIR * size.pairs


def _auto(method: Any, size: Size) -> int:
    """Return what trials on a sample take together, and what the largest candidate takes."""
    local = make_method("mpc-u", {"votes": "each", "neighbours": 30, "max_iter": 0})
    others = (make_method("channel"), make_method("cross-source"))
    largest = max(_LEARNING[each.name](each, size) for each in (local, *others))
    return _NUMBER * _TRIALS * min(size.cells, _JUDGED) + largest + _scores(local, size)


_LEARNING: Mapping[str, Callable[[Any, Size], int]] = {
    "mhpc": _smoothing,
    "mpc-u": _smoothing,
    "cross-source": _cross_source,
    "channel": _channel,
    "mlcm": _mlcm,
    "one-truth": _one_truth,
    "auto": _auto,
}
