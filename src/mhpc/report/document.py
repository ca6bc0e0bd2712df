"""``run.json``: all that is needed to understand a run and to repeat it."""

import glob
import hashlib
import math
import platform
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mhpc.core.summary import Summary

_PACKAGES = ("mhpc", "numpy", "scipy", "duckdb")


def run_document(settings: dict[str, Any], summary: Summary) -> dict[str, Any]:
    """Return the content of ``run.json``."""
    return {
        "settings": settings,
        "inputs": {
            name: fingerprint(Path(settings[name]))
            for name in ("votes", "taxonomy", "truth", "gold")
            if settings.get(name) and lasts(Path(settings[name]))
        },
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in _PACKAGES},
        },
        **plain(summary),
    }


def plain(value: Any) -> Any:
    """Return dataclasses, mappings and sequences as what JSON knows; nan becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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


def _several(path: Path) -> list[Path]:
    """Return the files that are read where a folder or a pattern is named, by name."""
    if path.is_dir():
        found = [file for file in path.glob("[!._]*") if file.is_file()]
        found = [file for file in found if file.suffix == ".parquet"] or found
    else:
        # A pattern may be absolute, which Path.glob does not take.
        found = [Path(name) for name in glob.iglob(str(path))]  # noqa: PTH207
    return sorted(file for file in found if file.is_file())
