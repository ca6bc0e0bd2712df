"""How much memory there is to work with."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from mhpc.errors import ParameterError

_MEMINFO = Path("/proc/meminfo")
_UNTOLD = 4 << 30
"""What is taken to be free where nothing tells."""

_BUDGET: ContextVar[int | None] = ContextVar("memory budget", default=None)


def memory_budget() -> int:
    """Return the bytes that work may take: what was set, or half of what is free."""
    return _BUDGET.get() or (available_memory() or _UNTOLD) // 2


@contextmanager
def within_memory(budget: int | None) -> Iterator[None]:
    """Set how much memory work may take meanwhile; None: half of what is free."""
    before = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(before)


def as_bytes(size: str | int | None) -> int | None:
    """Return a size in bytes: ``"6GB"``, ``"500 MB"``, ``"4GiB"`` or a number; None stays.

    >>> as_bytes("6GB")
    6000000000
    """
    if size is None or isinstance(size, int):
        return size
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", size, re.IGNORECASE)
    number = float(found[1]) if found else 0.0
    if found is None or number <= 0:
        raise ParameterError(f"memory = {size!r} is not allowed; give a size such as 6GB or 500MB")
    power = " kmgt".index(found[2].lower() or " ")
    return int(number * (1024 if found[3] else 1000) ** power)


def available_memory() -> int | None:
    """Return the bytes that can be had without swapping, or None where nothing tells.

    Linux counts what it can take back from its caches; elsewhere all memory has to do.
    """
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        (kilobytes,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(kilobytes) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
