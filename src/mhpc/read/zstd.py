"""Whether a zstd file is whole, and how large: DuckDB reads a cut one and says nothing.

Only the lengths of frames and blocks are looked at (RFC 8878, section 3.1), nothing is unpacked.
"""

from pathlib import Path
from typing import BinaryIO

MAGIC = b"\x28\xb5\x2f\xfd"

_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_DICTIONARY_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)
_ONE_BYTE_REPEATED = 1
_PACKED = 2
_BLOCK_MOST = 1 << 17
"""Bytes that a block holds at most."""


def is_whole(path: Path) -> bool:
    """Tell whether a file is nothing but frames, the last of them up to its end."""
    return most_unpacked(path) is not None


def most_unpacked(path: Path) -> int | None:
    """Return the bytes that a file can unpack to at most; None if it is cut short."""
    size, most = path.stat().st_size, 0
    with path.open("rb") as file:
        try:
            while file.tell() < size:
                most += _skip_frame(file)
        except EOFError:
            return None
        return most if file.tell() == size else None


def _skip_frame(file: BinaryIO) -> int:
    """Go to the end of a frame, and return the bytes that it unpacks to at most."""
    magic = _number(file, 4)
    if magic in _SKIPPABLE:
        _skip(file, _number(file, 4))
        return 0
    if magic.to_bytes(4, "little") != MAGIC:
        raise EOFError
    descriptor = _number(file, 1)
    single = descriptor >> 5 & 1
    window, size = 1 - single, _SIZE_BYTES[descriptor >> 6] or single
    _skip(file, window + _DICTIONARY_BYTES[descriptor & 3] + size)
    last = most = 0
    while not last:
        block = _number(file, 3)
        last, kind, length = block & 1, block >> 1 & 3, block >> 3
        _skip(file, 1 if kind == _ONE_BYTE_REPEATED else length)
        most += _BLOCK_MOST if kind == _PACKED else length
    checksum = descriptor >> 2 & 1
    _skip(file, 4 * checksum)
    return most


def _number(file: BinaryIO, length: int) -> int:
    found = file.read(length)
    if len(found) < length:
        raise EOFError
    return int.from_bytes(found, "little")


def _skip(file: BinaryIO, length: int) -> None:
    file.seek(length, 1)
