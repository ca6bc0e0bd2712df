"""peerannot's ``answers.json``: one object, a task to its workers to their labels."""

import re
from collections.abc import Mapping
from typing import Any

from mhpc.errors import DataError, quoted
from mhpc.read.json_xml import load_json
from mhpc.read.taxonomy_formats.base import Told, whole_file
from mhpc.read.vote_formats import long
from mhpc.read.vote_formats.base import Flat, Given

_SCALAR = r'("[^"]*"|-?\d+(\.\d+)?|\[[^\[\]{}]*\])'
_BEGINS = re.compile(rf'\s*\{{\s*"[^"]*"\s*:\s*\{{\s*"[^"]*"\s*:\s*{_SCALAR}\s*[,}}]')
_NEXT = re.compile(rf'\}}\s*,\s*"[^"]*"\s*:\s*\{{\s*("[^"]*"\s*:\s*{_SCALAR}|\}})')


def detects(given: Given) -> bool:
    """Tell whether it begins as ``{"task": {"worker": label, …}, "task": {…``."""
    return bool(_BEGINS.match(given.head) and _NEXT.search(given.head))


def read(given: Given, columns: Mapping[str, str]) -> Flat:
    """Make a long table, a row a worker's answer; several labels of an answer are a list."""
    given.require_files("peerannot")
    answers = _answers(given)
    labels = [label for said in answers.values() for label in said.values()]
    if list in set(map(type, labels)):
        labels = [label if isinstance(label, list) else [label] for label in labels]
    rows = {
        "instance": [task for task, said in answers.items() for _ in said],
        "source": [worker for said in answers.values() for worker in said],
        "label": labels,
    }
    return long.read(Given(given.connection, given.origin, value=rows), {})


def _answers(given: Given) -> dict[str, dict[str, Any]]:
    # One object holds all, and its keys are data: to DuckDB each would be a column.
    found = load_json(whole_file(Told(given.files[0], given.origin)), given.origin)
    if not isinstance(found, dict):
        raise DataError(f"{given.origin}: not one object of tasks")
    for task, said in found.items():
        if not isinstance(said, dict):
            raise DataError(
                f"{given.origin}, task {quoted([task, str(said)])}: no object of workers"
            )
    return found
