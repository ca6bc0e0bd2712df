"""JSON records, JSON and XML within limits.

Nothing here nests: DuckDB reads JSON of any depth without a stack, and formats take out of it
what they know.

Python takes more than JSON has: NaN, halves of characters. A text with half a character in it,
as ``"\ud800"`` is, cannot be put into any file.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn
from xml.parsers import expat

import duckdb
import numpy as np

from mhpc.errors import DataError, UnreadableError, quote_list
from mhpc.read.files import LocalFile
from mhpc.system.database import one_file, reason, text_lines

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
            f"{file.name}, line {wrong[0]:,}: {quote_list([wrong[1]])} is not a JSON object; "
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
            f"{file.name}, record {wrong[0]:,}: {quote_list([wrong[1]])} is not a JSON object"
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


MAX_DEPTH = 200
"""Levels that a nested document may have; the deepest taxonomies known have 40."""

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""How half a character begins where JSON spells it out."""


def load_json(content: bytes, origin: str) -> Any:
    """Return what JSON in UTF-8 says; `origin` is what messages call it."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(
            f"{origin}, line {line:,}: byte 0x{content[error.start]:02x} is not UTF-8; save the "
            "file as UTF-8"
        ) from None
    try:
        found = json.loads(text, parse_constant=_check_constant, parse_float=_number)
        if _HALF.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise UnreadableError(
            f"{origin}, line {error.lineno:,}: not JSON, at character {error.colno:,}: {error.msg}"
        ) from None
    except RecursionError:
        raise too_deep(origin) from None
    except UnicodeEncodeError:
        raise UnreadableError(
            f"{origin}: a text in it has half a character, such as \\ud800; write it in full"
        ) from None
    except ValueError as error:
        raise UnreadableError(f"{origin}: not JSON: {error}") from None
    return found


def too_deep(origin: str) -> UnreadableError:
    """Return the error that something nests deeper than anything should."""
    return UnreadableError(
        f"{origin}: nested deeper than {MAX_DEPTH} levels, the most there may be"
    )


def _check_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


Begin = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]


def walk_elements(content: bytes, origin: str, begin: Begin, end: End) -> None:
    """Tell of every element as it begins and ends; what is not plain XML is refused."""
    parser = expat.ParserCreate()
    depth = 0

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise UnreadableError(
                f"{origin}, line {parser.CurrentLineNumber:,}: elements nested deeper than "
                f"{MAX_DEPTH}, the most there may be"
            )
        begin(name, attributes)

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name)

    def refused(*_: object) -> NoReturn:
        raise UnreadableError(
            f"{origin}, line {parser.CurrentLineNumber:,}: XML with entities or references to "
            "other files is not read; write them out"
        )

    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    parser.EntityDeclHandler = refused
    parser.UnparsedEntityDeclHandler = refused
    parser.ExternalEntityRefHandler = refused
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        said = expat.errors.messages[error.code]
        raise UnreadableError(f"{origin}, line {error.lineno:,}: not XML: {said}") from None


def check_entities(content: bytes, origin: str) -> None:
    """Look through XML that another library is going to read."""
    walk_elements(content, origin, lambda name, attributes: None, lambda name: None)
