"""Tasks and config."""

import json
import re
from collections.abc import Sequence
from typing import Any, BinaryIO, ClassVar, Literal
from xml.sax.saxutils import quoteattr

from pydantic import ConfigDict

from mhpc.data.decision import LabelledScores
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import DataError, quote_list
from mhpc.write.formats import Content, Format, as_text
from mhpc.write.formats.argilla import chosen_in, conflict_order, fields_of, write_array

INSTANCE = "instance"
"""The data field that keeps an instance's id, which Label Studio does not."""


class LabelStudio(Format):
    """A JSON array of tasks with predictions, or of predictions for tasks that are there.

    Label Studio names a label by the names from a root down to it; where a label has several
    parents, by the first of each. The score of a prediction is that of its least sure label, cut to
    0 and 1 as Label Studio demands.
    """

    name: ClassVar[str] = "label-studio"
    writes: ClassVar[tuple[Content, ...]] = ("labels",)
    # Label Studio's word; pydantic would keep names that begin like it for itself.
    model_config: ClassVar[ConfigDict] = ConfigDict(protected_namespaces=())

    control: Literal["taxonomy", "choices"] = "taxonomy"
    """The kind of control that holds the labels."""

    from_name: str | None = None
    """The control's name; unless given, that of its kind."""

    to_name: str = "text"
    """The name of what is labelled."""

    data_key: str = "text"
    """The data field that holds an instance's id where no tasks give its data."""

    model_version: str | None = None
    """Who predicts; unless given, mhpc and the method."""

    labels: Literal["all", "deepest"] = "deepest"
    """Fill in all labels, or those alone that have none below them."""

    shape: Literal["tasks", "predictions"] = "tasks"
    """Tasks to import, or predictions alone for the tasks whose ids the instances are."""

    order: Literal["conflict", "given"] = "conflict"
    """The least sure first, or as they came."""

    def write(self, file: BinaryIO, subject: LabelledScores, what: Content) -> None:
        """Write an object an instance."""
        outcome = chosen_in(subject, self.labels)
        values = self._values(outcome.taxonomy)
        least = outcome.least_score().clip(0, 1)
        made = self._task if self.shape == "tasks" else self._of_a_task
        write_array(
            file,
            (
                json.dumps(made(outcome, row, values, float(least[row])), ensure_ascii=False)
                for row in conflict_order(subject, self.order)
            ),
        )

    def _values(self, taxonomy: Taxonomy) -> list[list[str]] | list[str]:
        """Return how each label is written; no two may look alike."""
        if self.control == "taxonomy":
            paths = paths_of(taxonomy)
            _check_distinct([" > ".join(path) for path in paths], taxonomy)
            return paths
        _check_distinct(taxonomy.names, taxonomy)
        return list(taxonomy.names)

    def _task(
        self, outcome: LabelledScores, row: int, values: Sequence[Any], score: float
    ) -> dict[str, Any]:
        instance = outcome.instances[row]
        data = {INSTANCE: instance} | fields_of(outcome, instance, key=self.data_key)
        number = {"id": int(instance)} if _is_number(instance) else {}
        return {**number, "data": data, "predictions": [self._made(outcome, row, values, score)]}

    def _of_a_task(
        self, outcome: LabelledScores, row: int, values: Sequence[Any], score: float
    ) -> dict[str, Any]:
        instance = outcome.instances[row]
        if not _is_number(instance):
            raise DataError(
                f"instance {instance!r} is not the number of a task; shape=tasks writes tasks to "
                "import"
            )
        return {"task": int(instance), **self._made(outcome, row, values, score)}

    def _made(
        self, outcome: LabelledScores, row: int, values: Sequence[Any], score: float
    ) -> dict[str, Any]:
        chosen = [values[label] for label in outcome.labels_of(row)[0]]
        region = {
            "id": f"mhpc-{row}",
            "from_name": self.from_name or self.control,
            "to_name": self.to_name,
            "type": self.control,
            "value": {self.control: chosen},
        }
        return {
            "model_version": self.model_version or f"mhpc {outcome.consolidation.method}",
            "score": score,
            "result": [region] if chosen else [],
        }


def paths_of(taxonomy: Taxonomy) -> list[list[str]]:
    """Return the names from a root down to every label, by first parents."""
    paths: list[list[str]] = [[name] for name in taxonomy.names]
    for level in taxonomy.levels[1:]:
        for label in level.tolist():
            paths[label] = [*paths[int(taxonomy.parents_of(label)[0])], taxonomy.names[label]]
    return paths


def _check_distinct(texts: Sequence[str], taxonomy: Taxonomy) -> None:
    seen: dict[str, int] = {}
    for label, text in enumerate(texts):
        if (other := seen.setdefault(text, label)) != label:
            alike = [taxonomy.labels[other], taxonomy.labels[label]]
            raise DataError(
                f"labels {quote_list(alike)} are both {text!r} in Label Studio, which knows labels by "
                "their names; give them different names in the taxonomy"
            )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and str(int(text)) == text


MOST = 1_000_000
"""Choices at most; a hierarchy with several parents, written as a tree, can grow without end."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class LabelStudioConfig(Format):
    """``<Taxonomy>`` with nested choices; a label with several parents stands below each."""

    name: ClassVar[str] = "label-studio-config"
    writes: ClassVar[tuple[Content, ...]] = ("taxonomy",)

    from_name: str = "taxonomy"
    """The control's name."""

    to_name: str = "text"
    """The name of what is labelled."""

    data_key: str = "text"
    """The data field that it shows."""

    def write(self, file: BinaryIO, subject: Taxonomy, what: Content) -> None:
        """Write the config, a choice a line."""
        names = [_attribute(name) for name in subject.names]
        shown, name, to = map(_attribute, ("$" + self.data_key, self.from_name, self.to_name))
        with as_text(file) as text:
            text.write(f"<View>\n  <Text name={to} value={shown}/>\n")
            text.write(f"  <Taxonomy name={name} toName={to}>\n")
            count = 0
            # What is still to be written, the next at the end; None closes a choice.
            waiting = [(int(root), 2) for root in reversed(subject.roots)]
            while waiting:
                label, level = waiting.pop()
                if label < 0:
                    text.write(f"{'  ' * level}</Choice>\n")
                    continue
                count += 1
                if count > MOST:
                    raise DataError(
                        f"the taxonomy has more than {MOST:,} paths, too many for a config"
                    )
                below = subject.children_of(label)
                text.write(f"{'  ' * level}<Choice value={names[label]}")
                text.write(">\n" if len(below) else "/>\n")
                if len(below):
                    waiting.append((-1, level))
                    waiting += [(int(child), level + 1) for child in reversed(below)]
            text.write("  </Taxonomy>\n</View>\n")


def _attribute(text: str) -> str:
    if found := _NOT_XML.search(text):
        raise DataError(f"{text!r} has the character {found[0]!r}, which XML cannot hold")
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
