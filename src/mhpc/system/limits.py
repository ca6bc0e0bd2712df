"""Limits that the system sets for a process (``ulimit``): checked before they can do harm.

Libraries of linear algebra end the process, hang or crash when they are loaded with too little
memory, and threads crash whose stack is too small. So a limit that is too low is refused before
anything is loaded, and under one that is high enough libraries are made to need less.
"""

import os
import re
from collections.abc import Callable, Mapping

from mhpc.errors import MhpcError, TooLargeError
from mhpc.system.memory import format_size, process_memory, resource_limit
from mhpc.system.parallel import BLAS_THREAD_VARIABLES

COMMAND_NEEDS: Mapping[str, int] = {
    "RLIMIT_AS": 1_000_000_000,
    "RLIMIT_DATA": 500_000_000,
    "RLIMIT_STACK": 500_000,
    "RLIMIT_NOFILE": 16,
}
"""What a command needs at least.

On the bundled example, commands reserve up to 730 MB of address space and 270 MB of data after
`save_memory`, most of it for libraries.
"""

_LIMITS = {
    "RLIMIT_AS": ("address space", "ulimit -v"),
    "RLIMIT_DATA": ("memory", "ulimit -d"),
    "RLIMIT_STACK": ("stack", "ulimit -s"),
    "RLIMIT_NOFILE": ("open files", "ulimit -n"),
    "RLIMIT_NPROC": ("processes and threads", "ulimit -u"),
}
"""What a limit counts, and the command of a shell that sets it."""

_MEMORY = ("RLIMIT_AS", "RLIMIT_DATA")

_ONE_THREAD = dict.fromkeys(BLAS_THREAD_VARIABLES, "1")
"""Runs use one thread of BLAS in any case. OpenBLAS would start others when it is loaded, and send
an interrupt to its own process if it cannot."""

_THRIFTY = {
    # The default pool of Arrow reserves a gigabyte when it is loaded.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Variables by which libraries reserve less memory."""

_LARGE_STACK = 1 << 30
"""The stack, in bytes, beyond which it may be the reason that a thread cannot be started."""

_NO_MEMORY = re.compile(
    r"out of memory|bad_alloc|cannot allocate memory|failed to (allocate|map segment)",
    re.IGNORECASE,
)
_NO_THREAD = re.compile(
    r"can't start new thread|resource temporarily unavailable|pthread_create", re.IGNORECASE
)
"""What libraries say when memory runs out, or when no thread can be started."""


def cluster_needs(workers: int) -> dict[str, int]:
    """Return what a process needs that connects to a Dask cluster and starts some of its workers.

    On the bundled example, it reserves 1,020 MB of address space and 260 MB of data with two.
    """
    return {
        "RLIMIT_AS": 2_000_000_000 + 150_000_000 * workers,
        "RLIMIT_DATA": 600_000_000 + 20_000_000 * workers,
        "RLIMIT_NOFILE": 100 + 20 * workers,
    }


def check_limits(
    needs: Mapping[str, int], what: str, *, limits: Callable[[str], int | None] = resource_limit
) -> None:
    """Refuse limits of this process that are too low.

    Parameters
    ----------
    needs : mapping of str to int
        The lowest limits, by their names in `resource`.
    what : str
        What needs them, for the message.
    limits : callable
        Returns the limit with a name, None if there is none.

    Raises
    ------
    TooLargeError
        Which limit is too low.
    """
    for name, needed in needs.items():
        most = limits(name)
        if most is not None and most < needed:
            counted, command = _LIMITS[name]
            raise TooLargeError(
                f"{what} needs at least {_amount(name, needed)} of {counted}, and "
                f"{_amount(name, most)} may be used; raise the limit with {command}"
            )


def save_memory() -> None:
    """Let libraries that are loaded from now on start no threads, and reserve less memory.

    The latter if memory is limited.
    """
    os.environ.update(_ONE_THREAD)
    if process_memory() is not None:
        os.environ.update(_THRIFTY)


def explain_exhaustion(error: BaseException) -> str | None:
    """Return in one line that memory or threads ran out, None if the error is another one.

    Libraries raise errors of their own classes for that, or of classes that stand for anything.
    """
    if isinstance(error, MhpcError):
        return None
    text = (error.strerror or "") if isinstance(error, OSError) else str(error)
    if isinstance(error, MemoryError) or _NO_MEMORY.search(text):
        limits = describe_limits()
        more = "raise the limit" if limits else "use a machine with more"
        return f"memory ran out{limits}; {more}, or use fewer instances"
    if _NO_THREAD.search(text):
        # Every thread reserves a stack of the size that is allowed.
        stack = ["RLIMIT_STACK"] if (resource_limit("RLIMIT_STACK") or 0) > _LARGE_STACK else []
        limits = describe_limits(*_MEMORY, "RLIMIT_NPROC", *stack)
        return (
            f"the system starts no more threads{limits}; change its limits, or end other programs"
        )
    return None


def describe_limits(*names: str) -> str:
    """Return the limits that are set, by default those of memory, in parentheses for a message."""
    limits = [
        f"{command} allows {_amount(name, most)} of {counted}"
        for name, (counted, command) in _LIMITS.items()
        if name in (names or _MEMORY) and (most := resource_limit(name)) is not None
    ]
    return f" ({'; '.join(limits)})" if limits else ""


def _amount(name: str, size: int) -> str:
    return f"{size:,}" if name in ("RLIMIT_NOFILE", "RLIMIT_NPROC") else format_size(size)
