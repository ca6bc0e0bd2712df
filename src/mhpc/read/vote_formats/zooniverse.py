"""Zooniverse's classification export: a row a classification, its annotations as JSON.

The instance is ``subject_ids``, the source ``user_name``. Questions, several choices and surveys
are read; rows made in gold standard mode are gold.
"""

from collections.abc import Mapping

from mhpc.read.vote_formats.base import (
    UNGRADED,
    LongTable,
    VotesInput,
    chosen_controls,
    listed,
    numbers,
    refuse,
    remake_cells,
    rows_of,
)
from mhpc.system.database import identifier

_NEEDED = {"classification_id", "user_name", "annotations", "subject_ids"}
_STEP = """'[{"task": "VARCHAR", "value": "JSON"}]'"""

_TEXT = "CAST(value AS VARCHAR)"
_SURVEY = f"starts_with({_TEXT}, '[{{') AND json_type(value, '$[0].choice') = 'VARCHAR'"
_CHOICES = """[each.choice for each in from_json(value, '[{"choice": "VARCHAR"}]')]"""
_LABELS = (
    f"""CASE WHEN {_TEXT} = '""' THEN NULL WHEN starts_with({_TEXT}, '"') THEN [value ->> '$'] """
    f"""WHEN {_TEXT} = '[]' OR starts_with({_TEXT}, '["') THEN from_json(value, '["VARCHAR"]') """
    f"WHEN {_SURVEY} THEN list_distinct({_CHOICES}) END"
)
"""Who leaves a question has '' or null there, no answer; who chooses nothing of many has []."""

_IMAGE = r"!\[[^\]]*\]\([^)]*\)"
_READ = (
    f"[CASE WHEN contains(each, '![') THEN trim(regexp_replace(each, '{_IMAGE}', '', 'g')) "
    "ELSE each END for each in labels]"
)
"""Answers may have a picture in Markdown before their text, which is no part of the label."""


def matches(given: VotesInput) -> bool:
    """Tell whether it is a table with the columns of that export."""
    if given.files and given.files[0].format == "csv" and len(given.files) == 1:
        header = given.head.lstrip().partition("\n")[0]
        return all(column in header for column in _NEEDED)
    return False


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every answer to the chosen task."""
    _answers(given, columns)
    connection = given.connection
    found = connection.execute(
        "SELECT DISTINCT task FROM answers WHERE labels IS NOT NULL ORDER BY task"
    ).fetchall()
    chosen = chosen_controls(given, [task for (task,) in found], columns, what="task")
    connection.execute(
        f"CREATE TEMP TABLE votes AS SELECT number, gold, instance, source, {rows_of('labels')} AS "
        f"label FROM (SELECT * REPLACE ({_READ} AS labels) FROM answers WHERE labels IS NOT NULL "
        f"AND task IN {listed(chosen)})"
    )
    remake_cells(given, None)
    connection.execute("CREATE TEMP VIEW cells AS SELECT * FROM votes WHERE NOT gold")
    connection.execute("CREATE TEMP VIEW gold AS SELECT instance, label FROM votes WHERE gold")
    return LongTable(UNGRADED, gold=True)


def _answers(given: VotesInput, columns: Mapping[str, str]) -> None:
    """Make ``answers``, one a task of a classification; a combined task lists them as its value."""
    gold = "lower(gold_standard) IN ('true', '1')" if "gold_standard" in given.columns else "false"
    given.connection.execute(
        f"CREATE TEMP TABLE classifications AS SELECT {numbers(given)} AS number, "
        f"{identifier(columns.get('instance', 'subject_ids'))} AS instance, "
        f"{identifier(columns.get('source', 'user_name'))} AS source, coalesce({gold}, false) AS "
        f"gold, annotations, TRY(from_json(annotations, {_STEP})) AS steps FROM cells"
    )
    refuse(
        given, "classifications", "steps IS NULL",
        "'its annotations are no JSON list: ' || coalesce(annotations[:60], '')",
    )  # fmt: skip
    told = "number, instance, source, gold, coalesce(step.task, '') AS task, step.value AS value"
    steps = (
        f"SELECT {told} FROM (SELECT * EXCLUDE steps, unnest(steps) AS step FROM classifications)"
    )
    inner = (
        f"SELECT {told} FROM (SELECT * EXCLUDE (task, value), unnest(from_json(value, {_STEP})) AS "
        f"""step FROM ({steps}) WHERE starts_with({_TEXT}, '[{{"task"'))"""
    )
    given.connection.execute(
        f"CREATE TEMP TABLE answers AS SELECT * EXCLUDE value, {_LABELS} AS labels FROM "
        f"({steps} UNION ALL {inner})"
    )
