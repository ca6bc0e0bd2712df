"""Long tables: instance, source, label and, if sources are graded, score.

A cell may hold several labels: as a list, as crowd-kit has it, or as the text of a JSON list.
"""

from collections.abc import Mapping

from mhpc.errors import UnreadableError
from mhpc.read.columns import ALIASES, find_columns
from mhpc.read.tables import Table, text_of
from mhpc.read.vote_formats.base import (
    CANONICAL,
    LongTable,
    VotesInput,
    numbers,
    remake_cells,
    rows_of,
)
from mhpc.system.database import identifier


def matches(given: VotesInput) -> bool:
    """Take whatever no other format does; what is missing is said when it is read."""
    return True


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Take the table as it is, but for cells with several labels."""
    if len(given.files) > 1:
        raise UnreadableError(
            f"{given.origin} is a directory; give a file in it, or a folder of Parquet files, or "
            "of one file a source in a format that has the source in the file's name"
        )
    found = find_columns(
        given.columns, ALIASES, required=("instance", "source", "label"), chosen=columns,
        origin=given.origin, cure="rename one, or say which is meant with --column ROLE=NAME",
    )  # fmt: skip
    table = Table(given.connection, given.columns, given.origin)
    if not _has_lists(table, found["label"]):
        return LongTable(found, numbered=False)
    _spread(given, table, found)
    return LongTable({role: role for role in CANONICAL if role in found})


def _has_lists(table: Table, column: str) -> bool:
    name = identifier(column)
    if str(table.connection.table("cells").select(name).types[0]).endswith("[]"):
        return True
    text = f"CAST({name} AS VARCHAR)"
    first = table.connection.execute(
        f"SELECT {text} FROM cells WHERE {text} <> '' LIMIT 1"
    ).fetchall()
    if not first or not first[0][0].startswith("["):
        return False
    # A label may begin with a bracket, but hardly every one is a JSON list.
    odd = f"{text} <> '' AND coalesce(json_type(TRY_CAST({text} AS JSON)), '') <> 'ARRAY'"
    return not table.connection.execute(f"SELECT 1 FROM cells WHERE {odd} LIMIT 1").fetchall()


def _spread(given: VotesInput, table: Table, found: Mapping[str, str]) -> None:
    """Make a row of every label of a list."""
    connection = table.connection
    kept = ", ".join(
        f"{text_of(table, found[role])} AS {role}"
        for role in ("instance", "source", "score")
        if role in found
    )
    name = identifier(found["label"])
    native = str(connection.table("cells").select(name).types[0]).endswith("[]")
    labels = f"CAST({name} AS VARCHAR[])" if native else f"""from_json({name}, '["VARCHAR"]')"""
    score = ", score" if "score" in found else ""
    remake_cells(
        given,
        f"SELECT number, instance, source, {rows_of('labels')} AS label{score} FROM (SELECT "
        f"{numbers(given)} AS number, {kept}, {labels} AS labels FROM cells)",
    )
