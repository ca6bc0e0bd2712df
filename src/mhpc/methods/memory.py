"""Estimates of the memory that a method needs, so that what cannot fit is refused beforehand.

All estimates are peaks in addition to the encoded votes; `python -m stress.memory` prints them
beside what runs really took.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mhpc.data.panel import PanelPartitions, dense_blocks
from mhpc.data.size import Size, measure_size
from mhpc.errors import TooLargeError, option, pluralize
from mhpc.methods.base import DENSE_SCORE_BYTES, BaseMethod
from mhpc.methods.registry import make_method
from mhpc.methods.used_labels import use_labels
from mhpc.system.database import rows_of_parquet
from mhpc.system.limits import describe_limits
from mhpc.system.memory import (
    database_memory,
    format_size,
    held_memory,
    memory_budget,
    memory_limit,
)
from mhpc.system.parallel import thread_count

_LOG = logging.getLogger("mhpc")

LIGHT_METHODS = ("dawid-skene", "majority", "sa")
"""Methods to recommend where another one does not fit, the best first."""

_LIBRARY_BYTES = 20_000_000
"""What libraries need when they are first used."""

_DENSE_BYTES, _SPARSE_BYTES = 8, 12
"""Bytes of a number in a dense and in a sparse matrix."""

_DENSE_COPIES = 4
"""Dense copies of a block of instances x labels that a thread works on at once."""

_VOTE_BYTES = 100
"""Bytes of a vote while it is read and encoded."""

_SPARSE_ROW_BYTES, _SPARSE_ROWS = 4_000, 1 << 16
"""Bytes of an instance while it is scored sparsely, and how many instances are scored at once."""

_QUEUED_BYTES = 60
"""Bytes of a score that waits to be written, with its ids."""


def check_memory(
    method: Any, partitions: PanelPartitions, *, scores_elsewhere: bool = False
) -> None:
    """Refuse a method that would need more memory than may be used, or hours; say what would do.

    Parameters
    ----------
    method : method
        One that does not derive from `BaseMethod` gives no estimate and is not refused.
    partitions : PanelPartitions
        All answers.
    scores_elsewhere : bool
        Whether workers on other machines compute the scores, so that only fitting counts.
    """
    if not isinstance(method, BaseMethod):
        return
    size, limit = measure_size(use_labels(partitions)[0]), memory_limit()
    needed = method.estimate_memory(size) if scores_elsewhere else estimate_memory(method, size)
    _LOG.info("memory: %d bytes estimated beyond %d held", needed, held_memory())
    if reason := method.explain_duration(size):
        raise TooLargeError(f"{reason}; use {option('method', LIGHT_METHODS[0])}")
    if needed > limit:
        raise TooLargeError(
            f"{explain_memory(method, size, needed, limit)}; {_recommend(method, size, limit)}"
        )


def estimate_memory(method: BaseMethod, size: Size) -> int:
    """Return the bytes that a method needs at its peak to fit and score, beyond the votes."""
    return (
        _LIBRARY_BYTES
        + method.estimate_memory(size)
        + _score_bytes(method, size)
        + _block_bytes(method, size)
    )


def explain_memory(method: BaseMethod, size: Size, needed: int, limit: int) -> str:
    """Say how much a method needs, what for, and how much may be used."""
    purpose = method.describe_memory(size)
    return (
        f"{method.name} of {pluralize(size.instances, 'instance')} and "
        f"{pluralize(size.labels, 'label')} needs about {format_size(needed)}"
        f"{f' ({purpose})' if purpose else ''}, and {format_size(limit)} may be used"
        f"{describe_limits()}"
    )


def check_readable(source: str | Sequence[str]) -> None:
    """Refuse Parquet files with more votes than fit; other formats do not say how many."""
    paths = [Path(source)] if isinstance(source, str) else [Path(path) for path in source]
    files = [
        file
        for path in paths
        for file in (sorted(path.glob("[!._]*.parquet")) if path.is_dir() else [path])
    ]
    rows, limit = sum(rows_of_parquet(file) for file in files if file.is_file()), memory_limit()
    needed = _VOTE_BYTES * rows
    if needed > limit:
        raise TooLargeError(
            f"{paths[0]} holds {rows:,} votes, which need about {format_size(needed)} to be read "
            f"at once, and {format_size(limit)} may be used{describe_limits()}; raise "
            f"{option('memory')} if there is more, or use "
            f"{option('engine', 'dask', command='consolidate')}, which reads them in parts"
        )


def _recommend(method: BaseMethod, size: Size, limit: int) -> str:
    """Say what would fit: a lighter method, or more memory, here or on other machines."""
    lighter = (
        name
        for name in LIGHT_METHODS
        if name != method.name and estimate_memory(make_method(name), size) <= limit
    )
    name = next(lighter, None)
    advice = f"use {option('method', name)}, " if name else ""
    return (
        f"{advice}raise {option('memory')} if there is more, or use "
        f"{option('engine', 'dask', command='consolidate')} on several machines"
    )


def _score_bytes(method: BaseMethod, size: Size) -> int:
    """Return what scores need that are computed at once, both views together."""
    if method.sparse:
        return 2 * _SPARSE_BYTES * size.implied
    needed = 2 * _DENSE_BYTES * size.cells
    return needed if needed <= min(memory_budget() // 4, DENSE_SCORE_BYTES) else 0


def _block_bytes(method: BaseMethod, size: Size) -> int:
    """Return what the blocks being scored need, and the scores that wait to be written."""
    written = size.instances * min(20, size.labels)
    queued = min(_QUEUED_BYTES * written, database_memory(memory_budget() // 4))
    if method.sparse:
        return queued + _SPARSE_ROW_BYTES * min(size.instances, _SPARSE_ROWS)
    rows: int = next(dense_blocks(size.instances, size.labels)).stop
    return queued + _DENSE_BYTES * rows * size.labels * (_DENSE_COPIES + thread_count())
