"""doccano's export: a zip with one JSON Lines file a member, or one file of all members.

The file's name is the source. A member who did not label an example has an empty list there,
which therefore says nothing.
"""

import json
from collections.abc import Mapping

from mhpc.read.archives import source_name
from mhpc.read.columns import ALIASES
from mhpc.read.files import LocalFile
from mhpc.read.json_xml import load_array, load_lines
from mhpc.read.vote_formats.base import EACH, UNGRADED, LongTable, VotesInput, field, refuse
from mhpc.system.database import identifier, literal

_DATA = ("text", "data", "filename")
_LABELS = ("label", "labels", "cats")


def matches(given: VotesInput) -> bool:
    """Tell whether there are files of JSON objects with data and a list of labels, no source."""
    if len(given.files) > 1:
        return all(file.format in ("jsonl", "json") for file in given.files)
    keys = {key.lower() for key in given.first}
    return (
        "id" in keys
        and bool(keys.intersection(_DATA))
        and any(isinstance(given.first.get(key), list) for key in _LABELS)
        and not keys.intersection(ALIASES["source"])
    )


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every label of every file."""
    given.require_files("doccano")
    keys = (columns["label"],) if "label" in columns else _LABELS
    shape = json.dumps({key: ["VARCHAR"] for key in keys}, ensure_ascii=False)
    told = ", ".join(f"said.{identifier(key)}" for key in keys)
    for at, file in enumerate(given.files):
        _load(given, file)
        make = "CREATE TEMP TABLE examples AS" if not at else "INSERT INTO examples"
        given.connection.execute(
            f"{make} SELECT {at * EACH} + number AS number, {literal(source_name(file))} AS source,"
            f" instance, coalesce({told}) AS labels FROM (SELECT number, "
            f"{field('json', columns.get('instance', 'id'))} AS instance, from_json(json, "
            f"{literal(shape)}) AS said FROM records)"
        )
    refuse(given, "examples", "labels IS NULL", "'it has no list of labels'")
    # What is in the list is told as text: [0, 2, "PERSON"] is a span, {"label": …} another.
    refuse(
        given, "examples", r"regexp_matches(labels[1], '^(\[\d+,|\{\")')",
        "'it labels spans, ' || labels[1] || ', not the whole'",
    )  # fmt: skip
    given.connection.execute(
        "CREATE TEMP TABLE cells AS SELECT number, instance, source, unnest(labels) AS label "
        "FROM examples"
    )
    return LongTable(UNGRADED)


def _load(given: VotesInput, file: LocalFile) -> None:
    if len(given.files) == 1:
        given.require_records("doccano")
        return
    load = load_lines if file.format == "jsonl" else load_array
    load(given.connection, file)
