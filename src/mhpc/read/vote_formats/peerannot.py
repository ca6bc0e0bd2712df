"""peerannot's ``answers.json``: one object, a task to its workers to their labels."""

import re
from collections.abc import Mapping
from typing import Any

from mhpc.errors import DataError, quote_list
from mhpc.read.json_xml import load_json
from mhpc.read.taxonomy_formats.base import TaxonomyInput, atomic_file
from mhpc.read.vote_formats import long
from mhpc.read.vote_formats.base import LongTable, VotesInput

_SCALAR = r'("[^"]*"|-?\d+(\.\d+)?|\[[^\[\]{}]*\])'
_BEGINS = re.compile(rf'\s*\{{\s*"[^"]*"\s*:\s*\{{\s*"[^"]*"\s*:\s*{_SCALAR}\s*[,}}]')
_NEXT = re.compile(rf'\}}\s*,\s*"[^"]*"\s*:\s*\{{\s*("[^"]*"\s*:\s*{_SCALAR}|\}})')


def matches(given: VotesInput) -> bool:
    """Tell whether it begins as ``{"task": {"worker": label, …}, "task": {…``."""
    return bool(_BEGINS.match(given.head) and _NEXT.search(given.head))


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
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
    return long.read(VotesInput(given.connection, given.origin, value=rows), {})


def _answers(given: VotesInput) -> dict[str, dict[str, Any]]:
    # One object holds all, and its keys are data: to DuckDB each would be a column.
    found = load_json(atomic_file(TaxonomyInput(given.files[0], given.origin)), given.origin)
    if not isinstance(found, dict):
        raise DataError(f"{given.origin}: not one object of tasks")
    for task, said in found.items():
        if not isinstance(said, dict):
            raise DataError(
                f"{given.origin}, task {quote_list([task, str(said)])}: no object of workers"
            )
    return found
