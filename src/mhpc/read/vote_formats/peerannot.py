"""peerannot's ``answers.json``: one object that maps tasks to workers to labels."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np

from mhpc.data.votes import ABSTAIN_WORD
from mhpc.errors import DataError, quote_list
from mhpc.read.columns import Cells, number_ids
from mhpc.read.files import read_document
from mhpc.read.json_xml import load_json
from mhpc.read.tables import MAX_CELL
from mhpc.read.vote_formats.base import UNSCORED_COLUMNS, LongTable, VotesInput
from mhpc.read.vote_formats.long import LongFormat

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
        given = list(chain.from_iterable(map(dict.values, answers.values())))
        labels = list(map(_name_abstention, given))
        cells = _number_rows(answers, labels)
        if cells is None:
            rows = _make_rows(answers, labels)
            return LongFormat().read(VotesInput(votes.connection, votes.origin, value=rows), {})
        texts = {
            role: np.array((*index, None), dtype=object)[cells.position[role]]
            for role, index in cells.index.items()
        }
        # A view costs nothing if only the positions are used.
        votes.connection.register("answers", texts)
        votes.connection.execute("CREATE TEMP VIEW cells AS SELECT * FROM answers")
        return LongTable(UNSCORED_COLUMNS, is_numbered=False, cells=cells)


def _number_rows(answers: Mapping[str, Mapping[str, Any]], labels: Sequence[Any]) -> Cells | None:
    """Return answers of one label each as positions; None if some are lists, or too long."""
    types = set(map(type, labels))
    if not labels or not (types <= {str, NoneType} or types == {int}):
        return None
    answered = {task: len(workers) for task, workers in answers.items() if workers}
    tasks, task = number_ids(list(answered))
    sources, source = number_ids(list(chain.from_iterable(answers.values())))
    label_index, label = number_ids(labels)
    if max(index.max_length for index in (tasks, sources, label_index)) > MAX_CELL:
        return None
    return Cells(
        rows=len(labels),
        index={"instance": tasks, "source": sources, "label": label_index},
        position={
            "instance": np.repeat(task, list(answered.values())),
            "source": source,
            "label": label,
        },
    )


def _make_rows(
    answers: Mapping[str, Mapping[str, Any]], labels: Sequence[Any]
) -> dict[str, list[Any]]:
    if list in set(map(type, labels)):
        labels = [
            [_name_abstention(item) for item in label] if isinstance(label, list) else [label]
            for label in labels
        ]
    return {
        "instance": [task for task, workers in answers.items() for _ in workers],
        "source": [worker for workers in answers.values() for worker in workers],
        "label": list(labels),
    }


def _name_abstention(label: Any) -> Any:
    return ABSTAIN_WORD if label is None else label


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
