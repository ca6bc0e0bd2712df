"""Fingerprint: what files held when they were read."""

import glob
import hashlib
from pathlib import Path
from typing import Any, TypeAlias

State: TypeAlias = tuple[tuple[str, int, int], ...]


def lasts(path: Path) -> bool:
    """Tell whether something can be read once more, as what came through a pipe cannot."""
    return path.is_file() or bool(_several(path))


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file, or of those of a folder or pattern together."""
    if not path.is_file():
        parts = [fingerprint(file) for file in _several(path)]
        digests = "".join(part["sha256"] for part in parts)
        return {
            "files": len(parts),
            "bytes": sum(part["bytes"] for part in parts),
            "sha256": hashlib.sha256(digests.encode()).hexdigest(),
        }
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def state_of(path: Path) -> State:
    """Return names, sizes and times of the files behind a path: cheap, and other if one changed."""
    files = [path] if path.is_file() else _several(path)
    return tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def _several(path: Path) -> list[Path]:
    """Return the files that are read where a folder or a pattern is named, by name."""
    if path.is_dir():
        found = [file for file in path.glob("[!._]*") if file.is_file()]
        found = [file for file in found if file.suffix == ".parquet"] or found
    else:
        # A pattern may be absolute, which Path.glob does not take.
        found = [Path(name) for name in glob.iglob(str(path))]  # noqa: PTH207
    return sorted(file for file in found if file.is_file())
