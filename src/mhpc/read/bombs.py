"""Packed files that unpack to more than anybody would pack: refused before they are read.

A gzip file can unpack to 1,032 times its size, a zstd file to 30,000 times. Tables seldom pack
tenfold; a matrix of zeros packs more, but is small.
"""

import gzip
import zipfile
import zlib
from pathlib import Path

from mhpc.errors import UnreadableError
from mhpc.read.zstd import most_unpacked

MAX_RATIO = 200
"""How many times larger than what it was packed into content may be."""

MAX_UNPACKED = 1 << 30
"""Bytes that a packed file may unpack to whatever its own size: 1 GiB."""

_DEFLATE_MOST = 1032
"""Deflate cannot pack better than this, so that small files need no look."""

_BLOCK = 1 << 20


def refuse_bomb(path: Path, compression: str, name: str) -> None:
    """Refuse a packed file that unpacks to too much; `name` is what messages call it."""
    size = path.stat().st_size
    most = max(MAX_UNPACKED, size * MAX_RATIO)
    if compression == "zip":
        found = _declared(path)
    elif compression == "zstd":
        # None is cut short, which is told where it is read.
        found = most_unpacked(path) or 0
    else:
        found = _unzipped(path, size, most)
    if found > most:
        raise UnreadableError(
            f"{name} unpacks to more than {MAX_RATIO} times its size, and more than "
            f"{MAX_UNPACKED >> 20:,} MiB; unpack it yourself if you trust it"
        )


def _declared(path: Path) -> int:
    """Return what the members of an archive declare: no more than that is ever read of them."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _unzipped(path: Path, size: int, most: int) -> int:
    """Return the size of what a gzip file holds, or any number above `most` once it is passed."""
    if size * _DEFLATE_MOST <= most:
        return 0
    found = 0
    with gzip.open(path) as file:
        try:
            while found <= most and (block := file.read(_BLOCK)):
                found += len(block)
        except (OSError, EOFError, zlib.error):
            # Damage is told by whoever reads it, with its place.
            return found
    return found
