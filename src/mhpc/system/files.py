"""Files and folders that appear complete or not at all, and temporary folders."""

import ctypes
import errno
import gzip
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, cast

from mhpc.errors import (
    FailedWriteError,
    MhpcWarning,
    OutputExistsError,
    UnwritableError,
    option,
    warn,
)
from mhpc.process import clean_up, fork_safe_lock, no_fork
from mhpc.system.locks import CAN_LOCK, folder_lock, is_locked

STDOUT = "-"

RUN_FILES = {
    "items.csv", "labels.csv", "scores.parquet", "sources.csv", "taxonomy.csv", "model.npz",
    "run.json", "report.html", "report.json", "votes.parquet", "gold.csv", "scope.csv",
}  # fmt: skip
"""What a run writes; a folder with anything else in it is not replaced."""

RUN_MARK = "run.json"
"""The file by which a folder is recognized as the output of a run, which may be replaced."""

MIN_AGE = 60.0
"""Seconds for which a hidden folder without a lock is left alone: its lock may be about to come."""

stable_path = fork_safe_lock()
"""Held while folders are made or moved, so that no folder is removed in between."""

OPEN_FOLDERS: dict[Path, Sequence[Path]] = {}
"""The temporary folders there are, each with the folders above it that were made for it."""

if hasattr(os, "register_at_fork"):
    # They belong to the process that made them.
    os.register_at_fork(after_in_child=OPEN_FOLDERS.clear)

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_file(
    target: str | Path, *, force: bool = True, durable: bool = False
) -> Iterator[BinaryIO]:
    """Open a file that appears under its name once it is complete; ``-`` is standard output.

    If anything goes wrong, the file that was there stays as it is. A name that ends in ``.gz`` is
    compressed. A device or a pipe is written to, never replaced.

    Parameters
    ----------
    target : path or "-"
        The file.
    force : bool
        Whether to replace a file that is there.
    durable : bool
        Whether the file must survive a crash of the machine once the block has ended.
    """
    if str(target) == STDOUT:
        stream = _standard_output()
        yield stream
        stream.flush()
        return
    path = Path(target)
    check_target(path, force=force)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        with (
            atomic_path(path, durable=durable) as unfinished,
            _open_binary(unfinished, compress=path.suffix == ".gz") as file,
        ):
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        # A file of an unfinished folder is not what the user asked for; the folder explains it.
        is_part = path.absolute().parent in map(Path.absolute, OPEN_FOLDERS)
        if isinstance(error, UnwritableError) or not error.strerror or is_part:
            raise
        raise _unwritable(f"{_shorten(path)} cannot be written", error) from None


@contextmanager
def atomic_path(target: Path, *, replace: bool = True, durable: bool = False) -> Iterator[Path]:
    """Give a path to write a file or a folder to, which takes the target's place at the end.

    The path is in a hidden folder beside the target, which may be used for other temporary files.

    Parameters
    ----------
    target : Path
        The file or folder.
    replace : bool
        Whether to replace what is there by then; if not, what was written is dropped.
    durable : bool
        Whether a file is to be on the disk, under its name, when the block has ended.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(
                temporary_folder(f".{target.name}-", inside=target.parent.resolve(strict=True))
            )
        except OSError as error:
            raise _unwritable(f"{target} cannot be written", error) from None
        yield folder / target.name
        if durable:
            _flush_to_disk(folder / target.name)
        with stable_path:
            if replace or not target.exists():
                (folder / target.name).replace(target)
        if durable:
            _flush_to_disk(target.parent)


@contextmanager
def atomic_folder(
    target: Path, *, force: bool, exchange: Callable[[Path, Path], bool] | None = None
) -> Iterator[Path]:
    """Give a folder to write the output of a run to, which takes the target's place at the end.

    If anything goes wrong, an interrupt included, what was there before stays and nothing else is
    left. A process that is killed leaves a hidden folder, which the next run removes. An existing
    target is refused without `force`, and even with it unless it is the output of a run: a
    mistyped ``-o`` must not delete files.

    Where two folders cannot be exchanged in one step, the old one is moved aside first. If the
    process is killed in between, `restore_folder` puts it back.

    Parameters
    ----------
    target : Path
        The folder.
    force : bool
        Whether to replace the output of an earlier run.
    exchange : callable, optional
        Exchanges two folders in one step, or returns False; by default, what the system offers.
    """
    check_output(target, force=force)
    # The folder that a link points to is replaced, not the link.
    target = resolve_path(target) if target.is_symlink() else target
    _check_single_run(target)
    with ExitStack() as stack:
        try:
            # An output is as open as the user's umask says.
            folder = stack.enter_context(
                temporary_folder(f".{target.name}-", inside=target.parent, mode=0o777)
            )
        except OSError as error:
            raise _unwritable(f"{target} cannot be created", error) from None
        stack.enter_context(folder_lock(folder))
        yield folder
        check_output(target, force=force)
        _move_into_place(folder, target, exchange or _exchange)


def check_output(target: Path, *, force: bool) -> None:
    """Refuse a folder that exists or cannot be created, before any work is done for it."""
    if str(target) == STDOUT:
        raise UnwritableError("an output is a folder, and cannot go to standard output; name one")
    check_name(target)
    restore_folder(target)
    if not target.exists():
        check_writable(target)
        return
    if not force:
        raise OutputExistsError(
            f"{target} is there already; choose another, or replace it with {option('force', True)}"
        )
    if not target.is_dir() or (any(target.iterdir()) and not (target / RUN_MARK).exists()):
        raise OutputExistsError(
            f"{target} is not an output of mhpc (it has no {RUN_MARK}), and is left alone; choose "
            "another"
        )
    others = sorted(path.name for path in target.iterdir() if path.name not in RUN_FILES)
    if others:
        raise OutputExistsError(
            f"{target} holds {others[0]!r}, which no run wrote and replacing it would delete; move "
            "it away, or choose another folder"
        )


def restore_folder(target: Path) -> None:
    """Put back the output that a killed run had moved aside to replace it, and say so.

    Call this before a folder, or a file in it, is read or written. It does nothing while the folder
    is there, or while the run that replaces it is alive.
    """
    with suppress(OSError, ValueError):
        if not target.exists():
            for folder in (*reversed(target.parents), target):
                _restore(folder)


def _restore(target: Path) -> None:
    try:
        # The folder that a link points to was replaced, not the link.
        target = Path(os.path.realpath(target)) if target.is_symlink() else target
        if os.path.lexists(target):
            return
        asides = [path for path in _hidden_folders(target, "old-") if (path / _ASIDE).is_dir()]
        for aside in sorted(asides, key=lambda path: path.stat().st_mtime, reverse=True):
            if not _is_alive(aside):
                (aside / _ASIDE).rename(target)
                warn(
                    f"{target} was restored: a run was killed while it replaced this folder",
                    MhpcWarning,
                    stacklevel=3,
                )
                aside.rmdir()
                return
    except (OSError, ValueError):
        # Another process restores it, or it cannot be restored; the caller finds no folder.
        return


def check_writable(target: Path) -> None:
    """Refuse a target that cannot be created because of its name or of the folder above it."""
    check_name(target)
    above = next(folder for folder in target.absolute().parents if folder.exists())
    if not above.is_dir():
        raise UnwritableError(f"{target} cannot be created: {above} is a file; choose another")
    if not os.access(above, os.W_OK | os.X_OK):
        raise UnwritableError(f"{target} cannot be created: {above} may not be written to")


def check_name(target: Path) -> None:
    """Refuse a path that the system cannot follow, or that is not UTF-8, whatever is there."""
    try:
        str(target.absolute()).encode()
        target.stat()
    except UnicodeEncodeError:
        raise UnwritableError(f"{str(target)!r}: the name is not UTF-8; choose another") from None
    except ValueError:
        raise UnwritableError(f"{str(target)!r}: the name has a NUL; choose another") from None
    except OSError as error:
        # Permissions are checked where it is known what they are needed for.
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            raise UnwritableError(
                f"{_shorten(target)} cannot be created: {error.strerror}; choose another"
            ) from None


def resolve_path(path: Path) -> Path:
    """Return where a path leads to; a loop of links is an error of this package."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        # Before Python 3.13 a loop is a RuntimeError.
        reason = getattr(error, "strerror", None) or os.strerror(errno.ELOOP)
        raise UnwritableError(f"{_shorten(path)} leads nowhere: {reason}") from None


def check_target(path: Path, *, force: bool) -> None:
    """Refuse a file that exists or cannot be created, before any work is done for it."""
    check_name(path)
    restore_folder(path.parent)
    if not path.parent.is_dir():
        raise UnwritableError(f"{path}: there is no folder {str(path.parent)!r}; make it first")
    if path.is_dir():
        raise UnwritableError(f"{path} is a folder; give a file in it")
    if path.is_file() and not force:
        raise OutputExistsError(
            f"{path} is there already; choose another, or replace it with {option('force', True)}"
        )


@contextmanager
def temporary_folder(
    prefix: str, *, inside: Path | None = None, mode: int = 0o700, for_others: bool = False
) -> Iterator[Path]:
    """Make a folder and remove it at the end, after an interrupt too.

    Where that end cannot be waited for, `remove_all` removes the folders that are open.

    Parameters
    ----------
    prefix : str
        How its name begins.
    inside : path, optional
        The folder to make it in, made if need be and removed again if it stays empty; by default
        the system's folder for temporary files.
    mode : int
        Who may enter it, as far as the umask allows.
    for_others : bool
        Whether only other processes write into it; a full disk is then not blamed on it.

    Raises
    ------
    UnwritableError
        When the disk is full.
    """
    above = temporary_root() if inside is None else inside
    folder = above / f"{prefix}{os.urandom(8).hex()}"
    made = [parent for parent in folder.parents if not parent.exists()]
    try:
        with stable_path:
            # Registered before it exists: an interrupt in between leaves nothing.
            OPEN_FOLDERS[folder] = made
            above.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=mode)
        yield folder
    except OSError as error:
        is_lost = is_disk_full(error) or error.errno == errno.EROFS
        if is_lost and not for_others and _is_within(error.filename, folder):
            raise _disk_full_error(folder, error, system=inside is None) from None
        raise
    finally:
        if folder in OPEN_FOLDERS:
            clean_up(partial(_remove, folder, made))
            OPEN_FOLDERS.pop(folder, None)


def temporary_root() -> Path:
    """Return the system's folder for temporary files."""
    # Python looks for it once, and has a lock for that.
    with no_fork:
        try:
            return Path(tempfile.gettempdir())
        except FileNotFoundError as error:
            raise FailedWriteError(
                f"no folder takes temporary files: {error.strerror}; set TMPDIR to one that does"
            ) from None


def remove_all() -> None:
    """Remove the temporary folders that are open, even while another thread writes into them."""
    for folder, made in list(OPEN_FOLDERS.items()):
        _remove(folder, made)


def _shorten(path: Path, *, most: int = 200) -> str:
    text = str(path)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _standard_output() -> BinaryIO:
    """Return standard output, with everything written that was printed so far."""
    if not hasattr(sys.stdout, "buffer"):
        # A notebook has none, nor has a program without a terminal.
        raise UnwritableError("there is no standard output for data; give the name of a file")
    sys.stdout.flush()
    return cast(BinaryIO, sys.stdout.buffer)


@contextmanager
def _open_binary(path: Path, *, compress: bool) -> Iterator[BinaryIO]:
    with ExitStack() as files:
        file: IO[bytes] = files.enter_context(path.open("wb"))
        if compress:
            # Without name and time inside, equal data give equal bytes.
            file = files.enter_context(
                cast(IO[bytes], gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0))
            )
        yield cast(BinaryIO, file)


def _flush_to_disk(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":  # pragma: no cover - folders cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_single_run(target: Path) -> None:
    """Refuse while another run writes to the same target; remove what a killed one left."""
    for folder in [*_hidden_folders(target), *_hidden_folders(target, "old-")]:
        # Another process may end, and remove its folder, at this moment.
        with suppress(FileNotFoundError):
            if is_locked(folder):
                raise OutputExistsError(
                    f"another run is writing to {target} (in {folder.name}); wait until it has "
                    "ended, or choose another folder"
                )
            # What was moved aside and could not be restored is the only copy there is.
            is_only_copy = (folder / _ASIDE).exists() and not target.exists()
            if time.time() - folder.stat().st_mtime > MIN_AGE and not is_only_copy:
                shutil.rmtree(folder, ignore_errors=True)


def _hidden_folders(target: Path, kind: str = "") -> list[Path]:
    """Return the folders beside a target in which runs prepare it, or keep the one before."""
    hidden = re.compile(rf"\.{re.escape(target.name)}-{kind}[0-9a-f]{{16}}")
    siblings = target.parent.iterdir() if target.parent.is_dir() else ()
    return [path for path in siblings if hidden.fullmatch(path.name)]


def _is_alive(folder: Path) -> bool:
    """Tell whether the process that made a hidden folder is alive, as far as can be found out."""
    if not CAN_LOCK:  # pragma: no cover
        return time.time() - folder.stat().st_mtime < MIN_AGE
    return is_locked(folder)


_ASIDE = "run"
"""The name of an output within the hidden folder that it is moved to."""


def _move_into_place(folder: Path, target: Path, exchange: Callable[[Path, Path], bool]) -> None:
    if target.exists() and exchange(folder, target):
        # The old output is now in the temporary folder, and is removed with it.
        return
    with (
        temporary_folder(f".{target.name}-old-", inside=target.parent) as old,
        folder_lock(old),
        stable_path,
    ):
        try:
            if target.exists():
                target.rename(old / _ASIDE)
            folder.rename(target)
        except BaseException:
            if (old / _ASIDE).exists() and not target.exists():
                (old / _ASIDE).rename(target)
            raise


_CURRENT_FOLDER = -100
"""What Linux takes for "relative to the current folder"."""

_EXCHANGE = 2
"""The flag by which both Linux and macOS exchange instead of replacing."""


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two paths atomically; False where the system or the file system cannot do that."""
    paths = os.fsencode(first), os.fsencode(second)
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if sys.platform == "darwin":
        call = getattr(library, "renamex_np", None)
        return call is not None and call(*paths, _EXCHANGE) == 0
    call = getattr(library, "renameat2", None)
    if call is None:
        return False
    return bool(call(_CURRENT_FOLDER, paths[0], _CURRENT_FOLDER, paths[1], _EXCHANGE) == 0)


def is_disk_full(error: OSError) -> bool:
    """Return whether an error means that a disk, a quota or the largest file is full."""
    return error.errno in _DISK_FULL


def _unwritable(what: str, error: OSError) -> UnwritableError:
    """Return that something cannot be written: another place helps, or more space."""
    if is_disk_full(error):
        return FailedWriteError(f"{what}: {error.strerror}; free some space, or choose another")
    return UnwritableError(f"{what}: {error.strerror}; choose another")


def _is_within(file: str | None, folder: Path) -> bool:
    """Tell whether a file is in a folder, or may be: an open file has no name."""
    return folder.is_dir() and (
        file is None or Path(file).absolute().is_relative_to(folder.absolute())
    )


def _disk_full_error(folder: Path, error: OSError, *, system: bool) -> FailedWriteError:
    # Of nested folders, the outermost is in a place that the user chose.
    nested = (path for path in OPEN_FOLDERS if folder.absolute().is_relative_to(path.absolute()))
    outermost = min(nested, key=lambda path: len(path.parts))
    instead = "set TMPDIR to a folder with more" if system else "choose a folder elsewhere"
    return FailedWriteError(
        f"{outermost.absolute().parent} cannot take more data: {error.strerror}; free some space "
        f"there, or {instead}; nothing was written"
    )


def _remove(folder: Path, made: Sequence[Path], *, tries: int = 20) -> None:
    for _ in range(tries):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            break
        # A file that was written after the folder was listed keeps it.
        time.sleep(0.01)
    for parent in made:
        # Folders that hold something else by now are not empty, and stay.
        with suppress(OSError):
            parent.rmdir()
