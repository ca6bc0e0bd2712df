"""Taxonomies as rows: a table of labels and parents, bare edges, or bare paths."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mhpc.data.exclusive import group_exclusive
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.taxonomy import PATH_SEPARATOR, Taxonomy, build_taxonomy, connect_labels
from mhpc.errors import TaxonomyError, UnreadableError, option, quote_list
from mhpc.numerics.arrays import IntArray
from mhpc.numerics.hash_table import NOT_FOUND, HashArray, HashTable, build_hash_table
from mhpc.read.columns import (
    ALIASES,
    TAXONOMY_ALIASES,
    Cells,
    check_not_empty,
    find_columns,
    normalize_name,
    read_cells,
)
from mhpc.read.files import split_lines
from mhpc.read.paths import SEPARATORS, find_separator, taxonomy_from_paths
from mhpc.read.tables import MAX_CELL, Table, open_table, store_cells, text_sql
from mhpc.read.taxonomy_formats.base import TaxonomyInput
from mhpc.read.taxonomy_formats.headers import COLUMN_NAMES, is_header
from mhpc.read.taxonomy_formats.levels import ID_NAMES

NO_PARENT = ("-1", "0")
"""What tables of numbered labels have in place of the parent of a root."""

SAMPLED_LINES = 50
"""How many lines decide whether a file without a header has edges or paths."""

N_VOTE_NAMES = 9
"""So many of the names of instances and sources occur in no taxonomy."""

CHOOSE_COLUMN = option("taxonomy_columns", {"ROLE": "NAME"})
"""What messages advise where a column is not found."""

_DELIMITERS = ("\t", ",", ";", " ")
_TEXT_NAMES = {"category", "concept", "taxon", "term", "topic", "subcategory"}
_LABEL_NAMES = [normalize_name(name) for name in TAXONOMY_ALIASES["label"]]


class TaxonomyTable:
    """Any table with a column of labels: one row per parent, or labels that are paths."""

    name = "table"

    def matches(self, source: TaxonomyInput) -> bool:
        """Accept whatever no other format matches; reading it says what is missing."""
        return True

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of a file, dataframe, mapping of columns or list of rows."""
        with open_table(source.value, name=source.origin, lazy=True) as table:
            origin = table.origin
            columns = _find_roles(table, source.columns)
            if not source.columns and "parent" not in columns:
                _refuse_votes(table)
            if "parent" in columns and "exclusive" not in columns:
                taxonomy = _read_one_row_per_label(table, columns)
                if taxonomy is not None:
                    return taxonomy
            store_cells(table)
            cells = read_cells(table, columns, tuple(columns))
            check_not_empty(cells, "label", origin)
        if "parent" in columns:
            return _taxonomy_from_parents(cells, origin)
        taxonomy = taxonomy_from_paths(
            cells.index["label"].ids, names=_names_of(cells), separator=source.argument,
            origin=origin,
        )  # fmt: skip
        return _with_exclusive_paths(taxonomy, cells)


def _refuse_votes(table: Table) -> None:
    """Refuse a table of votes, whose labels would be a taxonomy without a hierarchy."""
    votes = find_columns(
        table.columns, {role: ALIASES[role][:N_VOTE_NAMES] for role in ("instance", "source")},
        required=(), origin=table.origin,
    )  # fmt: skip
    if len(votes) == 2:
        raise TaxonomyError(
            f"{table.origin}: columns {quote_list(list(votes.values()))} are those of votes, not "
            "of a taxonomy; are the two files swapped?"
        )


def _cure(columns: Sequence[str]) -> str:
    """Return what would help if there is no column of labels."""
    if len(columns) > 1:
        return f"rename one, or choose it with {CHOOSE_COLUMN}"
    lines = option("taxonomy_format", "paths")
    return f"choose it with {CHOOSE_COLUMN}, or give {lines} if its first line is a label"


def _find_roles(table: Table, chosen: Mapping[str, str] | None) -> dict[str, str]:
    """Return the columns of labels, parents and names, and of further names, as ``key``.

    Of an id and a text, the id is the label and the text its name, unless the text is in a column
    ``label``. Parents may be given by either.
    """
    present = [column for column in table.columns if column not in (chosen or {}).values()]
    columns = find_columns(table.columns, TAXONOMY_ALIASES, required=(), chosen=chosen,
                           origin=table.origin)  # fmt: skip
    if "label" not in columns and "name" in columns:
        columns["label"] = columns.pop("name")
    if "label" not in columns:
        find_columns(table.columns, TAXONOMY_ALIASES, required=("label",), chosen=chosen,
                     origin=table.origin,
                     cure=_cure(table.columns))  # fmt: skip
    spare = {normalize_name(column): column for column in present if column not in columns.values()}
    others = [spare[name] for name in _LABEL_NAMES if name in spare]
    texts = [column for column in others if normalize_name(column) in _TEXT_NAMES]
    if texts and normalize_name(columns["label"]) in ID_NAMES and "name" not in columns:
        columns["name"] = texts[0]
        others.remove(texts[0])
    if others and "parent" in columns:
        columns["key"] = others[0]
    return columns


def _read_one_row_per_label(table: Table, columns: Mapping[str, str]) -> Taxonomy | None:
    """Read a table with one row per label in a single query; return None for any other table.

    Labels whose hashes differ are different, so the texts need not be compared. Tables with errors
    are left to the slower way, which can say where they are.
    """
    text = {role: f"nullif({text_sql(table, name)}, '')" for role, name in columns.items()}
    name_sql = f", {text['name']} AS name" if "name" in text else ""
    rows = table.connection.execute(
        f"SELECT {text['label']} AS label, hash({text['label']}) AS label_hash, "
        f"hash({text['parent']}) AS parent_hash{name_sql} FROM cells"
    ).fetchnumpy()
    hashes = build_hash_table(rows["label_hash"])
    if not len(hashes.hashes) or np.ma.is_masked(rows["label"]) or hashes.has_duplicates:
        return None
    parent = _locate_parents(table, hashes, rows["parent_hash"])
    if parent is None:
        return None
    labels = np.ma.getdata(rows["label"])
    index = Index.of_distinct(tuple(labels.tolist()))
    names = _fill_names(rows["name"], labels) if "name" in rows else None
    if max(index.max_length, max(map(len, names or ()), default=0)) > MAX_CELL:
        return None
    child = np.flatnonzero(parent != NOT_FOUND)
    return connect_labels(index, child, parent[child], names=names, origin=table.origin)


def _locate_parents(table: Table, labels: HashTable, parent: HashArray) -> IntArray | None:
    """Return the position of the parent in each row, or None if one that is given is no label.

    The hash of a parent that is a label is that of no other label. Any other hash is, among a
    million labels, that of one of them by chance in 1 of 10^13 cases.
    """
    no_parent = table.connection.execute(
        "SELECT hash(unnest([NULL::VARCHAR, ?, ?])) AS hash", NO_PARENT
    ).fetchnumpy()["hash"]
    position = labels.locate(parent)
    is_unknown = ~np.isin(parent[position == NOT_FOUND], no_parent)
    return None if is_unknown.any() else position


def _fill_names(names: npt.NDArray[np.object_], labels: npt.NDArray[np.object_]) -> list[str]:
    """Return the names, with labels in place of those that are missing."""
    filled: list[str] = np.where(np.ma.getmaskarray(names), labels, np.ma.getdata(names)).tolist()
    return filled


def _taxonomy_from_parents(cells: Cells, origin: str) -> Taxonomy:
    label, parent = cells.position["label"], cells.position["parent"]
    children, parents = cells.index["label"], cells.index["parent"]
    position = children.locate(parents)
    _locate_by_name(cells, position)
    others = np.flatnonzero(position == UNKNOWN)
    no_parent = [p for p in others.tolist() if parents[p] in NO_PARENT]
    index = children
    if (parent >= 0).all() and not no_parent:
        # A bare list of edges has no rows for roots: they are the parents that are not children.
        index = Index.of_distinct((*children, *(parents[p] for p in others.tolist())))
        position[others] = np.arange(len(children), len(index))
    edge = np.flatnonzero((parent >= 0) & ~np.isin(parent, no_parent))
    child_of_edge, parent_of_edge = label[edge], position[parent[edge]]
    known_names = _names_of(cells)
    names = [known_names.get(id_, id_) for id_ in index] if known_names else None
    if (parent_of_edge == UNKNOWN).any():
        # This finds the edge, and raises the error.
        ids = [(children[label[e]], parents[parent[e]]) for e in edge.tolist()]
        return build_taxonomy(index.ids, ids, names=names, origin=origin)
    taxonomy = connect_labels(index, child_of_edge, parent_of_edge, names=names, origin=origin)
    parent_of_row = np.full(cells.rows, UNKNOWN)
    parent_of_row[edge] = parent_of_edge
    return _with_exclusive(taxonomy, label, parent_of_row, _exclusive_values(cells))


def _with_exclusive_paths(taxonomy: Taxonomy, cells: Cells) -> Taxonomy:
    """Return the taxonomy with its groups of labels that exclude each other, from rows of paths."""
    label = taxonomy.labels.locate(cells.index["label"])[cells.position["label"]]
    first_parent = [int(next(iter(taxonomy.parents_of(k)), UNKNOWN)) for k in label.tolist()]
    return _with_exclusive(taxonomy, label, np.array(first_parent), _exclusive_values(cells))


def _with_exclusive(
    taxonomy: Taxonomy, label: IntArray, parent: IntArray, values: Sequence[str | None]
) -> Taxonomy:
    if not values:
        return taxonomy
    groups = group_exclusive(label.tolist(), parent.tolist(), values)
    return replace(taxonomy, exclusive=groups)


def _exclusive_values(cells: Cells) -> list[str | None]:
    """Return the cell of every row in the column `exclusive`; nothing if there is none."""
    if "exclusive" not in cells.index:
        return []
    values = (*cells.index["exclusive"].ids, None)
    return [values[at] for at in cells.position["exclusive"].tolist()]


def _locate_by_name(cells: Cells, position: IntArray) -> None:
    """Find the labels of parents that are given by a unique name, or by another id."""
    for role in ("name", "key"):
        if role not in cells.index:
            continue
        label, name = cells.position["label"], cells.position[role]
        pairs = set(zip(name.tolist(), label.tolist(), strict=True))
        counts = np.bincount([n for n, _ in pairs if n >= 0], minlength=len(cells.index[role]))
        label_of = {cells.index[role][n]: k for n, k in pairs if n >= 0 and counts[n] == 1}
        for parent in np.flatnonzero(position == UNKNOWN).tolist():
            id_ = cells.index["parent"][parent]
            if id_ not in NO_PARENT:
                position[parent] = label_of.get(id_, UNKNOWN)


def _names_of(cells: Cells) -> dict[str, str]:
    """Return the name of every label that has one, the first one if it has several."""
    if "name" not in cells.index:
        return {}
    row = np.flatnonzero(cells.position["name"] >= 0)
    label, first = np.unique(cells.position["label"][row], return_index=True)
    name = cells.position["name"][row[first]]
    return {
        cells.index["label"][k]: cells.index["name"][n]
        for k, n in zip(label.tolist(), name.tolist(), strict=True)
    }


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
        if delimiter == " " and any(re.search(r"(^|\s)\W+(\s|$)", line) for line in lines):
            # Bullets and headings, not labels.
            return False
        first = {normalize_name(cell.strip().strip('"')) for cell in lines[0].split(delimiter)}
        return first.isdisjoint(COLUMN_NAMES) and len(first) == 2

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all labels on the edges."""
        text = source.read_text()
        delimiter = _find_delimiter(_sample_lines(text)) or "\t"
        pairs = []
        for number, cells in _read_rows(text, delimiter, source.origin):
            row = [cell.strip() for cell in cells if cell.strip()]
            if len(row) not in (0, 2):
                raise UnreadableError(
                    f"{source.origin}, line {number:,}: {len(row)} labels where an edge has two"
                )
            if row and not (number == 1 and is_header(row)):
                pairs.append((row[0], row[1]))
        if len({first for first, _ in pairs}) < len({second for _, second in pairs}):
            pairs = [(second, first) for first, second in pairs]
        labels = dict.fromkeys(label for pair in pairs for label in reversed(pair))
        return build_taxonomy(list(labels), pairs, origin=source.origin)


def _sample_lines(text: str) -> list[str]:
    return [line for line in split_lines(text)[:SAMPLED_LINES] if line.strip()]


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
        lines = [line.strip() for line in _sample_lines(source.head) if not _is_comment(line)]
        if not lines or any("\t" in line for line in lines):
            return False
        if any(normalize_name(cell.strip('"')) in COLUMN_NAMES for cell in lines[0].split(",")):
            return False
        if any("," in line for line in lines):
            # Names may contain commas where the separator is unmistakable.
            return sum(PATH_SEPARATOR in line for line in lines) > len(lines) / 2
        return any(separator in line for line in lines for separator in SEPARATORS)

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all paths and their prefixes."""
        text = source.read_text()
        lines = [line.strip().strip('"') for line in split_lines(text) if line.strip()]
        if lines and _is_comment(lines[0]):
            del lines[0]
        labels = list(dict.fromkeys(lines))
        separator = source.argument or find_separator(labels)
        if labels and is_header(labels[0].split(separator)):
            del labels[0]
        if not labels:
            raise TaxonomyError(f"{source.origin}: no label in it")
        return taxonomy_from_paths(labels, separator=separator, origin=source.origin)


def _is_comment(line: str) -> bool:
    """Return whether a line is like the first one of Google's product taxonomy."""
    return line.startswith("# ")
