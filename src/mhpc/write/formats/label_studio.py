"""Label Studio: tasks with predictions, and the labeling config of a taxonomy."""

import json
import re
from collections.abc import Sequence
from typing import Any, BinaryIO, ClassVar, Literal, TextIO
from xml.sax.saxutils import quoteattr

from pydantic import ConfigDict

from mhpc.data.decision import INSTANCE_FIELD, RESULT_PREFIX, LabelledScores
from mhpc.data.taxonomy import PATH_SEPARATOR, Taxonomy
from mhpc.errors import DataError, option, quote_list
from mhpc.write.formats import Content, WriteFormat, as_text
from mhpc.write.formats.documents import (
    LabelChoice,
    Order,
    choose_labels,
    fields_of,
    order_rows,
    write_array,
)

MAX_CHOICES = 1_000_000
"""The most choices in a config: a DAG that is written as a tree can grow exponentially."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class LabelStudio(WriteFormat):
    """A JSON array of tasks with predictions, or of predictions for existing tasks.

    Label Studio numbers imported tasks itself, so their data have a field with the instance, by
    which `mhpc.read_votes` and `mhpc.read_truth` recognize it in an export.
    Label Studio identifies a label by the names from a root to it; if a label has several parents,
    the first one counts. The score of a prediction is that of its least certain label, clipped to
    0 and 1 as Label Studio requires.
    """

    name: ClassVar[str] = "label-studio"
    writes: ClassVar[tuple[Content, ...]] = ("labels",)
    # pydantic reserves names that begin with "model_", but model_version is Label Studio's word.
    model_config: ClassVar[ConfigDict] = ConfigDict(protected_namespaces=())

    control: Literal["taxonomy", "choices"] = "taxonomy"
    """The kind of control for the labels."""

    from_name: str | None = None
    """The name of the control; by default that of its kind."""

    to_name: str = "text"
    """The name of the labelled object."""

    data_key: str = "text"
    """The data field for the id of an instance if there are no tasks with data."""

    model_version: str | None = None
    """Who predicts; by default mhpc and the method."""

    labels: LabelChoice = "deepest"
    """Select all labels, or only those without a chosen descendant."""

    shape: Literal["tasks", "predictions"] = "tasks"
    """Tasks to import, or predictions for tasks that exist already: those of an export that is
    given as well, or else those whose numbers are the instances."""

    order: Order = "conflict"
    """The instances to review first, or the order of the input."""

    def write(self, file: BinaryIO, data: LabelledScores, content: Content) -> None:
        """Write one object per instance."""
        result = choose_labels(data, self.labels)
        values = self._label_values(result.taxonomy)
        least_score = result.least_score().clip(0, 1)
        make_object = self._task if self.shape == "tasks" else self._task_prediction
        write_array(
            file,
            (
                json.dumps(
                    make_object(result, row, values, float(least_score[row])), ensure_ascii=False
                )
                for row in order_rows(data, self.order)
            ),
        )

    def _label_values(self, taxonomy: Taxonomy) -> list[list[str]] | list[str]:
        """Return how each label is written, which must differ between labels."""
        if self.control == "taxonomy":
            paths = name_paths(taxonomy)
            _check_distinct([PATH_SEPARATOR.join(path) for path in paths], taxonomy)
            return paths
        _check_distinct(taxonomy.names, taxonomy)
        return list(taxonomy.names)

    def _task(
        self, result: LabelledScores, row: int, values: Sequence[Any], score: float
    ) -> dict[str, Any]:
        instance = result.instances[row]
        data = {INSTANCE_FIELD: instance} | fields_of(result, instance, key=self.data_key)
        id_ = {"id": int(instance)} if _is_number(instance) else {}
        return {**id_, "data": data, "predictions": [self._prediction(result, row, values, score)]}

    def _task_prediction(
        self, result: LabelledScores, row: int, values: Sequence[Any], score: float
    ) -> dict[str, Any]:
        task = _task_number(result, result.instances[row])
        return {"task": task, **self._prediction(result, row, values, score)}

    def _prediction(
        self, result: LabelledScores, row: int, values: Sequence[Any], score: float
    ) -> dict[str, Any]:
        chosen = [values[label] for label in result.labels_of(row)[0]]
        region = {
            "id": f"mhpc-{row}",
            "from_name": self.from_name or self.control,
            "to_name": self.to_name,
            "type": self.control,
            "value": {self.control: chosen},
        }
        return {
            "model_version": self.model_version or f"{RESULT_PREFIX}{result.consolidation.method}",
            "score": score,
            "result": [region] if chosen else [],
        }


def name_paths(taxonomy: Taxonomy) -> list[list[str]]:
    """Return the names from a root to every label, through first parents."""
    paths: list[list[str]] = [[name] for name in taxonomy.names]
    for level in taxonomy.levels[1:]:
        for label in level.tolist():
            paths[label] = [*paths[int(taxonomy.parents_of(label)[0])], taxonomy.names[label]]
    return paths


def _check_distinct(texts: Sequence[str], taxonomy: Taxonomy) -> None:
    first_with: dict[str, int] = {}
    for label, text in enumerate(texts):
        if (other := first_with.setdefault(text, label)) != label:
            same = [taxonomy.labels[other], taxonomy.labels[label]]
            raise DataError(
                f"labels {quote_list(same)} are both {text!r} in Label Studio, which identifies "
                "labels by their names; give them different names in the taxonomy"
            )


def _task_number(result: LabelledScores, instance: str) -> int:
    if instance in result.task_numbers:
        return result.task_numbers[instance]
    if result.fields:
        raise DataError(
            f"instance {instance!r} has no task in the export; export all tasks of the project"
        )
    if not _is_number(instance):
        raise DataError(
            f"instance {instance!r} is not the number of a task; shape=tasks writes tasks to "
            f"import, and {option('tasks', 'FILE', command='convert')} finds the numbers in the "
            "export of a project"
        )
    return int(instance)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and str(int(text)) == text


class LabelStudioConfig(WriteFormat):
    """``<Taxonomy>`` with nested choices; a label with several parents appears below each."""

    name: ClassVar[str] = "label-studio-config"
    writes: ClassVar[tuple[Content, ...]] = ("taxonomy",)

    from_name: str = "taxonomy"
    """The name of the control."""

    to_name: str = "text"
    """The name of the labelled object."""

    data_key: str = "text"
    """The data field that is shown."""

    def write(self, file: BinaryIO, data: Taxonomy, content: Content) -> None:
        """Write the config with one line per choice."""
        value, name, to = map(_quote_attribute, ("$" + self.data_key, self.from_name, self.to_name))
        with as_text(file) as text:
            text.write(f"<View>\n  <Text name={to} value={value}/>\n")
            text.write(f"  <Taxonomy name={name} toName={to}>\n")
            write_choices(text, data)
            text.write("  </Taxonomy>\n</View>\n")


def write_choices(text: TextIO, taxonomy: Taxonomy, *, max_choices: int = MAX_CHOICES) -> None:
    """Write the labels of a taxonomy as nested choices, one line each."""
    names = [_quote_attribute(name) for name in taxonomy.names]
    count = 0
    # The labels still to be written with their indentation, the next one last; -1 ends a choice.
    stack = [(int(root), 2) for root in reversed(taxonomy.roots)]
    while stack:
        label, indentation = stack.pop()
        if label < 0:
            text.write(f"{'  ' * indentation}</Choice>\n")
            continue
        count += 1
        if count > max_choices:
            raise DataError(
                f"the taxonomy has more than {max_choices:,} paths, too many for a config"
            )
        children = taxonomy.children_of(label)
        text.write(f"{'  ' * indentation}<Choice value={names[label]}")
        text.write(">\n" if len(children) else "/>\n")
        if len(children):
            stack.append((-1, indentation))
            stack += [(int(child), indentation + 1) for child in reversed(children)]


def _quote_attribute(text: str) -> str:
    if invalid := _NOT_XML.search(text):
        raise DataError(f"{text!r} has the character {invalid[0]!r}, which XML cannot hold")
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
