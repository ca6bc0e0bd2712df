"""JSON and XML within safe limits of size and depth.

Files of many JSON objects are loaded into a DuckDB table ``records``, from which formats extract
what they know; DuckDB reads JSON of any depth without recursion. Single documents are parsed in
Python.
"""

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias
from xml.parsers import expat

import duckdb
import numpy as np

from mhpc.errors import DataError, UnreadableError, quote_list
from mhpc.read.files import LocalFile, decode_document
from mhpc.system.database import one_file, reason, text_lines

MAX_RECORD = 1 << 27
"""The longest JSON object to read, in bytes: 128 MiB."""

MAX_DEPTH = 200
"""How deep a document may be nested; the deepest known taxonomies have 40 levels."""

MAX_SEARCHED = 1 << 26
"""The largest damaged file, in bytes, that is read again to find the line with the error."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""The escape sequence of half a character."""

_XML_ENCODINGS = re.compile(
    r"utf-?8|utf-16([bl]e)?|(us-)?ascii|iso[-_]?8859-\d{1,2}|latin-?\d|(windows-|cp)125\d|koi8-[ru]",
    re.IGNORECASE,
)
"""The encodings in which XML is read: those of expat, and common ones of one byte per character."""

_NOT_A_NUMBER = r"(?i)[:,\[]\s*-?(nan|inf)"
"""Where an object may have NaN or -Infinity, which DuckDB reads in any spelling."""

_JSON_TEXT = r'"(\\.|[^"\\])*"'
"""A text in JSON."""

_DECLARATION = re.compile(rb"\s*<\?xml\s.*?\?>", re.DOTALL)

BeginElement: TypeAlias = Callable[[str, dict[str, str]], None]
EndElement: TypeAlias = Callable[[str], None]


def load_lines(
    connection: duckdb.DuckDBPyConnection, file: LocalFile, *, max_record: int = MAX_RECORD
) -> None:
    """Create ``records`` (number, json, keys) from one object per line, numbered by line."""
    # Rows of a table keep their order and have numbers; numbering them here is not parallel.
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE objects AS SELECT line AS json, "
        "CAST(to_json(TRY(json_keys(line))) AS VARCHAR) AS keys "
        f"FROM {text_lines(file.path, file.compression, longest=max_record)}"
    )
    _create_records_view(connection, "WHERE keys IS NOT NULL")
    wrong = connection.execute(
        "SELECT rowid + 1, json FROM objects WHERE (keys IS NULL OR keys = '[]') AND "
        "trim(json) <> '' AND (keys IS NULL OR ltrim(json)[1] <> '{') LIMIT 1"
    ).fetchone()
    if wrong:
        raise UnreadableError(
            f"{file.name}, line {wrong[0]:,}: {quote_list([wrong[1]])} is not a JSON object; "
            "give one per line"
        )
    _check_numbers(connection, f"{file.name}, line")


def load_array(
    connection: duckdb.DuckDBPyConnection, file: LocalFile, *, max_record: int = MAX_RECORD
) -> None:
    """Create ``records`` from the objects of an array, or from one object, numbered from 1."""
    shape = "array" if file.head.lstrip().startswith("[") else "unstructured"
    # This one function of DuckDB 1.4 does not accept "none".
    compression = "uncompressed" if file.compression == "none" else file.compression
    try:
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE objects AS SELECT CAST(json AS VARCHAR) AS json, "
            f"NULL::VARCHAR AS keys FROM read_json_objects({one_file(file.path)}, "
            f"format='{shape}', compression='{compression}', "
            f"maximum_object_size={max_record}, hive_partitioning=false)"
        )
    except (duckdb.Error, UnicodeDecodeError) as error:
        # DuckDB may quote half a character in its message, which then cannot be decoded.
        words = reason(error) if isinstance(error, duckdb.Error) else ": not JSON"
        raise UnreadableError(f"{file.name}{_locate_error(file) or words}") from None
    _create_records_view(connection)
    wrong = connection.execute(
        "SELECT number, json FROM records WHERE ltrim(json)[1] <> '{' LIMIT 1"
    ).fetchone()
    if wrong:
        raise UnreadableError(
            f"{file.name}, record {wrong[0]:,}: {quote_list([wrong[1]])} is not a JSON object"
        )
    _check_numbers(connection, f"{file.name}, record")


def load_mappings(
    connection: duckdb.DuckDBPyConnection, rows: Sequence[Mapping[str, Any]], origin: str
) -> None:
    """Create ``records`` from mappings in memory."""
    try:
        texts = [json.dumps(row, default=str, ensure_ascii=False) for row in rows]
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{origin}: cannot be written as JSON: {error}") from None
    connection.register("texts", {"json": np.array(texts, dtype=object)})
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE objects AS SELECT json, NULL::VARCHAR AS keys FROM texts"
    )
    connection.unregister("texts")
    _create_records_view(connection)


def first_record(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return the first of ``records``, by which formats are recognized; empty if there is none."""
    rows = connection.execute("SELECT json FROM records LIMIT 1").fetchall()
    try:
        record = json.loads(rows[0][0]) if rows else {}
    except (RecursionError, ValueError):
        # No known format nests so deep, or has so long a number, that Python gives up.
        return {}
    return record if isinstance(record, dict) else {}


def count_records(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of ``records``."""
    (count,) = connection.execute("SELECT count(*) FROM records").fetchone() or (0,)
    return int(count)


def unwrap_records(connection: duckdb.DuckDBPyConnection, key: str) -> None:
    """Replace a single record by the objects in the list under one of its keys."""
    path = pointer(key).replace("'", "''")
    connection.execute(
        "CREATE TEMP TABLE unwrapped AS SELECT CAST(unnest(from_json(json_extract(json, "
        f"'{path}'), '[\"JSON\"]')) AS VARCHAR) AS json, NULL::VARCHAR AS keys FROM records"
    )
    connection.execute("CREATE OR REPLACE TEMP TABLE objects AS FROM unwrapped")
    connection.execute("DROP TABLE unwrapped")


def peek_record(file: LocalFile) -> dict[str, Any]:
    """Return the first JSON object in the head of a file; empty if it has none or is too long."""
    if file.format not in ("json", "jsonl"):
        return {}
    start = file.head.find("{")
    try:
        record, _ = json.JSONDecoder().raw_decode(file.head, start) if start >= 0 else ({}, 0)
    except (RecursionError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def keys_of_records(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the keys of all ``records``, in order of first appearance."""
    return list(dict.fromkeys(key for keys, _ in _group_keys(connection) for key in keys))


def find_repeated_key(connection: duckdb.DuckDBPyConnection) -> tuple[int, str] | None:
    """Return the number of the first record that has a key twice, and the key; None if none has."""
    for keys, number in _group_keys(connection):
        if repeated := find_repeated(keys):
            return number, repeated[0]
    return None


def find_repeated(keys: Sequence[str]) -> list[str]:
    """Return the keys that are given more than once."""
    return [key for key, count in Counter(keys).items() if count > 1]


def _group_keys(connection: duckdb.DuckDBPyConnection) -> list[tuple[list[str], int]]:
    """Return the different lists of keys that ``records`` have, each with its first record."""
    rows = connection.execute(
        "SELECT keys, min(number) AS number FROM (SELECT number, coalesce(keys, "
        "CAST(to_json(json_keys(json)) AS VARCHAR)) AS keys FROM records) "
        "GROUP BY keys ORDER BY number"
    ).fetchall()
    return [(json.loads(keys), number) for keys, number in rows]


def pointer(key: str) -> str:
    """Return the JSON pointer to a key of a record."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def load_json(content: bytes, origin: str) -> Any:
    r"""Parse a JSON document in UTF-8, which messages refer to as `origin`.

    Python accepts more than JSON allows: NaN, halves of characters such as ``"\ud800"``, which
    cannot be written to any file, and keys given twice, of which it keeps the last. All are errors
    here.
    """
    text = decode_document(content, origin)
    try:
        document = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            object_pairs_hook=_make_object,
        )
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise UnreadableError(
            f"{origin}, line {error.lineno:,}: not JSON, at character {error.colno:,}: {error.msg}"
        ) from None
    except RecursionError:
        raise too_deep_error(origin) from None
    except UnicodeEncodeError:
        raise UnreadableError(
            f"{origin}: a text in it has half a character, such as \\ud800; write it in full"
        ) from None
    except ValueError as error:
        raise UnreadableError(f"{origin}: not JSON: {error}") from None
    return document


def too_deep_error(origin: str) -> UnreadableError:
    """Return the error that a document is nested too deep."""
    return UnreadableError(f"{origin}: nested deeper than {MAX_DEPTH} levels, which is the limit")


def walk_elements(content: bytes, origin: str, begin: BeginElement, end: EndElement) -> None:
    """Call `begin` and `end` for every element of an XML document without entities."""
    # A byte order mark says more than a declaration, which editors forget to change.
    parser = expat.ParserCreate("utf-8" if content.startswith(codecs.BOM_UTF8) else None)
    depth = 0

    def begin_element(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise UnreadableError(
                f"{origin}, line {parser.CurrentLineNumber:,}: elements nested deeper than "
                f"{MAX_DEPTH}, which is the limit"
            )
        begin(name, attributes)

    def end_element(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name)

    def refuse_entity(*_: object) -> NoReturn:
        raise UnreadableError(
            f"{origin}, line {parser.CurrentLineNumber:,}: XML with entities or references to "
            "other files is not read; write them out"
        )

    def check_encoding(version: str, encoding: str | None, standalone: int) -> None:
        if not is_xml_encoding(encoding):
            raise UnreadableError(
                f"{origin}: XML in the encoding {quote_list([encoding or ''])} is not read; save "
                "the file as UTF-8"
            )

    parser.StartElementHandler, parser.EndElementHandler = begin_element, end_element
    parser.XmlDeclHandler = check_encoding
    parser.EntityDeclHandler = refuse_entity
    parser.UnparsedEntityDeclHandler = refuse_entity
    parser.ExternalEntityRefHandler = refuse_entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        message = expat.errors.messages[error.code]
        raise UnreadableError(f"{origin}, line {error.lineno:,}: not XML: {message}") from None


def is_xml_encoding(encoding: str | None) -> bool:
    """Return whether XML that declares this encoding, or none, can be read.

    Python offers every codec that it has to expat, also those that decode no text (``hex``), or
    more than one byte per character (``shift_jis``), and fails on these in various ways.
    """
    if encoding is None:
        return True
    if not _XML_ENCODINGS.fullmatch(encoding):
        return False
    try:
        codecs.lookup(encoding)
    except LookupError:
        return False
    return True


def check_entities(content: bytes, origin: str) -> bytes:
    """Return XML for another library, in its true encoding; raise an error for entities."""
    walk_elements(content, origin, lambda name, attributes: None, lambda name: None)
    if content.startswith(codecs.BOM_UTF8):
        return _DECLARATION.sub(b"", content.removeprefix(codecs.BOM_UTF8))
    return content


def _create_records_view(connection: duckdb.DuckDBPyConnection, where: str = "") -> None:
    connection.execute(
        "CREATE OR REPLACE TEMP VIEW records AS SELECT rowid + 1 AS number, json, keys "
        f"FROM objects {where}"
    )


def _check_numbers(connection: duckdb.DuckDBPyConnection, place: str) -> None:
    """Raise an error for NaN and infinity, which would become ids; `place` comes before numbers.

    Texts are left out of the few records that have such a word after a comma or the like.
    """
    wrong = connection.execute(
        "SELECT number, regexp_extract(bare, $word || '[a-z]*') FROM (SELECT number, "
        "regexp_replace(json, $text, '', 'gs') AS bare FROM records "
        "WHERE regexp_matches(json, $word)) WHERE regexp_matches(bare, $word) LIMIT 1",
        {"word": _NOT_A_NUMBER, "text": _JSON_TEXT},
    ).fetchone()
    if wrong:
        word = wrong[1][1:].strip()
        raise UnreadableError(
            f"{place} {wrong[0]:,}: {word} is not a number in JSON; write null for a missing value"
        )


def _locate_error(file: LocalFile, *, max_searched: int = MAX_SEARCHED) -> str:
    """Return the line where JSON is wrong: DuckDB counts bytes, people count lines."""
    if file.compression != "none" or file.path.stat().st_size > max_searched:
        return ""
    try:
        json.loads(file.path.read_bytes())
    except json.JSONDecodeError as error:
        return f", line {error.lineno:,}: not JSON, at character {error.colno:,}: {error.msg}"
    except (ValueError, RecursionError):
        return ""
    return ""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        repeated = find_repeated([key for key, _ in pairs])
        raise ValueError(f"key {quote_list(repeated)} is given twice")
    return made


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number
