"""Argilla 2: records with suggestions."""

import json
from typing import Any, BinaryIO, ClassVar, Literal

from mhpc.core.outcome import Outcome
from mhpc.write.formats.documents import chosen_in, conflict_order, fields_of, write_array
from mhpc.write.formats.format import Format, What


class Argilla(Format):
    """A JSON array of records, as ``dataset.records.from_json`` reads it.

    Argilla knows no hierarchy: labels are options of a multi-label question. An instance without
    a label comes without a suggestion, since Argilla takes none that is empty.
    """

    name: ClassVar[str] = "argilla"
    writes: ClassVar[tuple[What, ...]] = ("labels",)

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

    def write(self, file: BinaryIO, subject: Outcome, what: What) -> None:
        """Write a record an instance."""
        outcome = chosen_in(subject, self.labels)
        write_array(
            file, (self._record(outcome, row) for row in conflict_order(subject, self.order))
        )

    def _record(self, outcome: Outcome, row: int) -> str:
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

    def _called(self, outcome: Outcome, label: int) -> str:
        taxonomy = outcome.taxonomy
        if self.text == "id":
            return taxonomy.labels[label]
        return taxonomy.names[label] if self.text == "name" else taxonomy.path(label)
