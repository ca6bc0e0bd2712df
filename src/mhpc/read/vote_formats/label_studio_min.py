"""Label Studio's JSON-MIN and CSV exports: a record an annotation, its results by control.

The instance is the task's id, the source the annotator. Predictions and skipped tasks are not in
these exports.
"""

from collections.abc import Mapping

from mhpc.read.vote_formats.base import (
    UNGRADED,
    LongTable,
    VotesInput,
    chosen_controls,
    numbers,
    path_of,
    remake_cells,
    rows_of,
)
from mhpc.system.database import identifier, literal

_RESERVED = {
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement",
}  # fmt: skip


def matches(given: VotesInput) -> bool:
    """Tell whether records or rows have an annotator and the id of an annotation."""
    if given.files and given.files[0].format == "csv" and len(given.files) == 1:
        header = given.head.lstrip().partition("\n")[0]
        return "annotation_id" in header and "annotator" in header
    return {"annotator", "annotation_id"} <= given.first.keys()


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every label of an annotation."""
    cells = [column for column in given.columns if column not in _RESERVED]
    word = columns.get("label")
    controls = chosen_controls(
        given, cells if word else _controls(given, cells), columns, what="control"
    )
    said = (
        f"{numbers(given)} AS number, CAST({identifier(columns.get('instance', 'id'))} AS VARCHAR) "
        "AS instance, CAST(annotator AS VARCHAR) AS source"
    )
    # A task that nobody annotated is a row of its own.
    annotated = "nullif(CAST(annotation_id AS VARCHAR), '') IS NOT NULL"
    votes = " UNION ALL ".join(
        f"SELECT number, instance, source, {rows_of('labels')} AS label FROM (SELECT *, {_LABELS} "
        f"AS labels FROM (SELECT {said}, CAST({identifier(control)} AS VARCHAR) AS cell "
        f"FROM cells WHERE {annotated}))"
        for control in controls
    )
    remake_cells(given, votes)
    return LongTable(UNGRADED)


def _controls(given: VotesInput, columns: list[str]) -> list[str]:
    """Return the columns whose cells look like results, or else stand where they do.

    The only taxonomy goes before any choices.
    """
    taxonomies = [column for column in columns if _looks(given, column, "taxonomy")]
    if len(taxonomies) == 1:
        return taxonomies
    found = [*taxonomies, *(column for column in columns if _looks(given, column, "choices"))]
    return list(dict.fromkeys(found)) or _between(given, columns)


def _looks(given: VotesInput, column: str, kind: str) -> bool:
    cell = f"CAST({identifier(column)} AS VARCHAR)"
    begins = literal(rf'^\[?\s*\{{\s*"{kind}"')
    found = given.connection.execute(
        f"SELECT 1 FROM cells WHERE {cell}[1] IN ('[', '{{') AND regexp_matches({cell}, {begins}) "
        "LIMIT 1"
    )
    return found.fetchone() is not None


def _between(given: VotesInput, columns: list[str]) -> list[str]:
    """Return the columns after the task's data, where single choices stand as plain text."""
    if not given.has_records:
        return columns
    found = given.connection.execute(
        "SELECT DISTINCT key FROM (SELECT json_keys(json) AS keys, unnest(json_keys(json)) AS key "
        "FROM records) WHERE list_position(keys, key) > list_position(keys, 'id') AND "
        "list_position(keys, key) < list_position(keys, 'annotator') ORDER BY key"
    ).fetchall()
    return [key for (key,) in found if key in columns]


_SHAPE = """{"taxonomy": [["VARCHAR"]], "choices": ["VARCHAR"]}"""
_GIVEN = (
    f"lambda each: coalesce(list_transform(each.taxonomy, lambda path: {path_of('path')}), "
    "each.choices, [])"
)
_LABELS = (
    "CASE WHEN coalesce(cell, '') = '' THEN [] WHEN cell[1] NOT IN ('[', '{') THEN [cell] "
    "ELSE coalesce(CASE WHEN cell[1] = '{' THEN flatten(list_transform([TRY(from_json(cell, "
    f"'{_SHAPE}'))], {_GIVEN})) WHEN ltrim(cell[2:])[1] = '\"' THEN "
    """TRY(from_json(cell, '["VARCHAR"]')) ELSE flatten(list_transform(TRY(from_json(cell, """
    f"'[{_SHAPE}]')), {_GIVEN})) END, [cell]) END"
)
"""The labels in a cell: a JSON list of results, one result, or one choice as it is."""
