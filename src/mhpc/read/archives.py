"""Zip archives: unpacked within limits, into names of our own."""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mhpc.core.temporary import temporary_folder
from mhpc.errors import MhpcError, UnreadableError
from mhpc.read.bombs import MAX_RATIO
from mhpc.read.files import LocalFile, identify

MAX_MEMBERS = 10_000
"""Files in an archive."""

MAX_BYTES = 16 << 30
"""What an archive may unpack to: 16 GiB."""

_SLACK = 1 << 20
"""Up to a megabyte no ratio is a danger."""

_BLOCK = 1 << 20

_DAMAGE = (
    zipfile.BadZipFile, EOFError, LookupError, NotImplementedError, OSError, OverflowError,
    RuntimeError, ValueError,
    struct.error, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What comes of an archive that is not what it should be; names that are not UTF-8 among it."""


@contextmanager
def unpacked(path: Path, name: str) -> Iterator[tuple[LocalFile, ...]]:
    """Give the files of an archive for as long as they are read, by name; folders are left out.

    No member is written where its own name says: a name that would leave the folder is refused
    all the same, since only a hostile archive has one.
    """
    with temporary_folder("mhpc-zip-") as folder:
        try:
            files = _unpacked(path, name, folder)
        except MhpcError:
            raise
        except _DAMAGE as error:
            raise UnreadableError(f"{name} starts like zip but does not unpack: {error}") from None
        yield files


def _unpacked(path: Path, name: str, folder: Path) -> tuple[LocalFile, ...]:
    files = []
    with zipfile.ZipFile(path) as archive:
        left = min(MAX_BYTES, max(_SLACK, path.stat().st_size * MAX_RATIO))
        for at, member in enumerate(_members(archive, name)):
            copy = folder / str(at)
            left -= _copied(archive, member, copy, left, name)
            files.append(identify(copy, name=f"{name}/{member.filename}"))
    return tuple(files)


def _members(archive: zipfile.ZipFile, name: str) -> list[zipfile.ZipInfo]:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > MAX_MEMBERS:
        raise UnreadableError(
            f"{name} has {len(members):,} files; the most is {MAX_MEMBERS:,}: unpack it"
        )
    for member in members:
        place = PurePosixPath(member.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in place.parts[0]:
            raise UnreadableError(
                f"{name} has a file {member.filename!r}, which would lie outside; make it anew"
            )
        if member.flag_bits & 1:
            raise UnreadableError(f"{name}: {member.filename!r} is encrypted; unpack it")
    told = [member for member in members if not _hidden(member)]
    if not told:
        raise UnreadableError(f"{name} has no files in it")
    return sorted(told, key=lambda member: member.filename)


def _hidden(member: zipfile.ZipInfo) -> bool:
    """Tell whether a file is one that systems leave in archives."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(member.filename).parts)


def _copied(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, copy: Path, left: int, name: str
) -> int:
    """Unpack one member and return its size; what it really has counts, not what it declares."""
    with archive.open(member) as packed, copy.open("wb") as out:
        while block := packed.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise UnreadableError(
                    f"{name}: {member.filename!r} unpacks to more than {MAX_RATIO} times the "
                    f"archive, or {MAX_BYTES >> 30} GiB; unpack it yourself if you trust it"
                )
            out.write(block)
        return out.tell()
