"""Several files at once: folders, patterns, zip archives."""

import glob
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from mhpc.errors import MhpcError, UnreadableError
from mhpc.read.files import MAX_RATIO, LocalFile, identify, local_file
from mhpc.system.files import temporary_folder

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


def are_paths(source: Any) -> bool:
    """Tell whether something is a list of paths."""
    return (
        isinstance(source, Sequence)
        and not isinstance(source, str | bytes)
        and bool(source)
        and all(isinstance(each, str | Path) for each in source)
    )


@contextmanager
def local_files(source: str | Path | Sequence[str | Path]) -> Iterator[tuple[LocalFile, ...]]:
    """Give the files that a name stands for, in order of their names; mostly it is one.

    A folder of Parquet files stays one file, as `local_file` has it.
    """
    if not isinstance(source, str | Path):
        yield tuple(identify(Path(path), name=str(path)) for path in source)
        return
    paths = _paths(Path(source))
    with ExitStack() as opened:
        if paths:
            yield tuple(identify(path, name=str(path)) for path in paths)
            return
        file = opened.enter_context(local_file(source))
        if file.format == "zip":
            yield opened.enter_context(unpacked(file.path, file.name))
        else:
            yield (file,)


def source_name(file: LocalFile) -> str:
    """Return what a file calls its source: its name without what follows the first dots."""
    name = file.name.replace("\\", "/").rsplit("/", 1)[-1]
    for suffix in (".gz", ".zst", ".csv", ".tsv", ".txt", ".jsonl", ".json", ".parquet", ".arrow"):
        name = name.removesuffix(suffix)
    return name


def _paths(path: Path) -> list[Path]:
    """Return the files of a folder or of a pattern; none if the name is that of one file."""
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.is_file())
        found = [each for each in found if not each.name.startswith((".", "_"))]
        return [] if any(each.suffix == ".parquet" for each in found) else found
    if path.exists() or not glob.has_magic(str(path)):
        return []
    # A pattern may be absolute, which Path.glob does not take.
    found = sorted(Path(each) for each in glob.iglob(str(path)))  # noqa: PTH207
    found = [each for each in found if each.is_file()]
    if not found:
        raise UnreadableError(f"{path}: no file has such a name")
    return found
