"""Temporary folders that are removed however a process ends.

Each removes itself at the end of its block. Where that end cannot be waited for, `remove_all`
removes those that are open.
"""

import errno
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mhpc.errors import UnwritableError

steady = threading.RLock()
"""Held while folders are made or moved, so that nobody removes one in between."""

_OPEN: dict[Path, Sequence[Path]] = {}
"""The folders there are, each with those above it that were made for it."""

_TRIES = 20

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""What a disk says that takes no more."""


@contextmanager
def temporary_folder(
    prefix: str, *, inside: Path | None = None, mode: int = 0o700, for_others: bool = False
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
    for_others : bool
        Whether other processes alone write into it, so that a full disk is not said to be its.

    Raises
    ------
    UnwritableError
        When the disk is full meanwhile.
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
    except OSError as error:
        if error.errno in _FULL and not for_others and _within(error.filename, folder):
            raise _full(folder, error, system=inside is None) from None
        raise
    finally:
        _remove(folder, made)
        _OPEN.pop(folder, None)


def remove_all() -> None:
    """Remove the folders that are open, even while somebody writes into them."""
    for folder, made in list(_OPEN.items()):
        _remove(folder, made)


def _within(file: str | None, folder: Path) -> bool:
    """Tell whether a file is in a folder, as far as that is known: an open file has no name."""
    return folder.is_dir() and (
        file is None or Path(file).absolute().is_relative_to(folder.absolute())
    )


def _full(folder: Path, error: OSError, *, system: bool) -> UnwritableError:
    # Of folders in each other the outermost is in a place that somebody chose.
    outermost = min((each for each in _OPEN if folder.is_relative_to(each)), key=_depth)
    instead = "set TMPDIR to a folder with more" if system else "choose a folder elsewhere"
    return UnwritableError(
        f"{outermost.absolute().parent} takes no more: {error.strerror}; free some space there, or "
        f"{instead}; nothing was written"
    )


def _depth(folder: Path) -> int:
    return len(folder.parts)


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
