"""Records: JSON objects, a line each, in one array, or in memory, as a relation of JSON in DuckDB.

Nothing here nests: DuckDB reads JSON of any depth without a stack, and formats take out of it
what they know.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np

from mhpc.errors import DataError, UnreadableError, quoted
from mhpc.read.files import LocalFile
from mhpc.read.sql import one_file, reason, text_lines

MAX_RECORD = 1 << 27
"""Bytes of the longest object that is read: 128 MiB."""

_LOOKED_THROUGH = 1 << 26
"""Bytes of a damaged file that is read once more to say where it is."""


def load_lines(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> None:
    """Make ``records`` (number, json, keys) of an object a line, whose number is the line's."""
    # Rows of a table keep their order and have numbers; to number them here would take turns.
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE objects AS SELECT line AS json, "
        "CAST(to_json(TRY(json_keys(line))) AS VARCHAR) AS keys "
        f"FROM {text_lines(file.path, file.compression, longest=MAX_RECORD)}"
    )
    _view_records(connection, "WHERE keys IS NOT NULL")
    wrong = connection.execute(
        "SELECT rowid + 1, json FROM objects WHERE (keys IS NULL OR keys = '[]') AND "
        "trim(json) <> '' AND (keys IS NULL OR ltrim(json)[1] <> '{') LIMIT 1"
    ).fetchone()
    if wrong:
        raise UnreadableError(
            f"{file.name}, line {wrong[0]:,}: {quoted([wrong[1]])} is not a JSON object; "
            "give one a line"
        )


def load_array(connection: duckdb.DuckDBPyConnection, file: LocalFile) -> None:
    """Make ``records`` of the objects of one array, or of one object; they count from 1."""
    shape = "array" if file.head.lstrip().startswith("[") else "unstructured"
    # This one function of DuckDB 1.4 knows no "none".
    packed = "uncompressed" if file.compression == "none" else file.compression
    try:
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE objects AS SELECT CAST(json AS VARCHAR) AS json, "
            f"NULL::VARCHAR AS keys FROM read_json_objects({one_file(file.path)}, "
            f"format='{shape}', compression='{packed}', "
            f"maximum_object_size={MAX_RECORD}, hive_partitioning=false)"
        )
    except duckdb.Error as error:
        raise UnreadableError(f"{file.name}{_where_wrong(file) or reason(error)}") from None
    _view_records(connection)
    wrong = connection.execute(
        "SELECT number, json FROM records WHERE ltrim(json)[1] <> '{' LIMIT 1"
    ).fetchone()
    if wrong:
        raise UnreadableError(
            f"{file.name}, record {wrong[0]:,}: {quoted([wrong[1]])} is not a JSON object"
        )


def _view_records(connection: duckdb.DuckDBPyConnection, where: str = "") -> None:
    connection.execute(
        "CREATE OR REPLACE TEMP VIEW records AS SELECT rowid + 1 AS number, json, keys "
        f"FROM objects {where}"
    )


def _where_wrong(file: LocalFile) -> str:
    """Return the line where JSON goes wrong: DuckDB counts bytes of values, people lines."""
    if file.compression != "none" or file.path.stat().st_size > _LOOKED_THROUGH:
        return ""
    try:
        json.loads(file.path.read_bytes())
    except json.JSONDecodeError as error:
        return f", line {error.lineno:,}: not JSON, at character {error.colno:,}: {error.msg}"
    except (ValueError, RecursionError):
        return ""
    return ""


def load_mappings(
    connection: duckdb.DuckDBPyConnection, rows: Sequence[Mapping[str, Any]], origin: str
) -> None:
    """Make ``records`` of mappings in memory."""
    try:
        texts = [json.dumps(row, default=str, ensure_ascii=False) for row in rows]
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{origin}: cannot be written as JSON: {error}") from None
    connection.register("texts", {"json": np.array(texts, dtype=object)})
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE objects AS SELECT json, NULL::VARCHAR AS keys FROM texts"
    )
    connection.unregister("texts")
    _view_records(connection)


def first_record(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return the first of ``records`` to look at; nothing if there is none."""
    found = connection.execute("SELECT json FROM records LIMIT 1").fetchall()
    try:
        record = json.loads(found[0][0]) if found else {}
    except (RecursionError, ValueError):
        # What nests so deep, or has so long a number, that Python gives up is no shape we know.
        return {}
    return record if isinstance(record, dict) else {}


def keys_of_records(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the keys that records have, in order of first appearance."""
    found = connection.execute(
        "SELECT keys FROM (SELECT number, coalesce(keys, CAST(to_json(json_keys(json)) AS VARCHAR))"
        " AS keys FROM records) GROUP BY keys ORDER BY min(number)"
    ).fetchall()
    return list(dict.fromkeys(key for (keys,) in found for key in json.loads(keys)))


def pointer(key: str) -> str:
    """Return the JSON pointer to a key of a record."""
    return "/" + key.replace("~", "~0").replace("/", "~1")
