"""Who is at work in a folder: a claim that ends with the process, however that ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where nothing is claimed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Claim a folder as long as the block lasts; the system gives it up when a process dies."""
    if fcntl is None:  # pragma: no cover
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def is_claimed(folder: Path) -> bool:
    """Tell whether a process that lives has claimed a folder; True where that is not known."""
    if fcntl is None:  # pragma: no cover
        return True
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
