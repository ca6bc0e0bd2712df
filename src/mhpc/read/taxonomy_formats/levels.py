"""Tables with one column per level: ``level1, level2, level3``, and one row per path."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import MhpcError, MissingColumnError, TaxonomyError, quote_list, suggest
from mhpc.read.columns import TAXONOMY_ALIASES, no_rows_error, normalize_name
from mhpc.read.files import LocalFile
from mhpc.read.tables import MAX_CELL, Table, csv_columns, open_table, texts_sql
from mhpc.read.taxonomy_formats.base import TaxonomyInput
from mhpc.read.taxonomy_formats.trees import TreeBuilder

MIN_LEVELS = 2
"""How many columns of levels a table has at least if they are recognized by their names."""

ID_NAMES = frozenset(
    normalize_name(name)
    for name in TAXONOMY_ALIASES["label"]
    if re.search(r"(^|_)(id|code)$", name)
)
"""Names of a column that identifies the label of a row, in normal form."""

RANKS = (
    "domain", "superkingdom", "kingdom", "subkingdom", "phylum", "division", "subphylum", "class",
    "subclass", "infraclass", "superorder", "order", "suborder", "infraorder", "superfamily",
    "family", "subfamily", "tribe", "genus", "subgenus", "species", "subspecies", "variety",
)  # fmt: skip
"""The ranks of living beings, from the highest to the lowest."""

_LEVEL = re.compile(
    r"(?:category|cat|class|label|topic|taxonomy|hierarchy|product)?"
    r"(?:level|lvl|l|tier|category|cat|class|topic|group|label|rank|depth)0*(\d{1,3})"
    r"(?:name|label|category)?"
)
"""The name of the column of a level, in normal form."""

_PARENTS = {normalize_name(name) for name in TAXONOMY_ALIASES["parent"]}
_MAX_SUB = 4


class Levels:
    """One column per level and one row per path from a root downwards.

    A path ends before the blanks at the end of its row. Blanks at the beginning of a row mean the
    same as in the row above it, as in an outline. A column with an id or a code holds that of the
    last level of the row. ``levels=Group,Kind`` names the columns.
    """

    name = "levels"

    def matches(self, source: TaxonomyInput) -> bool:
        """Look for names of levels in the header, and for no parents."""
        try:
            return bool(find_levels(_read_header(source.value)))
        except MhpcError:
            return False

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all paths."""
        with open_table(source.value, name=source.origin) as table:
            levels = _choose_levels(table, source.argument)
            others = [column for column in table.columns if column not in levels]
            id_column = next((c for c in others if normalize_name(c) in ID_NAMES), None)
            selected = [*levels, *([id_column] if id_column else [])]
            cells = ", ".join(f"coalesce(trim({text}), '')" for text in texts_sql(table, selected))
            rows = table.connection.execute(f"SELECT {cells} FROM cells").fetchall()
        if not rows:
            raise no_rows_error(source.origin)
        tree = TreeBuilder()
        above: tuple[str, ...] = ()
        for number, row in enumerate(rows, start=1):
            place = f"{source.origin}: row {number:,}"
            above = _complete_path(row[: len(levels)], above, place)
            id_ = row[-1] if id_column and any(row[: len(levels)]) else ""
            _add_path(tree, above, id_, place)
        return tree.build(source.origin)


def find_levels(header: Sequence[str]) -> list[str]:
    """Return the columns of levels, from the highest to the lowest; none if there are parents."""
    by_name = {normalize_name(column): column for column in reversed(header)}
    if not _PARENTS.isdisjoint(by_name):
        return []
    candidates = (_find_numbered(by_name), _find_ranks(header), _find_subdivisions(by_name))
    return next((levels for levels in candidates if len(levels) >= MIN_LEVELS), [])


def _find_numbered(by_name: Mapping[str, str]) -> list[str]:
    """Return ``level1, level2, …``, counted from 0 or 1 without a gap."""
    numbered = {
        int(match[1]): column
        for name, column in by_name.items()
        if (match := _LEVEL.fullmatch(name))
    }
    numbers = sorted(numbered)
    if not numbers or numbers[0] > 1 or numbers[-1] - numbers[0] >= len(numbers):
        return []
    return [numbered[number] for number in numbers]


def _find_ranks(header: Sequence[str]) -> list[str]:
    """Return ``kingdom, phylum, …``, if they are in this order."""
    names = {column: normalize_name(column) for column in header}
    ranks = {column: RANKS.index(name) for column, name in names.items() if name in RANKS}
    return list(ranks) if list(ranks.values()) == sorted(ranks.values()) else []


def _find_subdivisions(by_name: Mapping[str, str]) -> list[str]:
    """Return ``category, subcategory, subsubcategory`` or the same of another word."""
    longest: list[str] = []
    for name in by_name:
        word = name.removeprefix("main")
        names = takewhile(by_name.__contains__, ("sub" * n + word for n in range(1, _MAX_SUB)))
        longest = max(longest, [by_name[name], *(by_name[sub] for sub in names)], key=len)
    return longest


def _read_header(value: Any) -> list[str]:
    """Return the names of the columns without loading a large file; none if it is no table."""
    if isinstance(value, LocalFile):
        if value.format == "csv":
            return csv_columns(value)
        if value.format in ("json", "jsonl"):
            return _keys_of_first_object(value.head)
        if value.format not in ("parquet", "arrow"):
            return []
        with open_table(value) as table:
            return list(table.columns)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        value = value[0]
    try:
        if hasattr(value, "collect_schema"):
            # A lazy frame warns if it is asked for its columns.
            return list(value.collect_schema().names())
        names = value if isinstance(value, Mapping) else getattr(value, "columns", ())
        return [str(name) for name in names]
    except Exception:  # noqa: BLE001 - what computes it may fail; reading it says why
        return []


def _keys_of_first_object(head: str) -> list[str]:
    start = head.lstrip()
    first_object = start[1:].lstrip() if start.startswith("[") else start
    try:
        row, _ = json.JSONDecoder().raw_decode(first_object)
    except (ValueError, RecursionError):
        return []
    return list(row) if isinstance(row, dict) else []


def _choose_levels(table: Table, argument: str | None) -> list[str]:
    """Return the columns that the user named, those that are recognized, or all of them."""
    if not argument:
        return find_levels(table.columns) or list(table.columns)
    levels = [name.strip() for name in argument.split(",")]
    for name in levels:
        if name not in table.columns:
            raise MissingColumnError(
                f"{table.origin}: no column {name!r}{suggest(name, table.columns)}; "
                f"it has {quote_list(table.columns)}"
            )
    return levels


def _complete_path(row: tuple[str, ...], above: tuple[str, ...], place: str) -> tuple[str, ...]:
    """Return the path of a row, whose first blanks mean the same as in the path above it."""
    filled = [level for level, name in enumerate(row) if name]
    if not filled:
        return above
    start, end = filled[0], filled[-1] + 1
    path = (*above[:start], *row[start:end])
    if len(path) < end or not all(path):
        raise TaxonomyError(
            f"{place} has a blank before {quote_list([row[end - 1]])}, and nothing above fills it; "
            "give every level down to the last one"
        )
    if max(map(len, path)) > MAX_CELL:
        raise TaxonomyError(f"{place} has a name of more than {MAX_CELL:,} characters")
    return path


def _add_path(tree: TreeBuilder, path: tuple[str, ...], id_: str, place: str) -> None:
    node = -1
    for name in path:
        node = tree.add(node, name)
    if id_ and (earlier := tree.set_id(node, id_)) != id_:
        raise TaxonomyError(
            f"{place} has the id {quote_list([id_])} for {quote_list([path[-1]])}, which an "
            f"earlier row calls {quote_list([earlier])}"
        )
