"""Locks on folders, by which processes see what others are doing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mhpc.errors import OutputExistsError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where folders are not locked
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None
"""Whether this system can lock folders."""


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder as long as the block lasts; the system unlocks it when the process dies."""
    if fcntl is None:  # pragma: no cover
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


@contextmanager
def exclusive_lock(folder: Path, message: str) -> Iterator[None]:
    """Lock a folder for this process alone, or raise an `OutputExistsError` with the message."""
    if fcntl is None:  # pragma: no cover
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputExistsError(message) from None
        yield
    finally:
        os.close(handle)


def is_locked(folder: Path) -> bool:
    """Tell whether a living process has locked a folder; True where that cannot be found out."""
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
