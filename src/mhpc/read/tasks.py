"""Reading what another tool holds of instances: its tasks, to be given back with labels."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mhpc.errors import DataError, UnreadableError
from mhpc.read.json_xml import load_json

MOST_BYTES = 1 << 30
"""An export is read whole; one larger than this is refused."""

_CONTROLS = ("taxonomy", "choices")


@dataclass(frozen=True, eq=False)
class Tasks:
    """The fields of every task by its id, and the control in which people gave labels, if any."""

    fields: Mapping[str, Mapping[str, Any]]
    control: Mapping[str, str] = field(default_factory=dict)


def read_tasks(path: Path) -> Tasks:
    """Read a Label Studio JSON export, or records as Argilla writes them to JSON."""
    found = _read(path)
    if not isinstance(found, list) or not all(isinstance(task, dict) for task in found):
        raise DataError(f"{path} is not a JSON array of tasks; give a tool's JSON export")
    fields: dict[str, Mapping[str, Any]] = {}
    for number, task in enumerate(found, start=1):
        held = task.get("data", task.get("fields"))
        if task.get("id") is None or not isinstance(held, dict):
            raise DataError(
                f"{path}: task {number:,} has no 'id' with 'data' (Label Studio) or 'fields' "
                "(Argilla); give a tool's JSON export"
            )
        fields[str(task["id"])] = held
    return Tasks(fields, _control(found))


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableError(f"{path} is larger than {MOST_BYTES >> 20:,} MB; split it")
        content = path.read_bytes()
    except UnreadableError:
        raise
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}") from None
    return load_json(content, str(path))


def _control(tasks: list[dict[str, Any]]) -> dict[str, str]:
    """Return the names of the first control that holds labels in somebody's answer."""
    for region in _listed(_listed(tasks, "annotations"), "result"):
        if region.get("type") in _CONTROLS:
            return {
                "control": str(region["type"]),
                "from_name": str(region.get("from_name")),
                "to_name": str(region.get("to_name")),
            }
    return {}


def _listed(objects: Iterable[dict[str, Any]], key: str) -> Iterator[dict[str, Any]]:
    """Give the objects that are listed under a key; what is no list of objects has none."""
    for each in objects:
        below = each.get(key)
        if isinstance(below, list):
            yield from (one for one in below if isinstance(one, dict))
