"""Label Studio's exports: JSON with annotations and predictions, and JSON-MIN or CSV."""

from collections.abc import Mapping

from mhpc.data.decision import INSTANCE_FIELD, RESULT_PREFIX
from mhpc.read.vote_formats.base import (
    UNSCORED_COLUMNS,
    LongTable,
    VotesInput,
    check_rows,
    choose_controls,
    columns_of_cells,
    field_sql,
    list_sql,
    path_sql,
    replace_cells,
    row_number_sql,
    unnest_labels_sql,
)
from mhpc.system.database import identifier, literal

_RESULT = """{"id": "VARCHAR", "type": "VARCHAR", "from_name": "VARCHAR", "score": "DOUBLE",
"value": {"taxonomy": [["VARCHAR"]], "choices": ["VARCHAR"], "start": "VARCHAR", "x": "VARCHAR",
"points": "VARCHAR", "startOffset": "VARCHAR", "ranges": "VARCHAR"}}"""
_ANNOTATION = f"""{{"completed_by": "JSON", "was_cancelled": "BOOLEAN", "skipped": "BOOLEAN",
"ground_truth": "BOOLEAN", "result": [{_RESULT}]}}"""
_PREDICTION = f"""{{"model_version": "VARCHAR", "score": "DOUBLE", "result": [{_RESULT}]}}"""
_ANNOTATED_TASK = (
    f"""{{"id": "VARCHAR", "annotations": [{_ANNOTATION}], "completions": [{_ANNOTATION}]}}"""
)
_PREDICTED_TASK = f"""{{"id": "VARCHAR", "predictions": [{_PREDICTION}],
"annotations": [{{"prediction": {_PREDICTION}}}]}}"""

_ANNOTATOR = (
    "CASE json_type(item.completed_by) WHEN 'OBJECT' THEN "
    "coalesce(item.completed_by ->> 'email', item.completed_by ->> 'id') "
    "ELSE item.completed_by ->> '$' END"
)
_IS_REGION = (
    "coalesce(part.value.start, part.value.x, part.value.points, part.value.startOffset, "
    "part.value.ranges) IS NOT NULL"
)
_RESULT_LABELS = (
    "CASE part.type WHEN 'choices' THEN part.value.choices WHEN 'taxonomy' THEN "
    f"list_transform(part.value.taxonomy, lambda path: {path_sql('path')}) END"
)
_HAS_LABELS = "type IN ('taxonomy', 'choices')"


class LabelStudio:
    """The JSON export: tasks with annotations, and model predictions beside them.

    The instance is the task, or a region of the task if the control labels regions; for tasks that
    mhpc wrote, it is the instance of the votes. The source is the person who completed the
    annotation, or the version of the model. Cancelled annotations are not answers; those marked as
    ground truth are gold. The results of mhpc that people reviewed are not votes.
    """

    name = "label-studio"

    def matches(self, votes: VotesInput) -> bool:
        """Look for a task in the first record."""
        record = votes.first_record
        return isinstance(record.get("data"), dict) and any(
            isinstance(record.get(key), list)
            for key in ("annotations", "completions", "predictions")
        )

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label of every annotation and prediction."""
        votes.require_records(self.name)
        _create_results(votes, columns)
        connection = votes.connection
        is_chosen = f"{_HAS_LABELS} AND from_name IN {list_sql(_choose_controls(votes, columns))}"
        # A person who annotated a whole task and gave no result means "none of these"; a model may
        # know only other controls.
        connection.execute(
            "CREATE TEMP TABLE empty_answers AS SELECT number, gold, source, instance, "
            "1.0::DOUBLE AS score, []::VARCHAR[] AS labels FROM results WHERE NOT model "
            "GROUP BY number, gold, source, instance, answer "
            f"HAVING count(*) FILTER ({is_chosen}) = 0 AND NOT "
            f"(SELECT coalesce(bool_or(regional), false) FROM results WHERE {is_chosen})"
        )
        connection.execute(
            "CREATE TEMP TABLE votes AS SELECT number, gold, instance, source, "
            f"{unnest_labels_sql('labels')} AS label, score FROM (SELECT number, gold, source, "
            "CASE WHEN regional THEN instance || '/' || region ELSE instance END AS instance, "
            f"score, labels FROM results WHERE {is_chosen} UNION ALL BY NAME FROM empty_answers)"
        )
        connection.execute("CREATE TEMP VIEW cells AS SELECT * FROM votes WHERE NOT gold")
        connection.execute("CREATE TEMP VIEW gold AS SELECT instance, label FROM votes WHERE gold")
        return LongTable(columns_of_cells(votes), has_gold=True, models=_list_models(votes))


def _choose_controls(votes: VotesInput, columns: Mapping[str, str]) -> list[str]:
    """Return the controls to read; a single taxonomy takes precedence over choices."""
    controls = votes.connection.execute(
        f"SELECT type, from_name FROM results WHERE {_HAS_LABELS} GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    taxonomies = [name for kind, name in controls if kind == "taxonomy"]
    if len(taxonomies) == 1 and "label" not in columns:
        return taxonomies
    return choose_controls(votes, [name for _, name in controls], columns, what="control")


def _create_results(votes: VotesInput, columns: Mapping[str, str]) -> None:
    """Create ``results``: one row per control of an answer, or one if an answer has no result."""
    field = columns.get("instance")
    data = "json -> 'data'"
    written = f"nullif({field_sql(data, INSTANCE_FIELD)}, '')"
    instance = field_sql(data, field) if field else f"coalesce({written}, task.id)"
    task = "SELECT number, {} AS instance, task FROM (SELECT number, json, from_json(json, {}) AS "
    annotated = task.format(instance, literal(_ANNOTATED_TASK)) + "task FROM records)"
    predicted = task.format(instance, literal(_PREDICTED_TASK)) + (
        "task FROM records WHERE json LIKE '%\"model_version\"%')"
    )
    annotations = _annotations_sql(annotated, "coalesce(task.annotations, task.completions)")
    predictions = _predictions_sql(predicted, "task.predictions")
    shown_predictions = _predictions_sql(
        predicted, "[item.prediction for item in task.annotations]"
    )
    votes.connection.execute(
        f"CREATE TEMP TABLE results AS {_results_sql(annotations)} UNION ALL "
        f"{_results_sql(predictions)} UNION ALL SELECT DISTINCT * FROM "
        f"({_results_sql(shown_predictions)})"
    )
    # Their own result would count once more for what the sources said.
    votes.connection.execute(
        f"DELETE FROM results WHERE model AND starts_with(source, {literal(RESULT_PREFIX)}) "
        "AND EXISTS (SELECT 1 FROM results WHERE NOT model)"
    )
    missing = f"field {field!r} in its data" if field else "id"
    check_rows(
        votes,
        "results",
        wrong="instance IS NULL",
        message=literal(f"the task has no {missing}"),
    )
    votes.connection.execute(
        "CREATE TEMP TABLE unanswered AS SELECT number, json FROM records ANTI JOIN results "
        "USING (number)"
    )
    check_rows(
        votes,
        "unanswered",
        wrong="json_type(json, '$.annotations') NOT IN ('ARRAY', 'NULL')",
        message="'its annotations are not a list'",
    )


def _list_models(votes: VotesInput) -> tuple[str, ...]:
    rows = votes.connection.execute(
        "SELECT DISTINCT source FROM results WHERE model ORDER BY source"
    ).fetchall()
    return tuple(source for (source,) in rows)


def _annotations_sql(tasks: str, annotations: str) -> str:
    return (
        f"SELECT number, instance, answer, {_ANNOTATOR} AS source, "
        "coalesce(item.ground_truth, false) AS gold, false AS model, NULL::DOUBLE AS graded, "
        "item.result AS result FROM (SELECT *, "
        f"unnest({annotations}) AS item, unnest(range(len({annotations}))) AS answer "
        f"FROM ({tasks})) WHERE NOT coalesce(item.was_cancelled, item.skipped, false)"
    )


def _predictions_sql(tasks: str, predictions: str) -> str:
    """Return SQL for predictions, without those of which only the id was exported."""
    return (
        "SELECT number, instance, 0 AS answer, coalesce(item.model_version, 'prediction') AS "
        "source, false AS gold, true AS model, item.score AS graded, item.result AS result FROM "
        f"(SELECT *, unnest({predictions}) AS item FROM ({tasks})) WHERE item.result IS NOT NULL"
    )


def _results_sql(answers: str) -> str:
    return (
        "SELECT number, instance, answer, source, gold, model, part.type AS type, "
        f"coalesce(part.from_name, '') AS from_name, part.id AS region, {_IS_REGION} AS regional, "
        f"coalesce(part.score, graded, 1) AS score, {_RESULT_LABELS} AS labels FROM (SELECT *, "
        f"{unnest_labels_sql('result')} AS part FROM ({answers}))"
    )


_TASK_COLUMNS = {
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement",
    INSTANCE_FIELD,
}  # fmt: skip

_CELL_SHAPE = """{"taxonomy": [["VARCHAR"]], "choices": ["VARCHAR"]}"""
_LABELS_OF_ITEM = (
    f"lambda item: coalesce(list_transform(item.taxonomy, lambda path: {path_sql('path')}), "
    "item.choices, [])"
)
_CELL_LABELS = (
    "CASE WHEN coalesce(cell, '') = '' THEN [] WHEN cell[1] NOT IN ('[', '{') THEN [cell] "
    "ELSE coalesce(CASE WHEN cell[1] = '{' THEN flatten(list_transform([TRY(from_json(cell, "
    f"'{_CELL_SHAPE}'))], {_LABELS_OF_ITEM})) WHEN ltrim(cell[2:])[1] = '\"' THEN "
    """TRY(from_json(cell, '["VARCHAR"]')) ELSE flatten(list_transform(TRY(from_json(cell, """
    f"'[{_CELL_SHAPE}]')), {_LABELS_OF_ITEM})) END, [cell]) END"
)
"""The labels in a cell: a JSON list of results, one result, or one choice as plain text."""


class LabelStudioMin:
    """The JSON-MIN and CSV exports: one record per annotation, with one field per control.

    The instance is the id of the task, or that of the votes for tasks that mhpc wrote; the source
    is the annotator. These exports contain neither predictions nor skipped tasks.
    """

    name = "label-studio-min"

    def matches(self, votes: VotesInput) -> bool:
        """Look for an annotator and the id of an annotation."""
        if votes.only_file is not None and votes.only_file.format == "csv":
            header = votes.head.lstrip().partition("\n")[0]
            return "annotation_id" in header and "annotator" in header
        return {"annotator", "annotation_id"} <= votes.first_record.keys()

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label of an annotation."""
        candidates = [column for column in votes.columns if column not in _TASK_COLUMNS]
        if "label" not in columns:
            candidates = _find_control_columns(votes, candidates)
        controls = choose_controls(votes, candidates, columns, what="control")
        instance = _instance_sql(votes, columns.get("instance"))
        selected = (
            f"{row_number_sql(votes)} AS number, {instance} AS instance, "
            "CAST(annotator AS VARCHAR) AS source"
        )
        # A task that nobody annotated is a row as well.
        is_annotated = "nullif(CAST(annotation_id AS VARCHAR), '') IS NOT NULL"
        rows = " UNION ALL ".join(
            f"SELECT number, instance, source, {unnest_labels_sql('labels')} AS label FROM "
            f"(SELECT *, {_CELL_LABELS} AS labels FROM (SELECT {selected}, "
            f"CAST({identifier(control)} AS VARCHAR) AS cell FROM cells WHERE {is_annotated}))"
            for control in controls
        )
        replace_cells(votes, rows)
        return LongTable(UNSCORED_COLUMNS)


def _instance_sql(votes: VotesInput, column: str | None) -> str:
    if column is not None or INSTANCE_FIELD not in votes.columns:
        return f"CAST({identifier(column or 'id')} AS VARCHAR)"
    written = f"nullif(CAST({identifier(INSTANCE_FIELD)} AS VARCHAR), '')"
    return f"coalesce({written}, CAST(id AS VARCHAR))"


def _find_control_columns(votes: VotesInput, columns: list[str]) -> list[str]:
    """Return the columns with results in their cells, or else those where results usually are.

    A single taxonomy takes precedence over choices.
    """
    taxonomies = [column for column in columns if _has_results(votes, column, "taxonomy")]
    if len(taxonomies) == 1:
        return taxonomies
    choices = [column for column in columns if _has_results(votes, column, "choices")]
    return list(dict.fromkeys([*taxonomies, *choices])) or _columns_after_data(votes, columns)


def _has_results(votes: VotesInput, column: str, control: str) -> bool:
    cell = f"CAST({identifier(column)} AS VARCHAR)"
    beginning = literal(rf'^\[?\s*\{{\s*"{control}"')
    row = votes.connection.execute(
        f"SELECT 1 FROM cells WHERE {cell}[1] IN ('[', '{{') "
        f"AND regexp_matches({cell}, {beginning}) LIMIT 1"
    ).fetchone()
    return row is not None


def _columns_after_data(votes: VotesInput, columns: list[str]) -> list[str]:
    """Return the columns after the data of the task, where single choices are plain text."""
    if not votes.has_records:
        return columns
    keys = votes.connection.execute(
        "SELECT DISTINCT key FROM (SELECT json_keys(json) AS keys, unnest(json_keys(json)) AS key "
        "FROM records) WHERE list_position(keys, key) > list_position(keys, 'id') AND "
        "list_position(keys, key) < list_position(keys, 'annotator') ORDER BY key"
    ).fetchall()
    return [key for (key,) in keys if key in columns]
