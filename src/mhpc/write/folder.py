"""A folder that appears whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mhpc.errors import OutputExistsError

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
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        # mkdtemp makes folders private; an output is as open as the user's umask says.
        beside.chmod(0o777 & ~_umask())
        yield beside
        _put_in_place(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def refuse_existing(target: Path, *, force: bool) -> None:
    """Refuse a target that is there, before any work is done for it."""
    if not target.exists():
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


def _put_in_place(beside: Path, target: Path) -> None:
    if not target.exists():
        beside.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
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
