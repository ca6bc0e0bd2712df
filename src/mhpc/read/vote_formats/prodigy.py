"""Prodigy's JSON Lines: one answer per line, to a choice or to a single label."""

from collections.abc import Mapping

from mhpc.read.archives import source_name
from mhpc.read.vote_formats.base import (
    UNSCORED_COLUMNS,
    LongTable,
    VotesInput,
    check_rows,
    field_sql,
    unnest_labels_sql,
)
from mhpc.system.database import literal

_SHAPE = """{"_input_hash": "VARCHAR", "_annotator_id": "VARCHAR", "_session_id": "VARCHAR",
"answer": "VARCHAR", "label": "VARCHAR", "accept": ["VARCHAR"]}"""
_ANNOTATOR = "coalesce(line._annotator_id, line._session_id)"
_ACCEPTED = "(CASE WHEN choice AND answer = 'accept' THEN accepted END)"


class Prodigy:
    """What ``prodigy db-out`` writes.

    The instance is ``_input_hash``, the source ``_annotator_id`` or ``_session_id``. Ignored lines
    are not answers. A rejected choice is an answer without a label; a rejected label is a negative
    vote for that label.
    """

    name = "prodigy"
    kinds = ("json", "jsonl")

    def matches(self, votes: VotesInput) -> bool:
        """Look for an answer and a hash in the first record."""
        keys = votes.first_record.keys()
        return "answer" in keys and bool(keys & {"_input_hash", "_task_hash"})

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per accepted label."""
        votes.require_records(self.name)
        default_source = source_name(votes.files[0]) if votes.files else "prodigy"
        source, instance = _ANNOTATOR, "line._input_hash"
        if "source" in columns:
            source = field_sql("json", columns["source"])
        if "instance" in columns:
            instance = field_sql("json", columns["instance"])
        votes.connection.execute(
            f"CREATE TEMP TABLE answers AS SELECT number, {instance} AS instance, "
            f"coalesce({source}, {literal(default_source)}) AS source, line.answer AS answer, "
            "line.label AS single, line.accept IS NOT NULL AS choice, line.accept AS accepted "
            f"FROM (SELECT number, json, from_json(json, {literal(_SHAPE)}) AS line FROM records)"
        )
        check_rows(
            votes,
            "answers",
            wrong="coalesce(answer, '') NOT IN ('accept', 'reject', 'ignore')",
            message="'answer ' || coalesce('''' || answer || '''', 'is missing') || "
            "'; it must be accept, reject or ignore'",
        )
        check_rows(
            votes,
            "answers",
            wrong="answer <> 'ignore' AND NOT choice AND single IS NULL",
            message="'neither a list ''accept'' nor a ''label''; give answers to a choice or to a "
            "single label'",
        )
        votes.connection.execute(
            "CREATE TEMP TABLE cells AS SELECT number, instance, source, CASE WHEN choice THEN "
            "label ELSE single END AS label, NOT choice AND answer = 'reject' AS negative "
            f"FROM (SELECT *, {unnest_labels_sql(_ACCEPTED)} AS label FROM answers "
            "WHERE answer <> 'ignore')"
        )
        return LongTable({**UNSCORED_COLUMNS, "negative": "negative"})
