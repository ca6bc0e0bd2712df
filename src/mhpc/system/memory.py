"""How much memory work may use, how much is free, and sizes as text."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType

from mhpc.errors import ParameterError

resource: ModuleType | None
try:
    import resource
except ImportError:
    # Windows has no such limits.
    resource = None

MEMINFO = Path("/proc/meminfo")
STATM = Path("/proc/self/statm")
CGROUP = Path("/sys/fs/cgroup")
_ASSUMED = 4 << 30
"""Bytes that are assumed to be free where the system does not say."""

MAX_SIZE = 10**15
"""The largest size in bytes that can be given; DuckDB, for one, takes no number of 20 digits."""

_MEMORY_LIMITS = {"RLIMIT_AS": 0, "RLIMIT_DATA": 5}
"""The limits of a process that count memory, and which field of statm is counted."""

_RESERVED = 128 << 20
"""Bytes below such a limit that are left to stacks of threads and buffers of libraries."""

_THREAD_MEMORY = 1 << 30
"""Bytes of such a limit for every thread: stacks, heaps and buffers of BLAS, none of them used
much, but all of them counted, and for every connection to DuckDB again."""

_BUDGET: ContextVar[int | None] = ContextVar("memory budget", default=None)


def memory_budget() -> int:
    """Return the bytes that work may use: what was set, or half of what is free."""
    return _cap(_BUDGET.get()) or (available_memory() or _ASSUMED) // 2


def memory_limit() -> int:
    """Return the bytes that work can use at most: what was set, or all that is free."""
    return _cap(_BUDGET.get()) or available_memory() or _ASSUMED


def _cap(budget: int | None) -> int | None:
    """Return a budget, but no more than the limits of the process leave, and at least one byte."""
    left = None if budget is None else process_memory()
    return budget if budget is None or left is None else max(1, min(budget, left))


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
    if size is None:
        return None
    # Python does not write integers of more than 4,300 digits.
    text = "more" if isinstance(size, int) and abs(size) > MAX_SIZE else str(size)
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    number = float(match[1]) if match else 0.0
    power = " kmgt".index(match[2].lower() or " ") if match else 0
    unit = 1024 if match and match[3] else 1000
    # Compared as floats: a number of 400 digits is infinite.
    if not 1 <= number * unit**power <= MAX_SIZE:
        raise ParameterError(
            f"{name} = {text[:60]!r} is not allowed; give a size such as {example} or 500MB, "
            f"up to {MAX_SIZE // 10**12:,} TB"
        )
    return int(number * unit**power)


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

    Linux counts memory that it can take back from its caches; a container may have less than the
    machine, and a process less than the container. Elsewhere, all memory counts as free.
    """
    known = (_machine_memory(meminfo), _container_memory(cgroup), process_memory())
    sizes = [size for size in known if size is not None]
    if sizes:
        return min(sizes)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def process_memory(
    *, limits: Callable[[str], int | None] | None = None, statm: Path = STATM
) -> int | None:
    """Return the bytes that the limits of this process leave, None without a limit.

    Parameters
    ----------
    limits : callable, optional
        Returns a limit by its name; by default `resource_limit`.
    statm : Path
        What this process uses, in pages.
    """
    limits = limits or resource_limit
    most = {name: limit for name in _MEMORY_LIMITS if (limit := limits(name)) is not None}
    if not most:
        return None
    try:
        pages = [int(field) for field in statm.read_text(encoding="ascii").split()]
        used = {name: pages[_MEMORY_LIMITS[name]] * os.sysconf("SC_PAGE_SIZE") for name in most}
    except (AttributeError, OSError, ValueError, IndexError):
        return None
    return max(0, min(most[name] - used[name] for name in most) - _RESERVED)


def affordable_threads(*, limits: Callable[[str], int | None] | None = None) -> int | None:
    """Return how many threads the limits of this process allow for, None without a limit."""
    limits = limits or resource_limit
    most = [limit for name in _MEMORY_LIMITS if (limit := limits(name)) is not None]
    return max(1, min(most) // _THREAD_MEMORY) if most else None


def database_memory(size: int) -> int:
    """Return the bytes that DuckDB may use: `size`, but enough, and within the process's limits."""
    size, left = max(MIN_DATABASE_MEMORY, size), process_memory()
    return size if left is None else min(size, max(left // 2, _MIN_LIMITED_DATABASE))


def resource_limit(name: str) -> int | None:
    """Return a limit of this process by its name, such as RLIMIT_AS; None if there is none."""
    if resource is None or not hasattr(resource, name):
        return None
    most: int = resource.getrlimit(getattr(resource, name))[0]
    return None if most == resource.RLIM_INFINITY else most


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
"""Bytes that DuckDB may use wherever no limit is lower; beyond that it writes to disk."""

_MIN_LIMITED_DATABASE = 64 << 20
"""Bytes that DuckDB needs in any case."""
