"""Argilla's records with suggestions."""

import json
from typing import Any, BinaryIO, ClassVar, Literal

from mhpc.data.decision import RESULT_PREFIX, LabelledScores
from mhpc.write.formats import Content, WriteFormat
from mhpc.write.formats.documents import (
    LabelChoice,
    Order,
    choose_labels,
    fields_of,
    order_rows,
    write_array,
)


class Argilla(WriteFormat):
    """A JSON array of records for ``dataset.records.from_json``.

    Argilla has no hierarchies: labels are options of a multi-label question. An instance without a
    label has no suggestion, because Argilla does not accept an empty one.
    """

    name: ClassVar[str] = "argilla"
    writes: ClassVar[tuple[Content, ...]] = ("labels",)

    question: str = "labels"
    """The multi-label question."""

    field: str | None = "text"
    """The field for the id of an instance if there are no tasks with fields; none to write no
    fields, in order to add suggestions to existing records."""

    agent: str | None = None
    """Who suggests; by default mhpc and the method."""

    text: Literal["id", "name", "path"] = "id"
    """What a label is called in Argilla."""

    labels: LabelChoice = "all"
    """Suggest all labels, or only those without a chosen descendant."""

    shape: Literal["records", "flat"] = "records"
    """Records as Argilla writes them to JSON, or flattened as by ``to_list(flatten=True)``."""

    order: Order = "conflict"
    """The instances to review first, or the order of the input."""

    def write(self, file: BinaryIO, data: LabelledScores, content: Content) -> None:
        """Write one record per instance."""
        result = choose_labels(data, self.labels)
        write_array(file, (self._record(result, row) for row in order_rows(data, self.order)))

    def _record(self, result: LabelledScores, row: int) -> str:
        instance = result.instances[row]
        fields = fields_of(result, instance, key=self.field)
        labels, scores = result.labels_of(row)
        suggestion = {
            "value": [self._label_text(result, int(label)) for label in labels],
            "score": [min(max(float(score), 0.0), 1.0) for score in scores],
            "agent": self.agent or f"{RESULT_PREFIX}{result.consolidation.method}",
        }
        record: dict[str, Any] = {"id": instance}
        if self.shape == "flat":
            record |= fields
            if len(labels):
                key = f"{self.question}.suggestion"
                record[key] = suggestion.pop("value")
                record |= {f"{key}.{name}": value for name, value in suggestion.items()}
            return json.dumps(record, ensure_ascii=False)
        record |= {"fields": fields, "metadata": {}, "responses": {}, "vectors": {}}
        record["suggestions"] = {self.question: suggestion} if len(labels) else {}
        return json.dumps(record, ensure_ascii=False)

    def _label_text(self, result: LabelledScores, label: int) -> str:
        taxonomy = result.taxonomy
        if self.text == "id":
            return taxonomy.labels[label]
        return taxonomy.names[label] if self.text == "name" else taxonomy.path(label)
