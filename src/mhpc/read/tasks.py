"""Reading what another tool holds of instances: its tasks, to be given back with labels."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mhpc.errors import DataError, UnreadableError

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
        return json.loads(path.read_text(encoding="utf-8"))
    except UnreadableError:
        raise
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UnreadableError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except RecursionError:
        raise UnreadableError(f"{path} is nested too deeply to be a tool's export") from None
    except ValueError as error:
        raise UnreadableError(f"{path} is not JSON: {error}") from None


def _control(tasks: list[dict[str, Any]]) -> dict[str, str]:
    """Return the names of the first control that holds labels in somebody's answer."""
    for task in tasks:
        for annotation in task.get("annotations") or []:
            for region in annotation.get("result") or []:
                if region.get("type") in _CONTROLS:
                    return {
                        "control": str(region["type"]),
                        "from_name": str(region.get("from_name")),
                        "to_name": str(region.get("to_name")),
                    }
    return {}
