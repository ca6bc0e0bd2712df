"""One matrix a source: a row an instance, a column a label, as CheXpert's files have it.

The file's name is the source. Columns may come in another order in every file, and a source may
lack some of them: it cannot speak about those, nor about labels it always leaves blank.
"""

import re
from collections.abc import Mapping

from mhpc.errors import MissingColumnError, quote_list
from mhpc.read.archives import source_name
from mhpc.read.columns import ALIASES, find_columns
from mhpc.read.files import LocalFile
from mhpc.read.tables import csv_columns, load_table
from mhpc.read.vote_formats.base import CANONICAL, EACH, LongTable, VotesInput, remake_cells
from mhpc.read.vote_formats.indicators import (
    check_other_columns,
    indicator_columns,
    load_scores,
    long_rows,
    told_labels,
)
from mhpc.read.vote_formats.wide import WIDE_ALIASES
from mhpc.system.database import identifier, literal

_INSTANCE = (*WIDE_ALIASES["instance"], "study", "path", "image", "filename", "file")


def matches(given: VotesInput) -> bool:
    """Tell whether there are tables without a source and a label, but with indicators."""
    if not given.files or any(file.format not in ("csv", "parquet") for file in given.files):
        return False
    if len(given.files) > 1:
        return not any(_names_roles(file) for file in given.files)
    if given.files[0].format != "csv":
        return False
    present = {column.strip().lower() for column in given.names}
    if present.intersection((*ALIASES["label"], *WIDE_ALIASES["source"])):
        return False
    others = _others(given.names, {})
    return bool(indicator_columns(given.connection, given.files[0], others))


def read(given: VotesInput, columns: Mapping[str, str]) -> LongTable:
    """Make a row of every label that a matrix marks."""
    given.require_files("matrices")
    scope: dict[str, tuple[str, ...]] = {}
    for at, file in enumerate(given.files):
        labels = _matrix(given, file, columns)
        numbered = f"(SELECT {at * EACH + 1} + rowid AS number, * FROM matrix)"
        check_other_columns(given, numbered, labels)
        scope[source_name(file)] = tuple(told_labels(given, "matrix", labels))
        make = "INSERT INTO votes" if at else "CREATE TEMP TABLE votes AS"
        given.connection.execute(f"{make} {long_rows(numbered, labels)}")
    remake_cells(given, None)
    given.connection.execute("CREATE TEMP VIEW cells AS SELECT * FROM votes")
    everything = set().union(*scope.values())
    alike = all(len(labels) == len(everything) for labels in scope.values())
    return LongTable(CANONICAL, scope="all" if alike else scope)


def _names_roles(file: LocalFile) -> bool:
    """Tell whether a header names a label or a parent, and so is of another kind of table."""
    header = next((line for line in file.head.splitlines() if line.strip()), "")
    names = {name.strip().strip('"').lower() for name in re.split(r"[,;\t|]", header)}
    return bool(names.intersection((*ALIASES["label"], "parent", "parentid")))


def _matrix(given: VotesInput, file: LocalFile, columns: Mapping[str, str]) -> list[str]:
    """Make ``matrix`` of one file, and return the columns of labels."""
    if file.format == "csv":
        present = tuple(csv_columns(file))
    else:
        remake_cells(given, None)
        present = tuple(load_table(given.connection, file, file.name))
    chosen = {role: name for role, name in columns.items() if role == "instance"}
    labels = indicator_columns(given.connection, file, _others(present, chosen))
    if not labels:
        raise MissingColumnError(
            f"{file.name}: no column of 0, 1 or scores for a label; it has {quote_list(present)}"
        )
    said = (
        f"CAST({identifier(_instance(present, chosen))} AS VARCHAR) AS instance, "
        f"{literal(source_name(file))} AS source"
    )
    load_scores(given.connection, file, "matrix", said, labels)
    return labels


def _instance(present: tuple[str, ...], chosen: Mapping[str, str]) -> str:
    """Return the column of instances: one whose name tells, or the first."""
    found = find_columns(
        present, {"instance": _INSTANCE}, required=(), chosen=chosen, origin="the matrix"
    )
    return found.get("instance", present[0])


def _others(present: tuple[str, ...], chosen: Mapping[str, str]) -> list[str]:
    taken = _instance(present, chosen)
    return [column for column in present if column != taken]
