"""Tables without a header, where their shape leaves no doubt: CAFA's truth, triples of votes.

The first line is taken for a row only if it looks like one: none of its cells is the usual name of
a column, and in some column it repeats a later cell, or has digits in the same places as the cells
below it. No header does.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from mhpc.read.columns import ALIASES, TAXONOMY_ALIASES, normalize_name
from mhpc.read.files import LocalFile
from mhpc.read.tables import csv_columns, csv_sample

ROLES_BY_WIDTH = {
    3: ("instance", "source", "label"),
    4: ("instance", "source", "label", "score"),
}
"""The roles of the columns of votes without a header, in the order in which they are written."""

ROLES_OF_ONE_SOURCE = {2: ("instance", "label"), 3: ("instance", "label", "score")}
"""The same for tables that have no column of sources, such as a truth."""

_KNOWN_NAMES = {
    normalize_name(name)
    for names in (*ALIASES.values(), *TAXONOMY_ALIASES.values(), ("rank", "negative"))
    for name in names
}

_MIN_SHARE = 0.9
"""The share of cells that must have the form of the first one."""


def name_columns(file: LocalFile, *, one_source: bool = False) -> LocalFile:
    """Return a CSV file with names for its columns if it has no header; any other as it is.

    Parameters
    ----------
    file : LocalFile
        Any file.
    one_source : bool
        Whether all rows are of one source, so that no column names it.
    """
    if file.format != "csv" or file.names:
        return file
    first = csv_columns(file, check=False)
    roles = _find_roles(first, one_source=one_source)
    if roles is None or _KNOWN_NAMES.intersection(map(normalize_name, first)):
        return file
    rows = [row for row in csv_sample(file) if len(row) == len(first)]
    return replace(file, names=roles) if _is_row(first, rows) else file


def _find_roles(first: Sequence[str], *, one_source: bool) -> tuple[str, ...] | None:
    has_score = _is_score(first[-1])
    candidates = [ROLES_OF_ONE_SOURCE] if one_source else []
    for roles_by_width in (*candidates, ROLES_BY_WIDTH):
        roles = roles_by_width.get(len(first))
        if roles and has_score == ("score" in roles):
            return roles
    return None


def _is_row(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    return any(
        _continues(cell, [row[column] for row in rows])
        for column, cell in enumerate(first)
        if cell.strip()
    )


def _continues(cell: str, below: Sequence[str]) -> bool:
    """Return whether a cell is one more of those below it."""
    filled = [other for other in below if other.strip()]
    if cell in filled:
        return True
    if not filled or not re.search(r"\d", cell):
        return False
    form = _form(cell)
    return sum(_form(other) == form for other in filled) >= _MIN_SHARE * len(filled)


def _form(cell: str) -> str:
    """Return what ids of one kind have in common: ``GO:0005515`` is ``A:0``."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "A", cell.strip()))


def _is_score(cell: str) -> bool:
    try:
        return 0 <= float(cell) <= 1
    except ValueError:
        return False
