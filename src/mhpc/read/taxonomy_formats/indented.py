"""Outlines: one label per line, indented below its parent, with or without bullets."""

import re

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import TaxonomyError
from mhpc.read.files import split_lines
from mhpc.read.tables import MAX_CELL
from mhpc.read.taxonomy_formats.base import TaxonomyInput
from mhpc.read.taxonomy_formats.headers import is_header
from mhpc.read.taxonomy_formats.trees import TreeBuilder

SAMPLED_LINES = 1_000
"""How many lines decide whether a file is an outline."""

_MAX_LEVELS_OF_COLUMN = 2
"""How many indentations a column of labels may have: that of its header, and that of its cells."""

_LINE = re.compile(r"([ \t\u00a0]*)(?:([-*+\u2022])[ \t]+)?(.*)")


class Indented:
    """One label per line, indented by tabs or spaces below its parent; also lists of Markdown."""

    name = "indented"
    kinds = ("csv",)

    def matches(self, source: TaxonomyInput) -> bool:
        """Look for lines that are indented or have bullets, and that have only one cell."""
        if source.file is None:
            return False
        lines = [line for line in split_lines(source.head)[:SAMPLED_LINES] if line.strip()]
        parsed = [_split_line(line) for line in lines]
        if any("\t" in text for _, _, text in parsed) or _have_cells(lines):
            return False
        n_levels = len({indent for indent, _, _ in parsed})
        cells = re.split("[,;|]", lines[0])
        if is_header(cells) and (len(cells) > 1 or n_levels <= _MAX_LEVELS_OF_COLUMN):
            return False
        has_indents = n_levels > 1 and not parsed[0][0]
        return has_indents or all(bullet for _, bullet, _ in parsed)

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all lines, each below the last line that is indented less."""
        text = source.read_text()
        tree = TreeBuilder()
        path: list[tuple[str, int]] = []
        for number, line in enumerate(split_lines(text), start=1):
            indent, _, label = _split_line(line)
            if not label:
                continue
            place = f"{source.origin}, line {number:,}"
            if len(label) > MAX_CELL:
                raise TaxonomyError(f"{place}: a label of more than {MAX_CELL:,} characters")
            _leave_deeper_levels(path, indent, place)
            path.append((indent, tree.add(path[-1][1] if path else -1, label)))
        return tree.build(source.origin)


def _split_line(line: str) -> tuple[str, str | None, str]:
    """Return the indentation, the bullet and the label of a line."""
    match = _LINE.match(line)
    assert match is not None  # noqa: S101 - every part is optional
    return match[1], match[2], match[3].strip()


def _have_cells(lines: list[str]) -> bool:
    """Return whether all lines have the same number of commas or semicolons, as in a table."""
    return any(
        lines[0].count(mark) and len({line.count(mark) for line in lines}) == 1 for mark in ",;"
    )


def _leave_deeper_levels(path: list[tuple[str, int]], indent: str, place: str) -> None:
    """Remove the nodes that are not above a line with this indentation from the path."""
    level = None
    while path and len(path[-1][0]) >= len(indent):
        level = path.pop()[0]
    is_deeper = level is None and indent.startswith(path[-1][0] if path else "")
    if indent != level and not (is_deeper and (path or not indent)):
        raise TaxonomyError(
            f"{place}: indented like no line above it; use the same tabs or spaces for each level"
        )
