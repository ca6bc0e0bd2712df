"""A folder that appears whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mhpc.errors import OutputExistsError, UnwritableError

OUTPUTS = {"scores.parquet", "labels.csv", "sources.csv", "taxonomy.csv", "run.json", "report.html"}
"""What a run writes; a folder with anything else in it is not replaced."""

MARK = "run.json"
"""The file by which a folder is known as an output of ours, which may be replaced."""


@contextmanager
def whole_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder beside the target to write into, and move it into place at the end.

    If anything goes wrong meanwhile, an interrupt included, what was there before is left and
    nothing else. An existing target is refused without `force`, and even with it when it does
    not look like an output: a mistyped ``-o`` must not cost someone their files.
    """
    refuse_existing(target, force=force)
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise UnwritableError(f"{target} cannot be made: {error.strerror}") from None
    try:
        # mkdtemp makes folders private; an output is as open as the user's umask says.
        beside.chmod(0o777 & ~_umask())
        yield beside
        _put_in_place(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        for folder in made:
            # Those that now hold the output are not empty, and stay.
            with suppress(OSError):
                folder.rmdir()


def refuse_existing(target: Path, *, force: bool) -> None:
    """Refuse a target that is there or cannot be made, before any work is done for it."""
    if not target.exists():
        refuse_unwritable(target)
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
    _refuse_losing(target)


def _refuse_losing(target: Path) -> None:
    kept = sorted(path.name for path in target.iterdir() if path.name not in OUTPUTS)
    if kept:
        raise OutputExistsError(
            f"{target} holds {kept[0]!r}, which no run wrote and --force would delete; "
            "move it away, or choose another folder"
        )


def refuse_unwritable(target: Path) -> None:
    """Refuse a target whose folder is none or may not be written to."""
    above = next(folder for folder in target.absolute().parents if folder.exists())
    if not above.is_dir():
        raise UnwritableError(f"{target} cannot be made: {above} is a file; choose another")
    if not os.access(above, os.W_OK | os.X_OK):
        raise UnwritableError(f"{target} cannot be made: {above} may not be written to")


def _put_in_place(beside: Path, target: Path) -> None:
    if not target.exists():
        beside.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    try:
        target.rename(old / "run")
        try:
            beside.rename(target)
        except BaseException:
            (old / "run").rename(target)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
