"""Finished cells are kept, so that an experiment that was interrupted goes on where it was."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import mhpc
from mhpc.core.progress import Progress
from mhpc.core.temporary import temporary_folder
from mhpc.engine.workers import in_workers
from mhpc.paper.cell import Cell, Record, Task, measure
from mhpc.paper.table import Measured

_ROOMS = ("consolidate", "core", "datasets", "encode", "evaluate", "graph", "read", "simulate")
"""The rooms of the house that a figure goes through."""


@dataclass(frozen=True)
class Kept:
    """A folder of finished cells, a file each."""

    folder: Path

    def get(self, key: str) -> list[Record] | None:
        """Return what a cell gave, or None if it is not finished."""
        try:
            found: list[Record] = json.loads((self.folder / f"{key}.json").read_text("utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return found

    def put(self, key: str, records: Sequence[Record]) -> None:
        """Keep what a cell gave; a file appears whole or not at all."""
        with temporary_folder(".writing-", inside=self.folder) as beside:
            (beside / "cell").write_text(json.dumps(records), encoding="utf-8")
            (beside / "cell").replace(self.folder / f"{key}.json")


def measured_cells(
    cells: Sequence[Cell],
    kept: Kept,
    *,
    data: Path | None,
    jobs: int,
    stage: str,
    progress: Progress,
) -> list[Measured]:
    """Return what every cell gave, working on those that are not finished."""
    code = _code()
    keys = [cell.key(code, data) for cell in cells]
    found = {key: records for key in keys if (records := kept.get(key)) is not None}
    open_cells = [(key, cell) for key, cell in zip(keys, cells, strict=True) if key not in found]
    progress(stage, len(cells) - len(open_cells), len(cells))
    tasks = [Task(cell, data) for _, cell in open_cells]
    for at, records in in_workers(measure, tasks, jobs=jobs):
        key = open_cells[at][0]
        kept.put(key, records)
        found[key] = records
        progress(stage, len(found), len(cells))
    return [Measured(cell, found[key]) for key, cell in zip(keys, cells, strict=True)]


def _code() -> str:
    """Return what the figures depend on besides cells and data: our numerics and theirs."""
    digest = hashlib.sha256()
    root = Path(mhpc.__file__).parent
    for path in sorted(path for room in _ROOMS for path in (root / room).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    digest.update((root / "paper" / "cell.py").read_bytes())
    for package in ("numpy", "scipy"):
        digest.update(version(package).encode())
    return digest.hexdigest()
