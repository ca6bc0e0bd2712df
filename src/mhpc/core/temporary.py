"""Temporary folders that are removed however a process ends.

Each removes itself at the end of its block. Where that end cannot be waited for, `remove_all`
removes those that are open.
"""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

steady = threading.RLock()
"""Held while folders are made or moved, so that nobody removes one in between."""

_OPEN: dict[Path, Sequence[Path]] = {}
"""The folders there are, each with those above it that were made for it."""

_TRIES = 20


@contextmanager
def temporary_folder(
    prefix: str, *, inside: Path | None = None, mode: int = 0o700
) -> Iterator[Path]:
    """Give a new folder and remove it at the end, an interrupt included.

    Parameters
    ----------
    prefix : str
        How its name begins.
    inside : path, optional
        The folder to make it in, made if need be and removed again if it stays empty; unless
        given, the system's place for temporary files.
    mode : int
        Who may enter it, as far as the umask allows.
    """
    above = Path(tempfile.gettempdir()) if inside is None else inside
    folder = above / f"{prefix}{os.urandom(8).hex()}"
    made = [each for each in folder.parents if not each.exists()]
    try:
        with steady:
            # Known before it is there: an interrupt in between leaves nothing.
            _OPEN[folder] = made
            above.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=mode)
        yield folder
    finally:
        _remove(folder, made)
        _OPEN.pop(folder, None)


def remove_all() -> None:
    """Remove the folders that are open, even while somebody writes into them."""
    for folder, made in list(_OPEN.items()):
        _remove(folder, made)


def _remove(folder: Path, made: Sequence[Path]) -> None:
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            break
        # A file that was written since the folder was listed keeps it.
        time.sleep(0.01)
    for each in made:
        # Those that hold something else by now are not empty, and stay.
        with suppress(OSError):
            each.rmdir()
