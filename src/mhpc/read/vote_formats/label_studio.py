"""Label Studio's JSON export: tasks with annotations, model predictions beside them.

The instance is the task, or the region of a task where the control is one for regions; the
source is who completed the annotation, or the model's version. Annotations that were cancelled
say nothing; those marked as ground truth are gold.
"""

from collections.abc import Mapping

from mhpc.read.vote_formats.base import (
    CANONICAL,
    LongTable,
    VotesInput,
    chosen_controls,
    field,
    listed,
    path_of,
    refuse,
    rows_of,
)
from mhpc.system.database import literal

_RESULT = """{"id": "VARCHAR", "type": "VARCHAR", "from_name": "VARCHAR", "score": "DOUBLE",
"value": {"taxonomy": [["VARCHAR"]], "choices": ["VARCHAR"], "start": "VARCHAR", "x": "VARCHAR",
"points": "VARCHAR", "startOffset": "VARCHAR", "ranges": "VARCHAR"}}"""
_ANNOTATION = f"""{{"completed_by": "JSON", "was_cancelled": "BOOLEAN", "skipped": "BOOLEAN",
"ground_truth": "BOOLEAN", "result": [{_RESULT}]}}"""
_PREDICTION = f"""{{"model_version": "VARCHAR", "score": "DOUBLE", "result": [{_RESULT}]}}"""
_TASK = f"""{{"id": "VARCHAR", "annotations": [{_ANNOTATION}], "completions": [{_ANNOTATION}]}}"""
_FORETOLD = f"""{{"id": "VARCHAR", "predictions": [{_PREDICTION}],
"annotations": [{{"prediction": {_PREDICTION}}}]}}"""

_WHO = (
    "CASE json_type(each.completed_by) WHEN 'OBJECT' THEN "
    "coalesce(each.completed_by ->> 'email', each.completed_by ->> 'id') "
    "ELSE each.completed_by ->> '$' END"
)
_REGION = (
    "coalesce(part.value.start, part.value.x, part.value.points, part.value.startOffset, "
    "part.value.ranges) IS NOT NULL"
)
_LABELS = (
    "CASE part.type WHEN 'choices' THEN part.value.choices WHEN 'taxonomy' THEN "
    f"list_transform(part.value.taxonomy, lambda path: {path_of('path')}) END"
)
_GIVES_LABELS = "type IN ('taxonomy', 'choices')"


def matches(given: VotesInput) -> bool:
    """Tell whether the first record is a task."""
    first = given.first
    return isinstance(first.get("data"), dict) and any(
        isinstance(first.get(key), list) for key in ("annotations", "completions", "predictions")
    )


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every label of every annotation and prediction."""
    given.require_records("label-studio")
    _results(given, columns)
    connection = given.connection
    mine = f"{_GIVES_LABELS} AND from_name IN {listed(_controls(given, columns))}"
    # Who was asked of a task as a whole and gave no result says none of these; a model may know
    # of other controls alone.
    connection.execute(
        "CREATE TEMP TABLE silent AS SELECT number, gold, source, instance, 1.0::DOUBLE AS score, "
        "[]::VARCHAR[] AS labels FROM results WHERE NOT model "
        "GROUP BY number, gold, source, instance, answer "
        f"HAVING count(*) FILTER ({mine}) = 0 AND NOT (SELECT coalesce(bool_or(regional), false) "
        f"FROM results WHERE {mine})"
    )
    connection.execute(
        f"CREATE TEMP TABLE votes AS SELECT number, gold, instance, source, {rows_of('labels')} "
        "AS label, score FROM (SELECT number, gold, source, CASE WHEN regional THEN instance || "
        f"'/' || region ELSE instance END AS instance, score, labels FROM results WHERE {mine} "
        "UNION ALL BY NAME FROM silent)"
    )
    connection.execute("CREATE TEMP VIEW cells AS SELECT * FROM votes WHERE NOT gold")
    connection.execute("CREATE TEMP VIEW gold AS SELECT instance, label FROM votes WHERE gold")
    return LongTable(CANONICAL, gold=True)


def _controls(given: VotesInput, columns: Mapping[str, str]) -> list[str]:
    """Return the controls that give the labels: the only taxonomy goes before any choices."""
    found = given.connection.execute(
        f"SELECT type, from_name FROM results WHERE {_GIVES_LABELS} GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    taxonomies = [name for kind, name in found if kind == "taxonomy"]
    if len(taxonomies) == 1 and "label" not in columns:
        return taxonomies
    return chosen_controls(given, [name for _, name in found], columns, what="control")


def _results(given: VotesInput, columns: Mapping[str, str]) -> None:
    """Make ``results``, one a control of an answer; one without if the answer has none."""
    word = columns.get("instance")
    named = field("json -> 'data'", word) if word else "task.id"
    task = "SELECT number, {} AS instance, task FROM (SELECT number, json, from_json(json, {}) AS "
    told = task.format(named, literal(_TASK)) + "task FROM records)"
    foretold = task.format(named, literal(_FORETOLD)) + (
        "task FROM records WHERE json LIKE '%\"model_version\"%')"
    )
    answered = "coalesce(task.annotations, task.completions)"
    given.connection.execute(
        f"CREATE TEMP TABLE results AS {_parts(_annotations(told, answered))} UNION ALL "
        f"{_parts(_predictions(foretold, 'task.predictions'))} UNION ALL SELECT DISTINCT * FROM "
        f"({_parts(_predictions(foretold, '[each.prediction for each in task.annotations]'))})"
    )
    what = f"field {word!r} in its data" if word else "id"
    refuse(given, "results", "instance IS NULL", literal(f"the task has no {what}"))
    given.connection.execute(
        "CREATE TEMP TABLE unanswered AS SELECT number, json FROM records ANTI JOIN results "
        "USING (number)"
    )
    refuse(
        given, "unanswered", "json_type(json, '$.annotations') NOT IN ('ARRAY', 'NULL')",
        "'its annotations are no list'",
    )  # fmt: skip


def _annotations(told: str, listed_as: str) -> str:
    return (
        f"SELECT number, instance, answer, {_WHO} AS source, coalesce(each.ground_truth, false) AS "
        "gold, false AS model, NULL::DOUBLE AS graded, each.result AS result FROM (SELECT *, "
        f"unnest({listed_as}) AS each, unnest(range(len({listed_as}))) AS answer FROM ({told})) "
        "WHERE NOT coalesce(each.was_cancelled, each.skipped, false)"
    )


def _predictions(foretold: str, listed_as: str) -> str:
    """Return SQL for predictions; where only their ids are exported there is nothing to tell."""
    return (
        "SELECT number, instance, 0 AS answer, coalesce(each.model_version, 'prediction') AS "
        "source, false AS gold, true AS model, each.score AS graded, each.result AS result FROM "
        f"(SELECT *, unnest({listed_as}) AS each FROM ({foretold})) WHERE each.result IS NOT NULL"
    )


def _parts(answers: str) -> str:
    return (
        "SELECT number, instance, answer, source, gold, model, part.type AS type, "
        f"coalesce(part.from_name, '') AS from_name, part.id AS region, {_REGION} AS regional, "
        f"coalesce(part.score, graded, 1) AS score, {_LABELS} AS labels FROM (SELECT *, "
        f"{rows_of('result')} AS part FROM ({answers}))"
    )
