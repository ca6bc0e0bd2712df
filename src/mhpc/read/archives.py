"""Several files at once: the files of a folder, of a pattern or of a zip archive."""

import glob
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from mhpc.errors import MhpcError, ReadingWarning, UnreadableError, quote_list, warn
from mhpc.read.files import (
    MAX_RATIO,
    ZIP_ERRORS,
    LocalFile,
    check_path,
    describe_error,
    identify,
    local_file,
)
from mhpc.system.files import is_disk_full, temporary_folder

MAX_MEMBERS = 10_000
"""How many files an archive may contain."""

MAX_ARCHIVE_BYTES = 16 << 30
"""How many bytes an archive may decompress to: 16 GiB."""

HARMLESS_BYTES = 1 << 20
"""How many bytes an archive may decompress to regardless of its size: 1 MiB."""

_OTHER_NAMES = {
    "taxonomy", "hierarchy", "ontology", "truth", "gold", "ground_truth", "ground-truth", "readme",
    "license", "changelog",
}  # fmt: skip
"""Names of files that lie beside votes and are none."""

_OTHER_SUFFIXES = {
    "md", "rst", "pdf", "doc", "docx", "html", "py", "ipynb", "png", "jpg", "svg", "toml", "yaml",
    "yml", "obo", "owl", "log",
}  # fmt: skip

_READ_BYTES = 1 << 20
_SUFFIXES = (
    ".gz", ".zst", ".csv", ".tsv", ".txt", ".jsonl", ".json", ".parquet", ".arrow", ".xlsx",
    ".xlsb", ".xls", ".ods",
)  # fmt: skip


@contextmanager
def local_files(source: str | Path | Sequence[str | Path]) -> Iterator[tuple[LocalFile, ...]]:
    """Identify the files that one or several paths stand for; usually it is one file.

    The files of a folder, of a pattern and of a zip archive are in order of their names. A folder
    of Parquet files counts as one file, as in `local_file`. In a folder or an archive, files with
    the names of a taxonomy or of known labels are left out, and so are those that are no tables.
    """
    paths = [source] if isinstance(source, str | Path) else list(source)
    with ExitStack() as stack:
        files = [file for path in paths for file in _enter_files(stack, path)]
        yield tuple({file.name: file for file in files}.values())


def _enter_files(stack: ExitStack, source: str | Path) -> Sequence[LocalFile]:
    path = Path(source)
    check_path(path, str(source))
    if paths := _find_paths(path):
        votes = _drop_others(paths, str(source)) if path.is_dir() else paths
        return [stack.enter_context(local_file(found)) for found in votes]
    file = stack.enter_context(local_file(source))
    if file.format != "zip":
        return [file]
    members = stack.enter_context(unpack_zip(file.path, file.name))
    return _drop_others(members, file.name)


NamedFile = TypeVar("NamedFile", Path, LocalFile)


def _drop_others(files: Sequence[NamedFile], folder: str) -> Sequence[NamedFile]:
    """Leave out files of a folder that are not votes by their names, and say so."""
    if len(files) == 1:
        return files
    others = [file for file in files if _is_other(file.name)]
    votes = [file for file in files if file not in others]
    if others and votes:
        names = [file.name.removeprefix(f"{folder}/") for file in others]
        warn(
            f"{folder}: left out by name, as not votes: {quote_list(names)}; give the files "
            "themselves to read them",
            ReadingWarning,
            stacklevel=4,
        )
    return votes or files


def _is_other(name: str) -> bool:
    """Return whether a file has the name of a taxonomy or truth, or the suffix of no table."""
    stem, *suffixes = name.rsplit("/", 1)[-1].lower().split(".")
    return stem in _OTHER_NAMES or (bool(suffixes) and suffixes[-1] in _OTHER_SUFFIXES)


@contextmanager
def unpack_zip(
    path: Path,
    name: str,
    *,
    max_members: int = MAX_MEMBERS,
    max_bytes: int = MAX_ARCHIVE_BYTES,
    max_ratio: int = MAX_RATIO,
) -> Iterator[tuple[LocalFile, ...]]:
    """Extract the files of an archive to a temporary folder, in order of their names.

    Members are never written to the place that their names say. A name that would leave the folder
    is an error all the same, because only a malicious archive has one.

    Parameters
    ----------
    path : Path
        The archive.
    name : str
        How messages refer to it.
    max_members : int
        How many files it may contain.
    max_bytes, max_ratio : int
        How many bytes, and how many times its own size, it may decompress to.
    """
    with temporary_folder("mhpc-zip-") as folder:
        files = []
        try:
            with zipfile.ZipFile(path) as archive:
                ratio_limit = max(HARMLESS_BYTES, path.stat().st_size * max_ratio)
                budget = min(max_bytes, ratio_limit)
                for number, member in enumerate(_list_members(archive, name, max_members)):
                    copy = folder / str(number)
                    size = _extract_member(archive, member, copy, budget)
                    if size is None:
                        raise UnreadableError(
                            f"{name}: {member.filename!r} decompresses to more than {max_ratio} "
                            f"times the archive, or {max_bytes >> 30} GiB; decompress it yourself "
                            "if you trust it"
                        )
                    budget -= size
                    files.append(identify(copy, name=f"{name}/{member.filename}"))
        except MhpcError:
            raise
        except ZIP_ERRORS as error:
            if isinstance(error, OSError) and is_disk_full(error):
                raise
            raise UnreadableError(
                f"{name} starts like zip but does not decompress: {describe_error(error)}"
            ) from None
        yield tuple(files)


def are_paths(source: Any) -> bool:
    """Return whether something is a list of paths."""
    return (
        isinstance(source, Sequence)
        and not isinstance(source, str | bytes)
        and bool(source)
        and all(isinstance(path, str | Path) for path in source)
    )


def source_name(file: LocalFile) -> str:
    """Return the source that a file is named after: its name without the usual suffixes."""
    name = file.name.replace("\\", "/").rsplit("/", 1)[-1]
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _find_paths(path: Path) -> list[Path]:
    """Return the files of a folder or pattern; none if the path is that of one file."""
    if path.is_dir():
        files = sorted(entry for entry in path.iterdir() if entry.is_file())
        files = [file for file in files if not file.name.startswith((".", "_"))]
        return [] if any(file.suffix == ".parquet" for file in files) else files
    if path.exists() or not glob.has_magic(str(path)):
        return []
    # A pattern may be absolute, which Path.glob does not accept.
    files = sorted(Path(match) for match in glob.iglob(str(path)))  # noqa: PTH207
    files = [file for file in files if file.is_file()]
    if not files:
        raise UnreadableError(f"{path}: no file matches this pattern")
    return files


def _list_members(archive: zipfile.ZipFile, name: str, max_members: int) -> list[zipfile.ZipInfo]:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > max_members:
        raise UnreadableError(
            f"{name} has {len(members):,} files; the most is {max_members:,}: extract it yourself"
        )
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
            raise UnreadableError(
                f"{name} has a file {member.filename!r}, which would be outside the folder; make "
                "the archive again"
            )
        if member.flag_bits & 1:
            raise UnreadableError(f"{name}: {member.filename!r} is encrypted; extract it yourself")
    visible = [member for member in members if not _is_hidden(member)]
    if not visible:
        raise UnreadableError(f"{name} has no files in it")
    return sorted(visible, key=lambda member: member.filename)


def _is_hidden(member: zipfile.ZipInfo) -> bool:
    """Return whether a file is one that operating systems leave in archives."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(member.filename).parts)


def _extract_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, copy: Path, budget: int
) -> int | None:
    """Extract a member and return its size, or None if it is over budget.

    The actual size counts, not the declared one.
    """
    with archive.open(member) as compressed, copy.open("wb") as out:
        while block := compressed.read(_READ_BYTES):
            if out.tell() + len(block) > budget:
                return None
            out.write(block)
        return out.tell()
