"""doccano's export: a zip with one JSON Lines file per member, or one file for all members."""

import json
from collections.abc import Mapping
from typing import Any

from mhpc.read.archives import source_name
from mhpc.read.columns import ALIASES
from mhpc.read.files import LocalFile
from mhpc.read.json_xml import load_array, load_lines, peek_record
from mhpc.read.vote_formats.base import (
    ROWS_PER_FILE,
    UNSCORED_COLUMNS,
    LongTable,
    VotesInput,
    check_rows,
    field_sql,
)
from mhpc.system.database import identifier, literal

_DATA = ("text", "data", "filename")
_LABELS = ("label", "labels", "cats")


class Doccano:
    """One JSON object per example, with a list of labels.

    The file is named after the source. A member who did not label an example has an empty list
    there, so an empty list is not an answer.
    """

    name = "doccano"
    kinds = ("json", "jsonl")
    reads_several = True

    def matches(self, votes: VotesInput) -> bool:
        """Look for JSON objects with data and a list of labels, but without a source."""
        if len(votes.files) > 1:
            return all(_is_example(peek_record(file)) for file in votes.files)
        return _is_example(votes.first_record)

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label of every file."""
        votes.require_files(self.name)
        keys = (columns["label"],) if "label" in columns else _LABELS
        shape = json.dumps({key: ["VARCHAR"] for key in keys}, ensure_ascii=False)
        labels = ", ".join(f"example.{identifier(key)}" for key in keys)
        for number, file in enumerate(votes.files):
            _load_records(votes, file)
            target = "INSERT INTO examples" if number else "CREATE TEMP TABLE examples AS"
            votes.connection.execute(
                f"{target} SELECT {number * ROWS_PER_FILE} + number AS number, "
                f"{literal(source_name(file))} AS source,"
                f" instance, coalesce({labels}) AS labels FROM (SELECT number, "
                f"{field_sql('json', columns.get('instance', 'id'))} AS instance, from_json(json, "
                f"{literal(shape)}) AS example FROM records)"
            )
        check_rows(votes, "examples", wrong="labels IS NULL", message="'it has no list of labels'")
        # The items of the list are text here: [0, 2, "PERSON"] is a span, {"label": …} another.
        check_rows(
            votes,
            "examples",
            wrong=r"regexp_matches(labels[1], '^(\[\d+,|\{\")')",
            message="'it labels spans, ' || labels[1] || ', not whole examples'",
        )
        votes.connection.execute(
            "CREATE TEMP TABLE cells AS SELECT number, instance, source, unnest(labels) AS label "
            "FROM examples"
        )
        return LongTable(UNSCORED_COLUMNS)


def _is_example(record: Mapping[str, Any]) -> bool:
    keys = {key.lower() for key in record}
    labels = [record[key] for key in _LABELS if isinstance(record.get(key), list)]
    return (
        "id" in keys
        and bool(keys.intersection(_DATA))
        and bool(labels)
        and not any(isinstance(label, dict) for items in labels for label in items)
        and not keys.intersection(ALIASES["source"])
    )


def _load_records(votes: VotesInput, file: LocalFile) -> None:
    if len(votes.files) == 1:
        votes.require_records("doccano")
        return
    load = load_lines if file.format == "jsonl" else load_array
    load(votes.connection, file)
