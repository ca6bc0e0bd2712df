"""CAFA predictions: ``target term score`` without a header, one file per source."""

import re
from collections.abc import Mapping

import duckdb

from mhpc.errors import UnreadableError
from mhpc.read.archives import source_name
from mhpc.read.files import LocalFile, split_lines
from mhpc.read.vote_formats.base import (
    ROWS_PER_FILE,
    SCORED_COLUMNS,
    LongTable,
    VotesInput,
    check_rows,
    list_sql,
)
from mhpc.system.database import literal, one_file, reason

_KEYWORDS = ("AUTHOR", "MODEL", "KEYWORDS", "ACCURACY", "END")
_LINE = re.compile(r"\S+[\t ]\S+[\t ]+[01]?\.?\d*([eE]-?\d+)?\s*")


class Cafa:
    """Predictions as the CAFA challenge collects them.

    The file is named after the source. Lines that name the author, the model and the keywords, and
    END, are skipped.
    """

    name = "cafa"
    reads_several = True

    def matches(self, votes: VotesInput) -> bool:
        """Look for a target, a term and a score, or AUTHOR, on the first line of every file."""
        return bool(votes.files) and all(map(_is_cafa, votes.files))

    def read(self, votes: VotesInput, columns: Mapping[str, str]) -> LongTable:
        """Make one row per line."""
        votes.require_files(self.name)
        parts = []
        for number, file in enumerate(votes.files):
            try:
                votes.connection.execute(
                    f"CREATE TEMP TABLE part_{number} AS FROM {_lines_sql(file)}"
                )
            except duckdb.Error as error:
                raise UnreadableError(f"{file.name}{reason(error)}") from None
            parts.append(
                f"SELECT {number * ROWS_PER_FILE + 1} + rowid AS number, target AS instance, "
                f"{literal(source_name(file))} AS source, term AS label, score FROM part_{number}"
            )
        is_keyword = f"regexp_extract(instance, '^[A-Z]+') IN {list_sql(_KEYWORDS)}"
        votes.connection.execute(
            f"CREATE TEMP TABLE cells AS SELECT * FROM ({' UNION ALL '.join(parts)}) "
            f"WHERE CASE WHEN score IS NOT NULL THEN true ELSE NOT {is_keyword} END"
        )
        check_rows(
            votes,
            "cells",
            wrong="label IS NULL OR score IS NULL",
            message="'''' || coalesce(instance, '') || coalesce(' ' || label, '') || "
            "''' is not target, term and score'",
        )
        return LongTable(SCORED_COLUMNS)


def _is_cafa(file: LocalFile) -> bool:
    first = next((line for line in split_lines(file.head)[:20] if line.strip()), "")
    if file.format != "csv":
        return False
    return first.startswith(("AUTHOR\t", "AUTHOR ")) or bool(_LINE.fullmatch(first))


def _lines_sql(file: LocalFile) -> str:
    """Return SQL for the lines of a file as three cells, of which some may be missing."""
    delimiter = "\\t" if "\t" in file.head else " "
    return (
        f"read_csv({one_file(file.path)}, auto_detect=false, header=false, delim='{delimiter}', "
        f"quote='', escape='', compression='{file.compression}', null_padding=true, "
        "hive_partitioning=false, columns={'target': 'VARCHAR', 'term': 'VARCHAR', 'score': "
        "'DOUBLE'})"
    )
