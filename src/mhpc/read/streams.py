"""Standard input, pipes and devices: what can be read only once, and what never ends."""

import os
import select
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mhpc.errors import UnreadableError
from mhpc.system.files import temporary_folder

_READ_BYTES = 1 << 20


@contextmanager
def temporary_copy(stream: BinaryIO) -> Iterator[Path]:
    """Copy a stream to a file, which can be read twice."""
    with temporary_folder("mhpc-") as folder:
        copy = folder / "copy"
        with copy.open("wb") as out:
            while block := _read_block(stream):
                out.write(block)
                if len(block) < _READ_BYTES and stream.isatty():
                    # A terminal says only once that the input ends.
                    break
        yield copy


def standard_input() -> BinaryIO:
    """Return standard input; there is none if it was closed before the program started."""
    if sys.stdin is None:
        raise UnreadableError("standard input cannot be read: it is closed")
    stream = sys.stdin.buffer
    is_endless = False
    with suppress(OSError, ValueError):
        is_endless = is_endless_stream(stream.fileno())
    refuse_endless("standard input", is_endless=is_endless)
    return stream


def is_endless_stream(handle: int) -> bool:
    """Return whether a device may never end: it is neither empty nor a terminal."""
    state = os.fstat(handle)
    is_device = stat.S_ISBLK(state.st_mode) or stat.S_ISCHR(state.st_mode)
    is_null = state.st_rdev == Path(os.devnull).stat().st_rdev
    return is_device and not is_null and not os.isatty(handle)


def refuse_endless(name: str, *, is_endless: bool) -> None:
    """Refuse a device that never ends."""
    if is_endless:
        raise UnreadableError(f"{name} is a device, which may never end; give a file")


def _read_block(stream: BinaryIO) -> bytes:
    try:
        while (block := stream.read(_READ_BYTES)) is None:
            # The stream does not block, and who writes to it is slow.
            select.select([stream], [], [])
        return block
    except (OSError, ValueError) as error:
        # A stream may be closed, or open for writing only.
        reason_ = getattr(error, "strerror", None) or error
        raise UnreadableError(f"the input stream cannot be read: {reason_}") from None
