"""Temporary folders, locks, atomic file and folder replacement.

Each removes itself at the end of its block. Where that end cannot be waited for, `remove_all`
removes those that are open.
"""

import ctypes
import errno
import gzip
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from mhpc.errors import OutputExistsError, UnwritableError

stable_path = threading.RLock()
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
        with stable_path:
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


try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where nothing is claimed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
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


def is_locked(folder: Path) -> bool:
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


_HERE = -100
"""What Linux takes for "relative to the current folder"."""

_EXCHANGE = 2
"""The flag by which both Linux and macOS exchange instead of replacing."""


def exchange_folders(one: Path, other: Path) -> bool:
    """Let two paths change places; False where the system or the file system cannot do that."""
    paths = os.fsencode(one), os.fsencode(other)
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if sys.platform == "darwin":
        call = getattr(library, "renamex_np", None)
        return call is not None and call(*paths, _EXCHANGE) == 0
    call = getattr(library, "renameat2", None)
    return call is not None and call(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0


OUTPUTS = {
    "scores.parquet", "labels.csv", "sources.csv", "taxonomy.csv", "model.npz", "run.json",
    "report.html", "report.json",
}  # fmt: skip
"""What a run writes; a folder with anything else in it is not replaced."""

MARK = "run.json"
"""The file by which a folder is known as an output of ours, which may be replaced."""

_YOUNG = 60.0
"""Seconds for which a hidden folder that nobody claims is left alone: it may be about to be."""


@contextmanager
def atomic_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder beside the target to write into, and move it into place at the end.

    If anything goes wrong meanwhile, an interrupt included, what was there before is left and
    nothing else; a process that is killed leaves a hidden folder beside it, which the next run
    removes. An existing target is refused without `force`, and even with it when it does not
    look like an output: a mistyped ``-o`` must not cost someone their files.
    """
    check_output(target, force=force)
    # What a link points to is replaced, not the link.
    target = target.resolve() if target.is_symlink() else target
    _check_single_run(target)
    with ExitStack() as stack:
        try:
            # An output is as open as the user's umask says.
            beside = stack.enter_context(
                temporary_folder(f".{target.name}-", inside=target.parent, mode=0o777)
            )
        except OSError as error:
            raise UnwritableError(
                f"{target} cannot be made: {error.strerror}; choose another"
            ) from None
        stack.enter_context(folder_lock(beside))
        yield beside
        check_output(target, force=force)
        _put_in_place(beside, target)


def check_output(target: Path, *, force: bool) -> None:
    """Refuse a target that is there or cannot be made, before any work is done for it."""
    if not target.exists():
        check_writable(target)
        return
    if not force:
        raise OutputExistsError(
            f"{target} is there already; choose another, or replace it with --force"
        )
    if not target.is_dir() or (any(target.iterdir()) and not (target / MARK).exists()):
        raise OutputExistsError(
            f"{target} is not an output of mhpc (it has no {MARK}), so --force leaves it alone; "
            "choose another"
        )
    _check_nothing_lost(target)


def _check_nothing_lost(target: Path) -> None:
    kept = sorted(path.name for path in target.iterdir() if path.name not in OUTPUTS)
    if kept:
        raise OutputExistsError(
            f"{target} holds {kept[0]!r}, which no run wrote and --force would delete; "
            "move it away, or choose another folder"
        )


def check_writable(target: Path) -> None:
    """Refuse a target whose folder is none or may not be written to."""
    try:
        str(target.absolute()).encode()
    except UnicodeEncodeError:
        raise UnwritableError(f"{str(target)!r}: the name is not UTF-8; choose another") from None
    above = next(folder for folder in target.absolute().parents if folder.exists())
    if not above.is_dir():
        raise UnwritableError(f"{target} cannot be made: {above} is a file; choose another")
    if not os.access(above, os.W_OK | os.X_OK):
        raise UnwritableError(f"{target} cannot be made: {above} may not be written to")


def _check_single_run(target: Path) -> None:
    """Refuse while another run writes to the same target; remove what a killed one left."""
    own = re.compile(rf"\.{re.escape(target.name)}-[0-9a-f]{{16}}")
    beside = target.parent.iterdir() if target.parent.is_dir() else ()
    for other in [path for path in beside if own.fullmatch(path.name)]:
        # Another process may end, and remove its folder, while this one looks.
        with suppress(FileNotFoundError):
            if is_locked(other):
                raise OutputExistsError(
                    f"another run is writing to {target} (in {other.name}); wait until it has "
                    "ended, or choose another folder"
                )
            if time.time() - other.stat().st_mtime > _YOUNG:
                shutil.rmtree(other, ignore_errors=True)


def _put_in_place(beside: Path, target: Path) -> None:
    if target.exists() and exchange_folders(beside, target):
        # What was there before is now beside, and goes with it.
        return
    with temporary_folder(f".{target.name}-old-", inside=target.parent) as old, stable_path:
        try:
            if target.exists():
                target.rename(old / "run")
            beside.rename(target)
        except BaseException:
            if (old / "run").exists() and not target.exists():
                (old / "run").rename(target)
            raise


STDOUT = "-"


@contextmanager
def atomic_file(target: str | Path, *, force: bool = True) -> Iterator[BinaryIO]:
    """Give a file to write into, which is moved into place at the end; ``-`` is standard output.

    A name that ends in ``.gz`` is packed. What is there is refused without `force`, and stays as
    it is if anything goes wrong. A device or a pipe is written to, never replaced.
    """
    if str(target) == STDOUT:
        sys.stdout.flush()
        yield cast(BinaryIO, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    check_target(path, force=force)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        with temporary_folder(f".{path.name}-", inside=path.parent) as folder:
            with _opened(folder / "whole", packed=path.suffix == ".gz") as file:
                yield file
            with stable_path:
                (folder / "whole").replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(error, UnwritableError) or not error.strerror:
            raise
        raise UnwritableError(f"{path} cannot be written: {error.strerror}") from None


def check_target(path: Path, *, force: bool) -> None:
    """Refuse a target that cannot be a file, or is one already, before any work is done for it."""
    if not path.parent.is_dir():
        raise UnwritableError(f"{path}: there is no folder {str(path.parent)!r}; make it first")
    if path.is_dir():
        raise UnwritableError(f"{path} is a folder; give a file in it")
    if path.is_file() and not force:
        raise OutputExistsError(
            f"{path} is there already; choose another, or replace it with --force"
        )


@contextmanager
def _opened(path: Path, *, packed: bool) -> Iterator[BinaryIO]:
    with ExitStack() as files:
        file: IO[bytes] = files.enter_context(path.open("wb"))
        if packed:
            # Neither name nor time inside: the same data give the same bytes.
            file = files.enter_context(
                cast(IO[bytes], gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0))
            )
        yield cast(BinaryIO, file)
