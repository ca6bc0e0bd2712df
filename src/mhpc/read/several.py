"""Several files at once: a folder, a pattern, a list of paths, or what is in a zip archive."""

import glob
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mhpc.errors import UnreadableError
from mhpc.read.archives import unpacked
from mhpc.read.files import LocalFile, identify, local_file


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
