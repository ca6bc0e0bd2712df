"""Zooniverse's classification export: one row per classification, with annotations as JSON."""

from collections.abc import Mapping

from mhpc.read.vote_formats.base import (
    UNSCORED_COLUMNS,
    LongTable,
    VotesInput,
    check_rows,
    choose_controls,
    drop_cells,
    list_sql,
    row_number_sql,
    unnest_labels_sql,
)
from mhpc.system.database import identifier

_REQUIRED = {"classification_id", "user_name", "annotations", "subject_ids"}
_STEP = """'[{"task": "VARCHAR", "value": "JSON"}]'"""

_TEXT = "CAST(value AS VARCHAR)"
_SURVEY = f"starts_with({_TEXT}, '[{{') AND json_type(value, '$[0].choice') = 'VARCHAR'"
_CHOICES = """[item.choice for item in from_json(value, '[{"choice": "VARCHAR"}]')]"""
_LABELS = (
    f"""CASE WHEN {_TEXT} = '""' THEN NULL WHEN starts_with({_TEXT}, '"') THEN [value ->> '$'] """
    f"""WHEN {_TEXT} = '[]' OR starts_with({_TEXT}, '["') THEN from_json(value, '["VARCHAR"]') """
    f"WHEN {_SURVEY} THEN list_distinct({_CHOICES}) END"
)
"""A skipped question has '' or null, which is no answer; [] means that none of many was chosen."""

_IMAGE = r"!\[[^\]]*\]\([^)]*\)"
_WITHOUT_IMAGES = (
    f"[CASE WHEN contains(item, '![') THEN trim(regexp_replace(item, '{_IMAGE}', '', 'g')) "
    "ELSE item END for item in labels]"
)
"""Answers may have a Markdown image before their text, which is not part of the label."""


class Zooniverse:
    """Answers to questions, multiple choices and surveys.

    The instance is ``subject_ids``, the source ``user_name``. Rows made in gold standard mode are
    gold.
    """

    name = "zooniverse"

    def matches(self, votes: VotesInput) -> bool:
        """Look for the columns of the export in the header of a CSV file."""
        if votes.only_file is None or votes.only_file.format != "csv":
            return False
        header = votes.head.lstrip().partition("\n")[0]
        return all(column in header for column in _REQUIRED)

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per label in the answers to the chosen task."""
        _create_answers(votes, columns)
        connection = votes.connection
        tasks = connection.execute(
            "SELECT DISTINCT task FROM answers WHERE labels IS NOT NULL ORDER BY task"
        ).fetchall()
        chosen = choose_controls(votes, [task for (task,) in tasks], columns, what="task")
        connection.execute(
            "CREATE TEMP TABLE votes AS SELECT number, gold, instance, source, "
            f"{unnest_labels_sql('labels')} AS label FROM (SELECT * REPLACE ({_WITHOUT_IMAGES} AS "
            f"labels) FROM answers WHERE labels IS NOT NULL AND task IN {list_sql(chosen)})"
        )
        drop_cells(votes)
        connection.execute("CREATE TEMP VIEW cells AS SELECT * FROM votes WHERE NOT gold")
        connection.execute("CREATE TEMP VIEW gold AS SELECT instance, label FROM votes WHERE gold")
        return LongTable(UNSCORED_COLUMNS, has_gold=True)


def _create_answers(votes: VotesInput, columns: Mapping[str, str]) -> None:
    """Create ``answers``, one per task of a classification; a combined task contains others."""
    gold = "lower(gold_standard) IN ('true', '1')" if "gold_standard" in votes.columns else "false"
    votes.connection.execute(
        f"CREATE TEMP TABLE classifications AS SELECT {row_number_sql(votes)} AS number, "
        f"{identifier(columns.get('instance', 'subject_ids'))} AS instance, "
        f"{identifier(columns.get('source', 'user_name'))} AS source, coalesce({gold}, false) AS "
        f"gold, annotations, TRY(from_json(annotations, {_STEP})) AS steps FROM cells"
    )
    check_rows(
        votes,
        "classifications",
        wrong="steps IS NULL",
        message="'its annotations are not a JSON list: ' || coalesce(annotations[:60], '')",
    )
    kept = "number, instance, source, gold, coalesce(step.task, '') AS task, step.value AS value"
    steps = (
        f"SELECT {kept} FROM (SELECT * EXCLUDE steps, unnest(steps) AS step FROM classifications)"
    )
    inner = (
        f"SELECT {kept} FROM (SELECT * EXCLUDE (task, value), unnest(from_json(value, {_STEP})) AS "
        f"""step FROM ({steps}) WHERE starts_with({_TEXT}, '[{{"task"'))"""
    )
    votes.connection.execute(
        f"CREATE TEMP TABLE answers AS SELECT * EXCLUDE value, {_LABELS} AS labels FROM "
        f"({steps} UNION ALL {inner})"
    )
