"""Which column plays which role, and the ids in a column as an index and positions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from mhpc.data.index import UNKNOWN, Index
from mhpc.errors import DataError, MissingColumnError, ParameterError, quote_list, suggest
from mhpc.numerics.arrays import IntArray
from mhpc.numerics.hash_table import HashTable, build_hash_table
from mhpc.parameters import check_type
from mhpc.read.tables import MAX_CELL, Table, text_sql

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "instance": (
            "instance", "task", "item", "unit", "object", "obj", "question", "text_id",
            "instance_id", "item_id", "task_id", "unit_id", "object_id", "question_id",
            "example_no", "example_id", "example", "sample_id", "sample", "record_id", "record",
            "image_id", "image", "photo_id", "photo", "document_id", "document", "doc_id", "doc",
            "product_id", "product", "sku", "case_id", "case", "study_id", "study", "patient_id",
            "subject_id", "subject", "observation_id", "observation", "target", "protein",
            "file_name", "filename", "file", "path", "url", "uid", "uuid", "key", "id",
        ),
        "source": (
            "source", "worker", "annotator", "rater", "judge", "src", "rater_id", "annotator_id",
            "worker_id", "source_id", "judge_id", "labeler", "labeller", "labeled_by", "coder",
            "reviewer", "reader", "expert", "doctor", "radiologist", "physician", "model",
            "model_name", "model_id", "llm", "predictor", "classifier", "tool", "system",
            "annotated_by", "completed_by", "created_by", "contributor", "user_id", "user_name",
            "username", "user",
        ),
        "label": (
            "label", "value", "answer", "choice", "relation", "labels", "category", "categories",
            "tag", "tags", "class", "classes", "label_id", "label_name", "category_id",
            "category_name", "class_name", "predicted_label", "predicted_labels", "prediction",
            "predictions", "predicted", "annotation", "annotations", "diagnosis", "diagnoses",
            "code", "codes", "species", "taxon", "term", "term_id", "topic", "topics", "concept",
            "response", "output",
        ),
        "score": (
            "score", "confidence", "prob", "probability", "scores", "confidences", "conf",
            "certainty", "likelihood", "confidence_score", "probabilities",
        ),
        "negative": ("negative",),
    }
)  # fmt: skip
"""The names that columns of votes and truths may have, by role; the first one is ours.

If a table has several columns with names of one role, the first name in this order counts: names
that often mean something else come last.
"""

TAXONOMY_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "label": (
            "label", "id", "code", "child", "node", "term", "path", "label_id", "label_code",
            "category_id", "category_code", "class_id", "class_code", "term_id", "node_id",
            "concept_id", "taxon_id", "child_id", "topic_id", "category", "class", "concept",
            "taxon", "topic", "tag", "subclass", "subcategory", "full_path", "category_path",
            "label_path",
        ),
        "parent": (
            "parent", "parent_id", "parentid", "broader", "parent_label", "parent_category",
            "parent_class", "parent_name", "parent_code", "parent_node", "parent_term",
            "parent_concept", "parent_taxon", "parent_topic", "parent_label_id",
            "parent_category_id", "parent_class_id", "parent_term_id", "parent_node_id",
            "parent_concept_id", "parent_name_usage_id", "broader_term", "broader_concept",
            "broader_id", "superclass", "supercategory", "subclass_of", "child_of", "is_a",
        ),
        "name": (
            "name", "title", "label_name", "category_name", "class_name", "term_name", "node_name",
            "concept_name", "taxon_name", "topic_name", "display_name", "preferred_label",
            "preferred_name", "pref_label", "label_title", "category_title",
        ),
        "exclusive": ("exclusive",),
    }
)  # fmt: skip
"""The same for taxonomies."""

MAX_ENUM_IDS = 1 << 14
"""Up to this many ids, an ENUM of DuckDB is faster than sorting their hashes."""

BLOCK_ROWS = 1 << 18
"""How many rows are numbered at a time, so that they stay in the cache."""

_NAME_GAPS = re.compile(r"[\s_-]+")


def normalize_name(name: str) -> str:
    """Return the form in which names of columns are compared: ``Parent ID`` is ``parent_id``."""
    return _NAME_GAPS.sub("", name).casefold()


def find_columns(
    present: Sequence[str],
    aliases: Mapping[str, tuple[str, ...]],
    *,
    required: Sequence[str],
    chosen: Mapping[str, str] | None = None,
    origin: str,
    cure: str = "rename one",
) -> dict[str, str]:
    """Return the column of each role that the table has.

    Parameters
    ----------
    present : sequence of str
        The columns of the table.
    aliases : mapping of role to names
        The usual names, in any spelling with the same `normalize_name`; the first one that is
        present is used.
    required : sequence of str
        The roles that must have a column.
    chosen : mapping of role to column, optional
        The choice of the user, which takes precedence.
    origin : str
        The table, for messages.
    cure : str
        What would help if a column is missing, for messages.
    """
    by_name = {normalize_name(column): column for column in reversed(present)}
    columns: dict[str, str] = {}
    for role, column in (chosen or {}).items():
        if role not in aliases:
            raise ParameterError(
                f"no column role {role!r}; the roles are {quote_list(list(aliases))}"
            )
        check_type(f"the column of {role!r}", column, str, "its name")
        if column not in present:
            raise MissingColumnError(
                f"{origin}: no column {column!r}{suggest(column, present)}; "
                f"it has {quote_list(present)}"
            )
        columns[role] = column
    for role, names in aliases.items():
        usual = next(
            (by_name[name] for name in map(normalize_name, names) if name in by_name), None
        )
        if role not in columns and usual is not None:
            columns[role] = usual
    for role in required:
        if role not in columns:
            others = f" (nor {quote_list(aliases[role][1:], most=4)})" if aliases[role][1:] else ""
            raise MissingColumnError(
                f"{origin}: no column {role!r}{others}; it has {quote_list(present)}; {cure}"
            )
    return columns


@dataclass(frozen=True, eq=False)
class Cells:
    """The columns of a table by role.

    Attributes
    ----------
    rows : int
        The number of rows.
    index : mapping of role to Index
        The distinct ids of each column.
    position : mapping of role to int array, (rows,)
        The position of each cell in the index of its column; -1 if the cell is empty.
    """

    rows: int
    index: Mapping[str, Index]
    position: Mapping[str, IntArray]


def read_cells(
    table: Table,
    columns: Mapping[str, str],
    roles: Sequence[str],
    *,
    max_enum_ids: int = MAX_ENUM_IDS,
) -> Cells:
    """Read columns of ids, which are numbered in order of first appearance.

    Only the distinct texts leave DuckDB; the rows come as integers, in the order of the table.
    """
    vocabularies = {
        role: _make_vocabulary(table, role, columns[role], max_enum_ids) for role in roles
    }
    keys = ", ".join(f"{vocabularies[role].key_sql} AS {role}" for role in roles)
    key_of_row = table.connection.execute(f"SELECT {keys} FROM cells").fetchnumpy()
    rows = len(key_of_row[roles[0]])
    if not rows:
        raise no_rows_error(table.origin)
    index, position = {}, {}
    for role in roles:
        index[role], position[role] = _number_ids(vocabularies[role], key_of_row.pop(role))
    return Cells(rows, index, position)


def number_ids(ids: Sequence[str | int | None]) -> tuple[Index, IntArray]:
    """Return the index and the positions of ids in memory, as `read_cells` would.

    All of them are texts or None, or all are integers.
    """
    distinct: dict[str | int | None, None] = dict.fromkeys(ids)
    for empty in (None, ""):
        distinct.pop(empty, None)
    index = Index.of_distinct(tuple(map(str, distinct)))
    position: dict[str | int | None, int] = {None: UNKNOWN, "": UNKNOWN}
    position.update(zip(distinct, range(len(distinct)), strict=True))
    return index, np.fromiter(map(position.__getitem__, ids), dtype=np.int64, count=len(ids))


def check_not_empty(cells: Cells, role: str, origin: str) -> None:
    """Raise an error if a cell of a role is empty, such as the instance of a vote."""
    empty = np.flatnonzero(cells.position[role] < 0)
    if len(empty):
        raise empty_cell_error(origin, role, row=empty[0] + 1, count=len(empty))


def empty_cell_error(origin: str, role: str, *, row: int, count: int) -> DataError:
    """Return the error that some rows, of which `row` is the first, have an empty cell."""
    more = f", as have {count - 1:,} more" if count > 1 else ""
    return DataError(f"{origin}: row {row:,} has an empty {role}{more}; every row needs one")


def overlong_cell_error(origin: str, role: str, *, row: int, length: int) -> DataError:
    """Return the error that a text is too long to be an id."""
    article = "an" if role.startswith(tuple("aeiou")) else "a"
    return DataError(
        f"{origin}: row {row:,} has {article} {role} of {length:,} characters; "
        f"the most is {MAX_CELL:,}: is a quote left open?"
    )


def no_rows_error(origin: str) -> DataError:
    """Return the error that a table is empty."""
    return DataError(f"{origin}: a header but no rows; give rows")


@dataclass(frozen=True, eq=False)
class _Vocabulary:
    """The distinct texts of a column, and an integer key for each.

    Attributes
    ----------
    texts : object array
        The texts, with None among them if cells are empty.
    keys : HashTable, optional
        The key of each text; None if the keys are positions in `texts`.
    key_sql : str
        SQL for the key of a row.
    """

    texts: npt.NDArray[np.object_]
    keys: HashTable | None
    key_sql: str


def _make_vocabulary(table: Table, role: str, column: str, max_enum_ids: int) -> _Vocabulary:
    connection = table.connection
    text = f"nullif({text_sql(table, column)}, '')"
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE vocabulary AS SELECT DISTINCT {text} AS id FROM cells"
    )
    _check_length(table, role, text)
    distinct = connection.execute("SELECT id, hash(id) AS hash FROM vocabulary").fetchnumpy()
    texts = np.array(np.ma.getdata(distinct["id"]), dtype=object)
    texts[np.ma.getmaskarray(distinct["id"])] = None
    hashes = build_hash_table(np.asarray(distinct["hash"], dtype=np.uint64))
    if len(texts) > max_enum_ids and not hashes.has_duplicates:
        return _Vocabulary(texts, hashes, f"hash({text})")
    return _make_enum(table, role, text)


def _make_enum(table: Table, role: str, text: str) -> _Vocabulary:
    ids = "SELECT id FROM vocabulary WHERE id IS NOT NULL"
    (count,) = table.connection.execute(f"SELECT count(*) FROM ({ids})").fetchone() or (0,)
    if not count:
        return _Vocabulary(np.array([None], dtype=object), None, "0")
    enum = f"id_of_{role}"
    table.connection.execute(f"DROP TYPE IF EXISTS {enum}")
    table.connection.execute(f"CREATE TEMP TYPE {enum} AS ENUM ({ids})")
    texts = np.full(count + 1, None, dtype=object)
    codes = table.connection.execute(f"SELECT id, enum_code(id::{enum}) AS code FROM ({ids})")
    for id_, code in codes.fetchall():
        texts[code] = id_
    return _Vocabulary(texts, None, f"coalesce(enum_code({text}::{enum})::INTEGER, {count})")


def _check_length(table: Table, role: str, text: str) -> None:
    is_overlong = f"length(id) > {MAX_CELL}"
    if not table.connection.execute(f"FROM vocabulary WHERE {is_overlong} LIMIT 1").fetchone():
        return
    row, length = table.connection.execute(
        f"SELECT row, length(id) FROM (SELECT row_number() OVER () AS row, {text} AS id "
        f"FROM cells) WHERE {is_overlong} ORDER BY row LIMIT 1"
    ).fetchone() or (0, 0)
    raise overlong_cell_error(table.origin, role, row=row, length=length)


def _number_ids(
    vocabulary: _Vocabulary, key: npt.NDArray[np.integer[Any]]
) -> tuple[Index, IntArray]:
    """Return the ids in order of first appearance, and the position of each row's id."""
    texts = vocabulary.texts
    place = key
    if vocabulary.keys is not None:
        place = vocabulary.keys.locate(np.asarray(key, dtype=np.uint64))
    order = np.argsort(_first_rows(place, len(texts)), kind="stable")
    order = order[texts[order] != None]  # noqa: E711 - for every element
    rank = np.full(len(texts), UNKNOWN)
    rank[order] = np.arange(len(order))
    return Index.of_distinct(tuple(texts[order].tolist())), rank[place]


def _first_rows(
    place: npt.NDArray[np.integer[Any]], n_places: int, *, block_rows: int = BLOCK_ROWS
) -> IntArray:
    first = np.full(n_places, len(place))
    for start in range(0, len(place), block_rows):
        block = place[start : start + block_rows]
        np.minimum.at(first, block, np.arange(start, start + len(block)))
    return first
