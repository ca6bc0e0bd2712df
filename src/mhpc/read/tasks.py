"""Tasks of annotation tools: what they show for each instance, to be exported with new labels."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mhpc.data.decision import INSTANCE_FIELD
from mhpc.errors import DataError, UnreadableError
from mhpc.read.json_xml import load_json

MAX_EXPORT_BYTES = 1 << 30
"""The largest export to read; it is parsed in memory."""

_CONTROLS = ("taxonomy", "choices")


@dataclass(frozen=True, eq=False)
class Tasks:
    """The tasks of a project.

    Attributes
    ----------
    fields : mapping of instance to mapping
        The data of every task. The instance is the id of the task, or the field of its data in
        which mhpc wrote it.
    control : mapping of str to str
        The names of the control in which people gave labels, if the export shows them.
    numbers : mapping of instance to int
        The ids of the tasks, as far as they are numbers.
    """

    fields: Mapping[str, Mapping[str, Any]]
    control: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)


def read_tasks(path: Path, *, max_bytes: int = MAX_EXPORT_BYTES) -> Tasks:
    """Read the JSON export of Label Studio, or records that Argilla wrote to JSON."""
    tasks = _read_json(path, max_bytes)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path} is not a JSON array of tasks; give the JSON export of a tool")
    fields: dict[str, Mapping[str, Any]] = {}
    numbers: dict[str, int] = {}
    for number, task in enumerate(tasks, start=1):
        data = task.get("data", task.get("fields"))
        if task.get("id") is None or not isinstance(data, dict):
            raise DataError(
                f"{path}: task {number:,} has no 'id' with 'data' (Label Studio) or 'fields' "
                "(Argilla); give the JSON export of a tool"
            )
        instance = str(data.get(INSTANCE_FIELD) or task["id"])
        fields[instance] = data
        if isinstance(task["id"], int):
            numbers[instance] = task["id"]
    return Tasks(fields, _find_control(tasks), numbers)


def _read_json(path: Path, max_bytes: int) -> Any:
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise UnreadableError(f"{path} is larger than {max_bytes >> 20:,} MB; split it")
        content = path.read_bytes()
    except UnreadableError:
        raise
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}") from None
    return load_json(content, str(path))


def _find_control(tasks: list[dict[str, Any]]) -> dict[str, str]:
    """Return the names of the first control that contains labels in an annotation."""
    for region in _objects_under(_objects_under(tasks, "annotations"), "result"):
        if region.get("type") in _CONTROLS:
            return {
                "control": str(region["type"]),
                "from_name": str(region.get("from_name")),
                "to_name": str(region.get("to_name")),
            }
    return {}


def _objects_under(objects: Iterable[dict[str, Any]], key: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in the lists under a key, skipping anything else."""
    for parent in objects:
        children = parent.get(key)
        if isinstance(children, list):
            yield from (child for child in children if isinstance(child, dict))
