"""A folder that appears whole or not at all."""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mhpc.core.claim import claimed, is_claimed
from mhpc.core.exchange import exchange
from mhpc.core.temporary import steady, temporary_folder
from mhpc.errors import OutputExistsError, UnwritableError

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
def whole_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder beside the target to write into, and move it into place at the end.

    If anything goes wrong meanwhile, an interrupt included, what was there before is left and
    nothing else; a process that is killed leaves a hidden folder beside it, which the next run
    removes. An existing target is refused without `force`, and even with it when it does not
    look like an output: a mistyped ``-o`` must not cost someone their files.
    """
    refuse_existing(target, force=force)
    # What a link points to is replaced, not the link.
    target = target.resolve() if target.is_symlink() else target
    _refuse_two_at_once(target)
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
        stack.enter_context(claimed(beside))
        yield beside
        refuse_existing(target, force=force)
        _put_in_place(beside, target)


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
    try:
        str(target.absolute()).encode()
    except UnicodeEncodeError:
        raise UnwritableError(f"{str(target)!r}: the name is not UTF-8; choose another") from None
    above = next(folder for folder in target.absolute().parents if folder.exists())
    if not above.is_dir():
        raise UnwritableError(f"{target} cannot be made: {above} is a file; choose another")
    if not os.access(above, os.W_OK | os.X_OK):
        raise UnwritableError(f"{target} cannot be made: {above} may not be written to")


def _refuse_two_at_once(target: Path) -> None:
    """Refuse while another run writes to the same target; remove what a killed one left."""
    own = re.compile(rf"\.{re.escape(target.name)}-[0-9a-f]{{16}}")
    beside = target.parent.iterdir() if target.parent.is_dir() else ()
    for other in [path for path in beside if own.fullmatch(path.name)]:
        # Another process may end, and remove its folder, while this one looks.
        with suppress(FileNotFoundError):
            if is_claimed(other):
                raise OutputExistsError(
                    f"another run is writing to {target} (in {other.name}); wait until it has "
                    "ended, or choose another folder"
                )
            if time.time() - other.stat().st_mtime > _YOUNG:
                shutil.rmtree(other, ignore_errors=True)


def _put_in_place(beside: Path, target: Path) -> None:
    if target.exists() and exchange(beside, target):
        # What was there before is now beside, and goes with it.
        return
    with temporary_folder(f".{target.name}-old-", inside=target.parent) as old, steady:
        try:
            if target.exists():
                target.rename(old / "run")
            beside.rename(target)
        except BaseException:
            if (old / "run").exists() and not target.exists():
                (old / "run").rename(target)
            raise
