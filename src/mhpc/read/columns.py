"""Column roles, ids and positions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from mhpc.data.index import UNKNOWN, Index
from mhpc.errors import DataError, MissingColumnError, ParameterError, quote_list, suggest
from mhpc.numerics.arrays import IntArray
from mhpc.read.tables import MAX_CELL, Table, text_of

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "instance": ("instance", "task", "item", "unit", "object", "obj", "question", "text_id"),
        "source": (
            "source", "worker", "annotator", "rater", "judge", "src", "rater_id", "annotator_id",
        ),
        "label": ("label", "value", "answer", "choice", "relation"),
        "score": ("score", "confidence", "prob", "probability"),
    }
)  # fmt: skip
"""Names under which the columns of votes and truths are known, the canonical one first."""

TAXONOMY_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "label": ("label", "id", "code", "child", "node", "term", "path"),
        "parent": ("parent", "parent_id", "parentid", "broader"),
        "name": ("name", "title"),
    }
)
"""The same for taxonomies."""


def find_columns(
    present: Sequence[str],
    aliases: Mapping[str, tuple[str, ...]],
    *,
    required: Sequence[str],
    chosen: Mapping[str, str] | None = None,
    origin: str,
    cure: str = "rename one",
) -> dict[str, str]:
    """Return the column for each role that the table has.

    Parameters
    ----------
    present : sequence of str
        The table's columns.
    aliases : mapping of role to names
        Case does not matter; the first name that is present wins.
    required : sequence of str
        Roles that must be found.
    chosen : mapping of role to column, optional
        The user's word, which goes before the aliases.
    origin : str
        The table, for messages.
    cure : str
        What would do, for messages.
    """
    by_name = {column.strip().lower(): column for column in reversed(present)}
    found: dict[str, str] = {}
    for role, column in (chosen or {}).items():
        if role not in aliases:
            raise ParameterError(
                f"no column role {role!r}; the roles are {quote_list(list(aliases))}"
            )
        if column not in present:
            raise MissingColumnError(
                f"{origin}: no column {column!r}{suggest(column, present)}; "
                f"it has {quote_list(present)}"
            )
        found[role] = column
    for role, names in aliases.items():
        known = next((by_name[name] for name in names if name in by_name), None)
        if role not in found and known is not None:
            found[role] = known
    for role in required:
        if role not in found:
            others = f" (nor {quote_list(aliases[role][1:])})" if aliases[role][1:] else ""
            raise MissingColumnError(
                f"{origin}: no column {role!r}{others}; it has {quote_list(present)}; {cure}"
            )
    return found


FEW_IDS = 1 << 14
"""Up to so many ids an ENUM finds them faster than a sort of their hashes."""

_BLOCK_ROWS = 1 << 18
"""Rows numbered at once: a short row of numbers stays in the cache."""


@dataclass(frozen=True, eq=False)
class Cells:
    """One column a role, each as an index of its texts and a position a row; -1 is empty."""

    rows: int
    index: Mapping[str, Index]
    position: Mapping[str, IntArray]


def read_cells(table: Table, columns: Mapping[str, str], roles: Sequence[str]) -> Cells:
    """Read text columns; ids are numbered in order of first appearance.

    No text leaves DuckDB but one of each id: rows come as keys, in the order of the table.
    """
    vocabularies = {role: _vocabulary(table, role, columns[role]) for role in roles}
    keys = ", ".join(f"{vocabularies[role].key_of_row} AS {role}" for role in roles)
    found = table.connection.execute(f"SELECT {keys} FROM cells").fetchnumpy()
    rows = len(found[roles[0]])
    if not rows:
        raise no_rows(table.origin)
    index, position = {}, {}
    for role in roles:
        index[role], position[role] = _numbered(vocabularies[role], found.pop(role))
    return Cells(rows, index, position)


def check_not_empty(cells: Cells, role: str, origin: str) -> None:
    """Refuse a table in which some row does not say which instance or source it is about."""
    empty = np.flatnonzero(cells.position[role] < 0)
    if len(empty):
        raise empty_cell(origin, role, row=empty[0] + 1, count=len(empty))


def empty_cell(origin: str, role: str, *, row: int, count: int) -> DataError:
    """Return the error that so many rows, the first of which is named, lack a role."""
    more = f", as have {count - 1:,} more" if count > 1 else ""
    return DataError(f"{origin}: row {row:,} has an empty {role}{more}; every row needs one")


def overlong_cell(origin: str, role: str, *, row: int, length: int) -> DataError:
    """Return the error that a text is too long to be an id."""
    return DataError(
        f"{origin}: row {row:,} has a {role} of {length:,} characters; "
        f"the most is {MAX_CELL:,}: is a quote left open?"
    )


def no_rows(origin: str) -> DataError:
    """Return the error that a table is empty."""
    return DataError(f"{origin}: a header but no rows; give rows")


@dataclass(frozen=True, eq=False)
class _Vocabulary:
    """The texts of a column, None among them if cells are empty, and a number for each.

    Numbers are places in `texts`, or hashes where there are too many texts for an ENUM to be
    quick.
    """

    texts: npt.NDArray[np.object_]
    hashes: npt.NDArray[np.uint64] | None
    key_of_row: str


def _vocabulary(table: Table, role: str, column: str) -> _Vocabulary:
    connection = table.connection
    text = f"nullif({text_of(table, column)}, '')"
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE vocabulary AS SELECT DISTINCT {text} AS id FROM cells"
    )
    _check_length(table, role, text)
    found = connection.execute("SELECT id, hash(id) AS hash FROM vocabulary").fetchnumpy()
    texts = np.array(np.ma.getdata(found["id"]), dtype=object)
    texts[np.ma.getmaskarray(found["id"])] = None
    hashes = np.asarray(found["hash"], dtype=np.uint64)
    if len(texts) > FEW_IDS and not _any_twice(hashes):
        return _Vocabulary(texts, hashes, f"hash({text})")
    return _with_enum(table, role, text)


def _with_enum(table: Table, role: str, text: str) -> _Vocabulary:
    ids = "SELECT id FROM vocabulary WHERE id IS NOT NULL"
    (count,) = table.connection.execute(f"SELECT count(*) FROM ({ids})").fetchone() or (0,)
    if not count:
        return _Vocabulary(np.array([None], dtype=object), None, "0")
    kind = f"id_of_{role}"
    table.connection.execute(f"DROP TYPE IF EXISTS {kind}")
    table.connection.execute(f"CREATE TEMP TYPE {kind} AS ENUM ({ids})")
    texts = np.full(count + 1, None, dtype=object)
    found = table.connection.execute(f"SELECT id, enum_code(id::{kind}) AS code FROM ({ids})")
    for id_, code in found.fetchall():
        texts[code] = id_
    return _Vocabulary(texts, None, f"coalesce(enum_code({text}::{kind})::INTEGER, {count})")


def _numbered(vocabulary: _Vocabulary, key: npt.NDArray[np.integer[Any]]) -> tuple[Index, IntArray]:
    """Return the ids by first appearance, and their positions in the rows."""
    texts = vocabulary.texts
    place = key if vocabulary.hashes is None else _places(vocabulary.hashes, key)
    order = np.argsort(_first_rows(place, len(texts)), kind="stable")
    order = order[texts[order] != None]  # noqa: E711 - of every element
    rank = np.full(len(texts), UNKNOWN)
    rank[order] = np.arange(len(order))
    return Index(tuple(texts[order].tolist())), rank[place]


def _places(hashes: npt.NDArray[np.uint64], key: npt.NDArray[np.integer[Any]]) -> IntArray:
    """Find every key among the hashes, all of which occur; rows of one id often come together."""
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    _, place = np.unique(key[begins], return_inverse=True)
    return np.repeat(np.argsort(hashes)[place], np.diff(np.append(begins, len(key))))


def _first_rows(place: npt.NDArray[np.integer[Any]], places: int) -> IntArray:
    first = np.full(places, len(place))
    for start in range(0, len(place), _BLOCK_ROWS):
        some = place[start : start + _BLOCK_ROWS]
        np.minimum.at(first, some, np.arange(start, start + len(some)))
    return first


def _any_twice(values: npt.NDArray[np.uint64]) -> bool:
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())


def _check_length(table: Table, role: str, text: str) -> None:
    overlong = f"length(id) > {MAX_CELL}"
    if not table.connection.execute(f"FROM vocabulary WHERE {overlong} LIMIT 1").fetchone():
        return
    row, length = table.connection.execute(
        f"SELECT row, length(id) FROM (SELECT row_number() OVER () AS row, {text} AS id "
        f"FROM cells) WHERE {overlong} ORDER BY row LIMIT 1"
    ).fetchone() or (0, 0)
    raise overlong_cell(table.origin, role, row=row, length=length)
