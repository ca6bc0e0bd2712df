"""The files that a run reads: their sizes and hashes, and whether they change during the run."""

import glob
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mhpc.errors import UnreadableError
from mhpc.read.files import split_sheet

FileState: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, size and time of every file behind a path."""


@dataclass(frozen=True)
class InputFiles:
    """The files that a run reads.

    Attributes
    ----------
    fingerprints : mapping of str to mapping
        Sizes and hashes, by the setting that names the file.
    states : mapping of Path to FileState
        What shows that a file has changed.
    """

    fingerprints: Mapping[str, dict[str, Any]]
    states: Mapping[Path, FileState]

    def check_unchanged(self) -> None:
        """Refuse files that changed while they were read; one that is gone was read before."""
        for path, before in self.states.items():
            now = _file_state(path)
            if now and now != before:
                raise UnreadableError(
                    f"{path} changed while it was read; run again when nothing writes to it"
                )


def fingerprint_inputs(files: Mapping[str, str | tuple[str, ...] | None]) -> InputFiles:
    """Fingerprint those inputs that are files, given by the settings that name them."""
    lasting = {
        name: paths
        for name, file in files.items()
        if (paths := list_paths(file)) and all(is_lasting(Path(path)) for path in paths)
    }
    # Before they are read, so that no change is missed.
    files_read = [split_sheet(path)[0] for paths in lasting.values() for path in paths]
    states = {path: _file_state(path) for path in files_read}
    return InputFiles({name: fingerprint_all(paths) for name, paths in lasting.items()}, states)


def list_paths(files: str | Path | Sequence[str] | None) -> tuple[str, ...]:
    """Return the paths that a setting names: none, one or several."""
    return (str(files),) if isinstance(files, str | Path) else tuple(files or ())


def fingerprint_all(paths: Sequence[str]) -> dict[str, Any]:
    """Return the size and the hash of one input, or of several together."""
    parts = [fingerprint(Path(path)) for path in paths]
    return parts[0] if len(parts) == 1 else _join_fingerprints(parts)


def _join_fingerprints(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    digests = "".join(part["sha256"] for part in parts)
    return {
        "files": len(parts),
        "bytes": sum(part["bytes"] for part in parts),
        "sha256": hashlib.sha256(digests.encode()).hexdigest(),
    }


def is_lasting(path: Path) -> bool:
    """Tell whether a path can be read again, unlike a pipe."""
    try:
        path, _ = split_sheet(path)
        return path.is_file() or bool(_list_files(path))
    except (OSError, ValueError):
        # The path of an edited run folder may be one that no file can have.
        return False


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file, or of all files of a folder or pattern together."""
    path, _ = split_sheet(path)
    if not path.is_file():
        return _join_fingerprints([fingerprint(file) for file in _list_files(path)])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _file_state(path: Path) -> FileState:
    files = [path] if path.is_file() else _list_files(path)
    return tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def _list_files(path: Path) -> list[Path]:
    """Return the files that are read where a folder or a pattern is named, by name."""
    if path.is_dir():
        files = [file for file in path.glob("[!._]*") if file.is_file()]
        files = [file for file in files if file.suffix == ".parquet"] or files
    else:
        # A pattern may be absolute, which Path.glob does not take.
        files = [Path(name) for name in glob.iglob(str(path))]  # noqa: PTH207
    return sorted(file for file in files if file.is_file())
