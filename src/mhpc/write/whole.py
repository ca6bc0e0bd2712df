"""A file that appears whole or not at all."""

import gzip
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from mhpc.core.temporary import steady, temporary_folder
from mhpc.errors import OutputExistsError, UnwritableError

STDOUT = "-"


@contextmanager
def whole_file(target: str | Path, *, force: bool = True) -> Iterator[BinaryIO]:
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
    refuse_target(path, force=force)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        with temporary_folder(f".{path.name}-", inside=path.parent) as folder:
            with _opened(folder / "whole", packed=path.suffix == ".gz") as file:
                yield file
            with steady:
                (folder / "whole").replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(error, UnwritableError) or not error.strerror:
            raise
        raise UnwritableError(f"{path} cannot be written: {error.strerror}") from None


def refuse_target(path: Path, *, force: bool) -> None:
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
