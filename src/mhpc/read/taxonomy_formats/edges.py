"""Bare edges: two labels a line, no header, whichever of them is the parent.

A child has one parent more often than a parent has one child: the column with more different
labels has the children, the first in a tie.
"""

import csv
import io
import re
from collections.abc import Iterator

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import UnreadableError
from mhpc.read.columns import TAXONOMY_ALIASES
from mhpc.read.taxonomy_formats.base import TaxonomyInput, atomic_file

_DELIMITERS = ("\t", ",", ";", " ")
_KNOWN = {name for names in TAXONOMY_ALIASES.values() for name in names}


def matches(told: TaxonomyInput) -> bool:
    """Tell whether every line has two cells, the first ones no names of columns."""
    if told.file is None or told.file.format != "csv":
        return False
    lines = [line for line in told.head.splitlines()[:50] if line.strip()]
    between = _delimiter(lines)
    if between is None or len(lines) < 2:
        return False
    first = {cell.strip().strip('"').lower() for cell in lines[0].split(between)}
    return not first.intersection(_KNOWN) and len(first) == 2


def read(told: TaxonomyInput) -> Taxonomy:
    """Return all labels, with the edges between them."""
    text = atomic_file(told).decode("utf-8-sig", errors="replace")
    between = _delimiter([line for line in text.splitlines()[:50] if line.strip()]) or "\t"
    pairs = []
    for number, cells in _rows(text, between, told.origin):
        row = [cell.strip() for cell in cells if cell.strip()]
        if len(row) not in (0, 2):
            raise UnreadableError(
                f"{told.origin}, line {number:,}: {len(row)} labels where an edge has two"
            )
        if row:
            pairs.append((row[0], row[1]))
    if len({first for first, _ in pairs}) < len({second for _, second in pairs}):
        pairs = [(second, first) for first, second in pairs]
    labels = dict.fromkeys(label for pair in pairs for label in reversed(pair))
    return build_taxonomy(list(labels), pairs, origin=told.origin)


def _rows(text: str, delimiter: str, origin: str) -> Iterator[tuple[int, list[str]]]:
    # The reader takes no carriage return alone, which ended lines once.
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    try:
        yield from enumerate(reader, start=1)
    except csv.Error as error:
        raise UnreadableError(f"{origin}, line {reader.line_num:,}: not edges: {error}") from None


def _delimiter(lines: list[str]) -> str | None:
    return next(
        (each for each in _DELIMITERS if all(_cells(line, each) == 2 for line in lines)), None
    )


def _cells(line: str, delimiter: str) -> int:
    return len([cell for cell in re.split(re.escape(delimiter), line.strip()) if cell.strip()])
