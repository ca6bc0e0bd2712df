"""How much memory work may use, how much is free, and sizes as text."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from mhpc.errors import ParameterError

MEMINFO = Path("/proc/meminfo")
STATM = Path("/proc/self/statm")
CGROUP = Path("/sys/fs/cgroup")
_ASSUMED = 4 << 30
"""Bytes that are assumed to be free where the system does not say."""

_BUDGET: ContextVar[int | None] = ContextVar("memory budget", default=None)


def memory_budget() -> int:
    """Return the bytes that work may use: what was set, or half of what is free."""
    return _BUDGET.get() or (available_memory() or _ASSUMED) // 2


def memory_limit() -> int:
    """Return the bytes that work can use at most: what was set, or all that is free."""
    return _BUDGET.get() or available_memory() or _ASSUMED


@contextmanager
def use_memory_budget(budget: int | None) -> Iterator[None]:
    """Set how much memory work may use within the block; None: half of what is free."""
    before = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(before)


def parse_size(size: str | int | None, *, name: str = "memory", example: str = "6GB") -> int | None:
    """Return a size in bytes: ``"6GB"``, ``"500 MB"``, ``"4GiB"`` or a number; None stays.

    >>> parse_size("6GB")
    6000000000
    """
    if size is None or isinstance(size, int):
        return size
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", size, re.IGNORECASE)
    number = float(match[1]) if match else 0.0
    if match is None or number <= 0:
        raise ParameterError(
            f"{name} = {size!r} is not allowed; give a size such as {example} or 500MB"
        )
    power = " kmgt".index(match[2].lower() or " ")
    return int(number * (1024 if match[3] else 1000) ** power)


def format_size(size: float) -> str:
    """Return a size as people write it.

    >>> format_size(2_340_000_000), format_size(51_000), format_size(12)
    ('2.3 GB', '51 kB', '12 bytes')
    """
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if size >= 10**power:
            return f"{size / 10**power:.{1 if unit == 'GB' else 0}f} {unit}"
    return f"{size:.0f} bytes"


def available_memory(*, meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> int | None:
    """Return the bytes that can be used without swapping, or None if that is unknown.

    Linux counts memory that it can take back from its caches, and a container may have less than
    the machine. Elsewhere, all memory counts as free.
    """
    sizes = [
        size for size in (_machine_memory(meminfo), _container_memory(cgroup)) if size is not None
    ]
    if sizes:
        return min(sizes)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def held_memory(*, statm: Path = STATM) -> int:
    """Return the bytes that this process uses now, 0 if that is unknown."""
    try:
        pages = int(statm.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError, IndexError):
        return 0


def _machine_memory(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
        (kilobytes,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(kilobytes) * 1024
    except (OSError, ValueError):
        return None


def _container_memory(cgroup: Path) -> int | None:
    """Return what is left of the limit of a control group, None without a limit."""
    try:
        most = int((cgroup / "memory.max").read_text(encoding="ascii"))
        taken = int((cgroup / "memory.current").read_text(encoding="ascii"))
        rows = (cgroup / "memory.stat").read_text(encoding="ascii").splitlines()
        # Cached pages of files are given back before any process is killed.
        (idle,) = (int(row.split()[1]) for row in rows if row.startswith("inactive_file "))
    except (OSError, ValueError):
        # Without a limit the first file says max.
        return None
    return max(0, most - taken + idle)


MIN_DATABASE_MEMORY = 10**9
"""Bytes that DuckDB may always use; beyond that it writes to disk."""
