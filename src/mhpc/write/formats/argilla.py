"""Argilla."""

import json
from collections.abc import Iterable
from typing import Any, BinaryIO, ClassVar, Literal, TypeAlias

import numpy as np

from mhpc.data.decision import LabelledScores
from mhpc.errors import DataError, suggest
from mhpc.write.formats import Content, Format, as_text

Order: TypeAlias = Literal["conflict", "given"]


def write_array(file: BinaryIO, objects: Iterable[str]) -> None:
    """Write objects, given as JSON, as one array, a line each."""
    with as_text(file) as text:
        text.write("[")
        for at, each in enumerate(objects):
            text.write(",\n" if at else "\n")
            text.write(each)
        text.write("\n]\n")


def conflict_order(outcome: LabelledScores, order: Order) -> list[int]:
    """Return the instances in the order in which people had best look at them.

    Those first on which one more opinion is worth most, as far as a run keeps them; then by how
    sure the least sure deepest label is, an instance without a label before all others.
    """
    if order == "given":
        return list(range(len(outcome.instances)))
    first = outcome.instances.locate(outcome.review_order).tolist()
    listed = set(first)
    sure = np.argsort(outcome.deepest().least_score(), kind="stable").tolist()
    return [*first, *(row for row in sure if row not in listed)]


def chosen_in(outcome: LabelledScores, labels: Literal["all", "deepest"]) -> LabelledScores:
    """Return all labels, or those alone that have none below them."""
    return outcome.deepest() if labels == "deepest" else outcome


def fields_of(outcome: LabelledScores, instance: str, *, key: str | None) -> dict[str, Any]:
    """Return what a tool holds of an instance; its id under a key where nobody told."""
    if not outcome.fields:
        return {} if key is None else {key: instance}
    if instance not in outcome.fields:
        raise DataError(
            f"instance {instance!r} is not among the tasks{suggest(instance, outcome.fields)}; "
            "give the export that the votes came from"
        )
    return dict(outcome.fields[instance])


class Argilla(Format):
    """A JSON array of records, as ``dataset.records.from_json`` reads it.

    Argilla knows no hierarchy: labels are options of a multi-label question. An instance without
    a label comes without a suggestion, since Argilla takes none that is empty.
    """

    name: ClassVar[str] = "argilla"
    writes: ClassVar[tuple[Content, ...]] = ("labels",)

    question: str = "labels"
    """The multi-label question."""

    field: str | None = "text"
    """The field that holds an instance's id where no tasks give its fields; none: no fields, to
    add suggestions to records that are there."""

    agent: str | None = None
    """Who suggests; unless given, mhpc and the method."""

    text: Literal["id", "name", "path"] = "id"
    """What a label is called there."""

    labels: Literal["all", "deepest"] = "all"
    """Suggest all labels, or those alone that have none below them."""

    shape: Literal["records", "flat"] = "records"
    """Records as Argilla writes them to JSON, or flattened as in ``to_list(flatten=True)``."""

    order: Literal["conflict", "given"] = "conflict"
    """The least sure first, or as they came."""

    def write(self, file: BinaryIO, subject: LabelledScores, what: Content) -> None:
        """Write a record an instance."""
        outcome = chosen_in(subject, self.labels)
        write_array(
            file, (self._record(outcome, row) for row in conflict_order(subject, self.order))
        )

    def _record(self, outcome: LabelledScores, row: int) -> str:
        instance = outcome.instances[row]
        fields = fields_of(outcome, instance, key=self.field)
        labels, scores = outcome.labels_of(row)
        suggestion = {
            "value": [self._called(outcome, int(label)) for label in labels],
            "score": [min(max(float(score), 0.0), 1.0) for score in scores],
            "agent": self.agent or f"mhpc {outcome.consolidation.method}",
        }
        record: dict[str, Any] = {"id": instance}
        if self.shape == "flat":
            record |= fields
            if len(labels):
                key = f"{self.question}.suggestion"
                value = suggestion.pop("value")
                record |= {key: value, **{f"{key}.{name}": of for name, of in suggestion.items()}}
            return json.dumps(record, ensure_ascii=False)
        record |= {"fields": fields, "metadata": {}, "responses": {}, "vectors": {}}
        record["suggestions"] = {self.question: suggestion} if len(labels) else {}
        return json.dumps(record, ensure_ascii=False)

    def _called(self, outcome: LabelledScores, label: int) -> str:
        taxonomy = outcome.taxonomy
        if self.text == "id":
            return taxonomy.labels[label]
        return taxonomy.names[label] if self.text == "name" else taxonomy.path(label)
