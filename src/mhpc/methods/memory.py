"""Foresee: how much memory a method will take, so that what cannot fit is refused beforehand.

Figures are what is taken beyond the encoded votes, at the highest; `python -m hard.memory` prints
them beside what runs really took.
"""

import logging
from pathlib import Path
from typing import Any

from mhpc.data.panel import Panel, Size, dense_blocks, measure_size
from mhpc.errors import TooLargeError
from mhpc.methods.base import DENSE_SCORE_BYTES, BaseMethod
from mhpc.methods.registry import make_method
from mhpc.system.database import rows_of_parquet
from mhpc.system.memory import (
    MIN_DATABASE_MEMORY,
    format_size,
    held_memory,
    memory_budget,
    memory_limit,
)
from mhpc.system.parallel import thread_count

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

_LIGHT = ("dawid-skene", "majority", "sa")
"""What to use instead, the better ones first."""


def check_readable(source: str) -> None:
    """Refuse Parquet files with more votes than fit; other formats do not say how many."""
    path = Path(source)
    files = sorted(path.glob("[!._]*.parquet")) if path.is_dir() else [path]
    rows, limit = sum(rows_of_parquet(file) for file in files if file.is_file()), memory_limit()
    if _VOTE * rows > limit:
        raise TooLargeError(
            f"{source} holds {rows:,} votes, which need about {format_size(_VOTE * rows)} to be read "
            f"at once, and {format_size(limit)} may be used; raise --memory if there is more, or use "
            "--engine dask, which reads them in parts"
        )


def check_memory(method: Any, panel: Panel) -> None:
    """Refuse a method that would take more memory than may be used, and say what would do."""
    if not isinstance(method, BaseMethod):
        # Somebody's own method, of which nothing is known.
        return
    needed, limit = estimate_memory(method, measure_size(panel)), memory_limit()
    _LOG.info("memory: %d bytes foreseen beyond %d held", needed, held_memory())
    if needed > limit:
        raise TooLargeError(
            f"{method.name} of {len(panel.instances):,} instances and {len(panel.taxonomy):,} "
            f"labels needs about {format_size(needed)}, and {format_size(limit)} may be used; "
            f"{_instead(method, measure_size(panel), limit)}"
        )


def estimate_memory(method: BaseMethod, size: Size) -> int:
    """Return the bytes that a method takes beyond the votes, at its highest."""
    return _LIBRARIES + method.estimate_memory(size) + _scores(method, size) + _blocks(method, size)


def _instead(method: BaseMethod, size: Size, limit: int) -> str:
    """Say what would do: what takes less and fits, and more memory, here or elsewhere."""
    others = (name for name in _LIGHT if name != method.name)
    light = next(
        (name for name in others if estimate_memory(make_method(name), size) <= limit), None
    )
    lighter = f"use --method {light}, " if light else ""
    return f"{lighter}raise --memory if there is more, or use --engine dask on several machines"


def _scores(method: BaseMethod, size: Size) -> int:
    """Return what scores take that are all at hand: in both views, where they are dense."""
    both = 2 * _NUMBER * size.cells
    if method.sparse:
        return 2 * _ENTRY * size.implied
    return both if both <= min(memory_budget() // 4, DENSE_SCORE_BYTES) else 0


def _blocks(method: BaseMethod, size: Size) -> int:
    """Return what blocks take that are worked on, and scores that wait to be written."""
    scores = size.instances * min(20, size.labels)
    waiting = min(_WAITING * scores, max(MIN_DATABASE_MEMORY, memory_budget() // 4))
    if method.sparse:
        return waiting + _ROW * min(size.instances, _ROWS)
    rows: int = next(dense_blocks(size.instances, size.labels)).stop
    return waiting + _NUMBER * rows * size.labels * (_COPIES + thread_count())
