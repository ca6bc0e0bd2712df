"""peerannot's ``answers.json``: one object that maps tasks to workers to labels."""

import re
from collections.abc import Mapping
from typing import Any

from mhpc.errors import DataError, quote_list
from mhpc.read.files import read_document
from mhpc.read.json_xml import load_json
from mhpc.read.vote_formats.base import LongTable, VotesInput
from mhpc.read.vote_formats.tables import LongFormat

_SCALAR = r'("[^"]*"|-?\d+(\.\d+)?|\[[^\[\]{}]*\])'
_FIRST_TASK = re.compile(rf'\s*\{{\s*"[^"]*"\s*:\s*\{{\s*"[^"]*"\s*:\s*{_SCALAR}\s*[,}}]')
_NEXT_TASK = re.compile(rf'\}}\s*,\s*"[^"]*"\s*:\s*\{{\s*("[^"]*"\s*:\s*{_SCALAR}|\}})')


class Peerannot:
    """``{"task": {"worker": label, …}, …}``; an answer with several labels is a list."""

    name = "peerannot"
    kinds = ("json", "jsonl")

    def matches(self, votes: VotesInput) -> bool:
        """Look for at least two tasks with answers of workers."""
        return bool(_FIRST_TASK.match(votes.head) and _NEXT_TASK.search(votes.head))

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make a long table with one row per answer of a worker."""
        votes.require_files(self.name)
        answers = _read_answers(votes)
        labels = [label for workers in answers.values() for label in workers.values()]
        if list in set(map(type, labels)):
            labels = [label if isinstance(label, list) else [label] for label in labels]
        rows = {
            "instance": [task for task, workers in answers.items() for _ in workers],
            "source": [worker for workers in answers.values() for worker in workers],
            "label": labels,
        }
        return LongFormat().read(VotesInput(votes.connection, votes.origin, value=rows), {})


def _read_answers(votes: VotesInput) -> dict[str, dict[str, Any]]:
    # DuckDB would make one column per key, and the keys are ids of tasks.
    answers = load_json(read_document(votes.files[0]), votes.origin)
    if not isinstance(answers, dict):
        raise DataError(f"{votes.origin}: not an object of tasks")
    for task, workers in answers.items():
        if not isinstance(workers, dict):
            raise DataError(
                f"{votes.origin}, task {quote_list([task, str(workers)])}: not an object of workers"
            )
    return answers
