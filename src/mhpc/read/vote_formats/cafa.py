"""CAFA predictions: ``target term score`` without a header, one file a source.

The file's name is the source. Lines that name the author, the model and the keywords, and END,
may stand around.
"""

import re
from collections.abc import Mapping

import duckdb

from mhpc.errors import UnreadableError
from mhpc.read.archives import source_name
from mhpc.read.files import LocalFile
from mhpc.read.vote_formats.base import CANONICAL, EACH, LongTable, VotesInput, listed, refuse
from mhpc.system.database import literal, one_file, reason

_FRAME = ("AUTHOR", "MODEL", "KEYWORDS", "ACCURACY", "END")
_LINE = re.compile(r"\S+[\t ]\S+[\t ]+[01]?\.?\d*([eE]-?\d+)?\s*")


def matches(given: VotesInput) -> bool:
    """Tell whether the first line is a target, a term and a score, or AUTHOR."""
    lines = [line for line in given.head.splitlines()[:20] if line.strip()]
    if not lines or any(file.format != "csv" for file in given.files):
        return False
    if lines[0].startswith("AUTHOR\t") or lines[0].startswith("AUTHOR "):
        return True
    return bool(_LINE.fullmatch(lines[0]))


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every line."""
    given.require_files("cafa")
    parts = []
    for at, file in enumerate(given.files):
        try:
            given.connection.execute(f"CREATE TEMP TABLE part_{at} AS FROM {_cells(file)}")
        except duckdb.Error as error:
            raise UnreadableError(f"{file.name}{reason(error)}") from None
        parts.append(
            f"SELECT {at * EACH + 1} + rowid AS number, target AS instance, "
            f"{literal(source_name(file))} AS source, term AS label, score FROM part_{at}"
        )
    framed = f"regexp_extract(instance, '^[A-Z]+') IN {listed(_FRAME)}"
    given.connection.execute(
        f"CREATE TEMP TABLE cells AS SELECT * FROM ({' UNION ALL '.join(parts)}) "
        f"WHERE CASE WHEN score IS NOT NULL THEN true ELSE NOT {framed} END"
    )
    refuse(
        given, "cells", "label IS NULL OR score IS NULL",
        "'''' || coalesce(instance, '') || coalesce(' ' || label, '') || ''' is not target, term "
        "and score'",
    )  # fmt: skip
    return LongTable(CANONICAL)


def _cells(file: LocalFile) -> str:
    """Return SQL for the lines of a file in three cells, of which some may be missing."""
    between = "\\t" if "\t" in file.head else " "
    return (
        f"read_csv({one_file(file.path)}, auto_detect=false, header=false, delim='{between}', "
        f"quote='', escape='', compression='{file.compression}', null_padding=true, "
        "hive_partitioning=false, columns={'target': 'VARCHAR', 'term': 'VARCHAR', 'score': "
        "'DOUBLE'})"
    )
