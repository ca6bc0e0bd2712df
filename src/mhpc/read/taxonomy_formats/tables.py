"""Taxonomies as rows: a table of labels and parents, bare edges, or bare paths."""

import csv
import io
import re
from collections.abc import Iterator

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError, UnreadableError
from mhpc.read.columns import TAXONOMY_ALIASES, Cells, check_not_empty, find_columns, read_cells
from mhpc.read.paths import SEPARATORS, taxonomy_from_paths
from mhpc.read.tables import open_table
from mhpc.read.taxonomy_formats.base import TaxonomyInput

NO_PARENT = ("-1", "0")
"""What tables of numbered labels have in place of the parent of a root."""

SAMPLED_LINES = 50
"""How many lines decide whether a file without a header has edges or paths."""

_DELIMITERS = ("\t", ",", ";", " ")
_COLUMN_NAMES = {name for names in TAXONOMY_ALIASES.values() for name in names}


class TaxonomyTable:
    """Any table with a column of labels: one row per parent, or labels that are paths."""

    name = "table"

    def matches(self, source: TaxonomyInput) -> bool:
        """Accept whatever no other format matches; reading it says what is missing."""
        return True

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of a file, dataframe, mapping of columns or list of rows."""
        with open_table(source.value, name="the taxonomy") as table:
            origin = table.origin
            columns = find_columns(
                table.columns, TAXONOMY_ALIASES, required=("label",), chosen=source.columns,
                origin=origin,
            )  # fmt: skip
            cells = read_cells(table, columns, tuple(columns))
            check_not_empty(cells, "label", origin)
        if "parent" in columns:
            return _taxonomy_from_parents(cells, origin)
        return taxonomy_from_paths(
            cells.index["label"].ids, names=_names_of(cells), separator=source.argument,
            origin=origin,
        )  # fmt: skip


def _taxonomy_from_parents(cells: Cells, origin: str) -> Taxonomy:
    label, parent = cells.position["label"], cells.position["parent"]
    children, parents = cells.index["label"], cells.index["parent"]
    no_parent = {
        parents.positions[id_] for id_ in NO_PARENT if id_ in parents and id_ not in children
    }
    labels = list(children)
    if (parent >= 0).all() and not no_parent:
        # A bare list of edges has no rows for roots: they are the parents that are not children.
        labels += [root for root in parents if root not in children]
    edges = [
        (children[k], parents[p])
        for k, p in zip(label.tolist(), parent.tolist(), strict=True)
        if p >= 0 and p not in no_parent
    ]
    names = _names_of(cells)
    return build_taxonomy(
        labels, edges, names=[names.get(label, label) for label in labels], origin=origin
    )


def _names_of(cells: Cells) -> dict[str, str]:
    """Return the name of every label that has one, the first one if it has several."""
    names: dict[str, str] = {}
    if "name" in cells.index:
        label, name = cells.position["label"].tolist(), cells.position["name"].tolist()
        for k, n in zip(label, name, strict=True):
            if n >= 0:
                names.setdefault(cells.index["label"][k], cells.index["name"][n])
    return names


class BareEdges:
    """Two labels per line without a header, in either order.

    A child usually has one parent while a parent has several children: the column with more
    distinct labels is that of the children, the first column in case of a tie.
    """

    name = "edges"

    def matches(self, source: TaxonomyInput) -> bool:
        """Look for two cells on every line, and for a first line that is not a header."""
        if source.file is None or source.file.format != "csv":
            return False
        lines = _sample_lines(source.head)
        delimiter = _find_delimiter(lines)
        if delimiter is None or len(lines) < 2:
            return False
        first = {cell.strip().strip('"').lower() for cell in lines[0].split(delimiter)}
        return not first.intersection(_COLUMN_NAMES) and len(first) == 2

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all labels on the edges."""
        text = source.read_content().decode("utf-8-sig", errors="replace")
        delimiter = _find_delimiter(_sample_lines(text)) or "\t"
        pairs = []
        for number, cells in _read_rows(text, delimiter, source.origin):
            row = [cell.strip() for cell in cells if cell.strip()]
            if len(row) not in (0, 2):
                raise UnreadableError(
                    f"{source.origin}, line {number:,}: {len(row)} labels where an edge has two"
                )
            if row:
                pairs.append((row[0], row[1]))
        if len({first for first, _ in pairs}) < len({second for _, second in pairs}):
            pairs = [(second, first) for first, second in pairs]
        labels = dict.fromkeys(label for pair in pairs for label in reversed(pair))
        return build_taxonomy(list(labels), pairs, origin=source.origin)


def _sample_lines(text: str) -> list[str]:
    return [line for line in text.splitlines()[:SAMPLED_LINES] if line.strip()]


def _find_delimiter(lines: list[str]) -> str | None:
    return next(
        (
            delimiter
            for delimiter in _DELIMITERS
            if all(_count_cells(line, delimiter) == 2 for line in lines)
        ),
        None,
    )


def _count_cells(line: str, delimiter: str) -> int:
    return len([cell for cell in re.split(re.escape(delimiter), line.strip()) if cell.strip()])


def _read_rows(text: str, delimiter: str, origin: str) -> Iterator[tuple[int, list[str]]]:
    # The csv reader does not accept a lone carriage return, which old files end lines with.
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    try:
        yield from enumerate(reader, start=1)
    except csv.Error as error:
        raise UnreadableError(f"{origin}, line {reader.line_num:,}: not edges: {error}") from None


class BarePaths:
    """One path per line without a header, such as ``20/01/03`` or ``A > B > C``.

    The separator is found automatically unless it is given, as in ``paths=;``.
    """

    name = "paths"

    def matches(self, source: TaxonomyInput) -> bool:
        """Look for paths, and for a first line that is not the name of a column."""
        if source.file is None or source.file.format != "csv":
            return False
        lines = [line.strip() for line in _sample_lines(source.head)]
        if not lines or lines[0].strip('"').lower() in _COLUMN_NAMES:
            return False
        if any("," in line or "\t" in line for line in lines):
            return False
        return any(separator in line for line in lines for separator in SEPARATORS)

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all paths and their prefixes."""
        text = source.read_content().decode("utf-8-sig", errors="replace")
        labels = dict.fromkeys(
            line.strip().strip('"') for line in text.splitlines() if line.strip()
        )
        if not labels:
            raise TaxonomyError(f"{source.origin}: no label in it")
        return taxonomy_from_paths(list(labels), separator=source.argument, origin=source.origin)
