"""Argilla's records, flattened or nested: responses of users and suggestions of models."""

import json
from collections.abc import Mapping

from mhpc.data.decision import RESULT_PREFIX
from mhpc.read.json_xml import keys_of_records, pointer
from mhpc.read.vote_formats.base import (
    LongTable,
    VotesInput,
    check_rows,
    choose_controls,
    columns_of_cells,
    field_sql,
    is_object_sql,
    labels_sql,
    unnest_labels_sql,
)
from mhpc.system.database import identifier, literal

_RESPONSES = ".responses"
_SUGGESTION = ".suggestion"
_SCORE_LIST = """from_json(score, '["DOUBLE"]')"""
_IS_SUBMITTED = (
    "coalesce(status, 'submitted') = 'submitted' AND value IS NOT NULL "
    "AND CAST(value AS VARCHAR) <> 'null'"
)


class Argilla:
    """Records with responses and suggestions.

    The instance is the id of the record, the source the id of the user or the agent of the
    suggestion. Only submitted responses count, if the export says which ones are. The results of
    mhpc that people reviewed are not votes.
    """

    name = "argilla"
    kinds = ("json", "jsonl")

    def matches(self, votes: VotesInput) -> bool:
        """Look for responses or suggestions, flattened or nested, in the first record."""
        record = votes.first_record
        nested = {"fields", "responses", "suggestions"} <= record.keys()
        return nested or any(key.endswith((_RESPONSES, _SUGGESTION)) for key in record)

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label of a response or suggestion."""
        votes.require_records(self.name)
        keys = keys_of_records(votes.connection)
        nested = "responses" in keys and "fields" in keys
        questions = _nested_questions(votes) if nested else _flat_questions(keys)
        chosen = choose_controls(votes, questions, columns, what="question")
        answers_sql = _nested_answers_sql if nested else _flat_answers_sql
        instance = field_sql("json", columns.get("instance", "id"))
        answers = " UNION ALL ".join(answers_sql(question, instance) for question in chosen)
        connection = votes.connection
        connection.execute(f"CREATE TEMP TABLE answers AS {answers}")
        # Their own result would count once more for what the sources said.
        connection.execute(
            f"DELETE FROM answers WHERE model AND starts_with(source, {literal(RESULT_PREFIX)}) "
            "AND EXISTS (SELECT 1 FROM answers WHERE NOT model)"
        )
        models = connection.execute(
            "SELECT DISTINCT source FROM answers WHERE model ORDER BY source"
        ).fetchall()
        check_rows(
            votes,
            "answers",
            wrong=is_object_sql("value"),
            message="'its value ' || value || ' is neither a label nor a list of labels'",
        )
        has_score_list = "json_type(score) = 'ARRAY' AND json_array_length(score) > 0"
        connection.execute(
            "CREATE TEMP TABLE cells AS SELECT number, instance, source, "
            f"{unnest_labels_sql('labels')} AS label, unnest(CASE "
            f"WHEN len(labels) > 0 AND {has_score_list} THEN {_SCORE_LIST} "
            "WHEN len(labels) > 0 THEN "
            "list_transform(labels, lambda label: coalesce((score ->> '$')::DOUBLE, 1)) "
            f"ELSE [1.0] END) AS score FROM (SELECT *, {labels_sql('value')} AS labels "
            "FROM answers)"
        )
        return LongTable(columns_of_cells(votes), models=tuple(source for (source,) in models))


def _flat_questions(keys: list[str]) -> list[str]:
    names = [key.removesuffix(_RESPONSES) for key in keys if key.endswith(_RESPONSES)]
    names += [key.removesuffix(_SUGGESTION) for key in keys if key.endswith(_SUGGESTION)]
    return list(dict.fromkeys(names))


def _nested_questions(votes: VotesInput) -> list[str]:
    rows = votes.connection.execute(
        "SELECT DISTINCT unnest(json_keys(json, '$.responses') || json_keys(json, "
        "'$.suggestions')) AS question FROM records ORDER BY question"
    ).fetchall()
    return [question for (question,) in rows]


def _flat_answers_sql(question: str, instance: str) -> str:
    types = {
        _RESPONSES: ["JSON"], f"{_RESPONSES}.users": ["VARCHAR"],
        f"{_RESPONSES}.status": ["VARCHAR"], _SUGGESTION: "JSON", f"{_SUGGESTION}.score": "JSON",
        f"{_SUGGESTION}.agent": "VARCHAR",
    }  # fmt: skip
    shape = json.dumps(
        {question + suffix: type_ for suffix, type_ in types.items()}, ensure_ascii=False
    )
    fields = {suffix: f"record.{identifier(question + suffix)}" for suffix in types}
    suggestion = fields[_SUGGESTION]
    records = (
        f"SELECT number, {instance} AS instance, from_json(json, {literal(shape)}) AS record "
        "FROM records"
    )
    responses = (
        f"SELECT number, instance, unnest({fields[_RESPONSES]}) AS value, "
        f"unnest({fields[_RESPONSES + '.users']}) AS source, "
        f"unnest({fields[_RESPONSES + '.status']}) AS status FROM ({records})"
    )
    return (
        "SELECT number, instance, source, value, NULL::JSON AS score, false AS model "
        f"FROM ({responses}) WHERE {_IS_SUBMITTED} UNION ALL "
        f"SELECT number, instance, coalesce({fields[_SUGGESTION + '.agent']}, 'suggestion'), "
        f"{suggestion}, {fields[_SUGGESTION + '.score']}, true FROM ({records} WHERE "
        f"contains(json, {literal(question + _SUGGESTION)})) WHERE {suggestion} IS NOT NULL "
        f"AND CAST({suggestion} AS VARCHAR) <> 'null'"
    )


def _nested_answers_sql(question: str, instance: str) -> str:
    responses = f"json -> 'responses' -> {literal(pointer(question))}"
    suggestion = f"json -> 'suggestions' -> {literal(pointer(question))}"
    shape = """'[{"value": "JSON", "user_id": "VARCHAR", "status": "VARCHAR"}]'"""
    return (
        "SELECT number, instance, source, value, NULL::JSON AS score, false AS model FROM "
        "(SELECT number, "
        "instance, response.user_id AS source, response.value AS value, response.status AS status "
        f"FROM (SELECT number, {instance} AS instance, unnest(from_json({responses}, {shape})) AS "
        f"response FROM records)) WHERE {_IS_SUBMITTED} UNION ALL "
        f"SELECT number, {instance}, coalesce({suggestion} ->> 'agent', 'suggestion'), "
        f"{suggestion} -> 'value', {suggestion} -> 'score', true FROM records "
        f"WHERE coalesce(json_type({suggestion} -> 'value'), 'NULL') <> 'NULL'"
    )
