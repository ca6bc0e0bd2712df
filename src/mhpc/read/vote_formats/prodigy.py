"""Prodigy's JSON Lines: an answer a line, to a choice or to one label.

The instance is ``_input_hash``, the source ``_annotator_id`` or ``_session_id``. Lines that were
ignored say nothing. A rejected choice is an answer without a label; a rejected label is that
label with the score 0.
"""

from collections.abc import Mapping

from mhpc.read.archives import source_name
from mhpc.read.vote_formats.base import CANONICAL, LongTable, VotesInput, field, refuse, rows_of
from mhpc.system.database import literal


def matches(given: VotesInput) -> bool:
    """Tell whether the first record has an answer and a hash."""
    return {"answer", "_input_hash"} <= given.first.keys() or {
        "answer", "_task_hash",
    } <= given.first.keys()  # fmt: skip


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every accepted label."""
    given.require_records("prodigy")
    who = source_name(given.files[0]) if given.files else "prodigy"
    source = field("json", columns["source"]) if "source" in columns else _WHO
    instance = field("json", columns["instance"]) if "instance" in columns else "said._input_hash"
    given.connection.execute(
        f"CREATE TEMP TABLE answers AS SELECT number, {instance} AS instance, "
        f"coalesce({source}, {literal(who)}) AS source, said.answer AS answer, said.label AS "
        "asked, said.accept IS NOT NULL AS choice, said.accept AS accepted FROM (SELECT number, "
        f"json, from_json(json, {literal(_LINE)}) AS said FROM records)"
    )
    refuse(
        given, "answers", "coalesce(answer, '') NOT IN ('accept', 'reject', 'ignore')",
        "'answer ' || coalesce('''' || answer || '''', 'is missing') || "
        "'; it is accept, reject or ignore'",
    )  # fmt: skip
    refuse(
        given, "answers", "answer <> 'ignore' AND NOT choice AND asked IS NULL",
        "'neither a list ''accept'' nor a ''label''; give lines of a choice or of one label'",
    )  # fmt: skip
    given.connection.execute(
        "CREATE TEMP TABLE cells AS SELECT number, instance, source, CASE WHEN choice THEN "
        "label ELSE asked END AS label, CASE WHEN choice OR answer = 'accept' THEN 1.0 ELSE 0.0 "
        f"END AS score FROM (SELECT *, {rows_of(_KEPT)} AS label FROM answers "
        "WHERE answer <> 'ignore')"
    )
    return LongTable(CANONICAL)


_LINE = """{"_input_hash": "VARCHAR", "_annotator_id": "VARCHAR", "_session_id": "VARCHAR",
"answer": "VARCHAR", "label": "VARCHAR", "accept": ["VARCHAR"]}"""
_WHO = "coalesce(said._annotator_id, said._session_id)"
_KEPT = "(CASE WHEN choice AND answer = 'accept' THEN accepted END)"
