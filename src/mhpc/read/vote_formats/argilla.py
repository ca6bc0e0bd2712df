"""Argilla's records, flattened or nested: responses of users, suggestions of models.

The instance is the record's id, the source the user's id or the suggestion's agent. Only
submitted responses count, where the export says which are.
"""

import json
from collections.abc import Mapping

from mhpc.read.json_xml import keys_of_records, pointer
from mhpc.read.vote_formats.base import (
    CANONICAL,
    LongTable,
    VotesInput,
    chosen_controls,
    field,
    is_no_label,
    labels_of,
    refuse,
    rows_of,
)
from mhpc.system.database import identifier, literal

_RESPONSES = ".responses"
_SUGGESTION = ".suggestion"


def matches(given: VotesInput) -> bool:
    """Tell whether the first record has responses or suggestions, of either shape."""
    first = given.first
    nested = {"fields", "responses", "suggestions"} <= first.keys()
    return nested or any(key.endswith((_RESPONSES, _SUGGESTION)) for key in first)


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every label of a response or suggestion."""
    given.require_records("argilla")
    keys = keys_of_records(given.connection)
    nested = "responses" in keys and "fields" in keys
    present = _questions(given, keys, nested=nested)
    chosen = chosen_controls(given, present, columns, what="question")
    instance = field("json", columns.get("instance", "id"))
    answers = " UNION ALL ".join(
        part for name in chosen for part in (_nested if nested else _flattened)(name, instance)
    )
    connection = given.connection
    connection.execute(f"CREATE TEMP TABLE answers AS {answers}")
    refuse(
        given, "answers", is_no_label("value"),
        "'its value ' || value || ' is no label and no list of labels'",
    )  # fmt: skip
    graded = "json_type(score) = 'ARRAY' AND json_array_length(score) > 0"
    connection.execute(
        "CREATE TEMP TABLE cells AS SELECT number, instance, source, "
        f"{rows_of('labels')} AS label, "
        f"unnest(CASE WHEN len(labels) > 0 AND {graded} THEN {_SCORES} WHEN len(labels) > 0 THEN "
        "list_transform(labels, lambda each: coalesce((score ->> '$')::DOUBLE, 1)) ELSE [1.0] END)"
        f" AS score FROM (SELECT *, {labels_of('value')} AS labels FROM answers)"
    )
    return LongTable(CANONICAL)


_SCORES = """from_json(score, '["DOUBLE"]')"""


def _questions(given: VotesInput, keys: list[str], *, nested: bool) -> list[str]:
    if not nested:
        named = [key.removesuffix(_RESPONSES) for key in keys if key.endswith(_RESPONSES)]
        named += [key.removesuffix(_SUGGESTION) for key in keys if key.endswith(_SUGGESTION)]
        return list(dict.fromkeys(named))
    found = given.connection.execute(
        "SELECT DISTINCT unnest(json_keys(json, '$.responses') || json_keys(json, "
        "'$.suggestions')) AS question FROM records ORDER BY question"
    ).fetchall()
    return [question for (question,) in found]


def _flattened(question: str, instance: str) -> list[str]:
    relate_labels = {
        _RESPONSES: ["JSON"], f"{_RESPONSES}.users": ["VARCHAR"],
        f"{_RESPONSES}.status": ["VARCHAR"], _SUGGESTION: "JSON", f"{_SUGGESTION}.score": "JSON",
        f"{_SUGGESTION}.agent": "VARCHAR",
    }  # fmt: skip
    shape = json.dumps(
        {question + part: kind for part, kind in relate_labels.items()}, ensure_ascii=False
    )
    at = {part: f"said.{identifier(question + part)}" for part in relate_labels}
    looked = (
        f"SELECT number, {instance} AS instance, from_json(json, {literal(shape)}) AS said "
        "FROM records"
    )
    responses = (
        f"SELECT number, instance, unnest({at[_RESPONSES]}) AS value, "
        f"unnest({at[_RESPONSES + '.users']}) AS source, "
        f"unnest({at[_RESPONSES + '.status']}) AS status FROM ({looked})"
    )
    return [
        "SELECT number, instance, source, value, NULL::JSON AS score "
        f"FROM ({responses}) WHERE {_COUNTS}",
        f"SELECT number, instance, coalesce({at[_SUGGESTION + '.agent']}, 'suggestion'), "
        f"{at[_SUGGESTION]}, {at[_SUGGESTION + '.score']} FROM ({looked} WHERE contains(json, "
        f"{literal(question + _SUGGESTION)})) WHERE {at[_SUGGESTION]} IS NOT NULL "
        f"AND CAST({at[_SUGGESTION]} AS VARCHAR) <> 'null'",
    ]


def _nested(question: str, instance: str) -> list[str]:
    response = f"json -> 'responses' -> {literal(pointer(question))}"
    suggestion = f"json -> 'suggestions' -> {literal(pointer(question))}"
    shape = """'[{"value": "JSON", "user_id": "VARCHAR", "status": "VARCHAR"}]'"""
    return [
        f"SELECT number, instance, source, value, NULL::JSON AS score FROM (SELECT number, "
        "instance, each.user_id AS source, each.value AS value, each.status AS status FROM "
        f"(SELECT number, {instance} AS instance, unnest(from_json({response}, {shape})) AS each "
        f"FROM records)) WHERE {_COUNTS}",
        f"SELECT number, {instance}, coalesce({suggestion} ->> 'agent', 'suggestion'), "
        f"{suggestion} -> 'value', {suggestion} -> 'score' FROM records "
        f"WHERE coalesce(json_type({suggestion} -> 'value'), 'NULL') <> 'NULL'",
    ]


_COUNTS = (
    "coalesce(status, 'submitted') = 'submitted' AND value IS NOT NULL "
    "AND CAST(value AS VARCHAR) <> 'null'"
)
