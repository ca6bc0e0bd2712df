"""Cells: the chosen columns of a table as positions in indexes of ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mhpc.core.arrays import IntArray
from mhpc.core.index import Index
from mhpc.errors import DataError
from mhpc.read.table import MAX_CELL, Table, text_of


@dataclass(frozen=True, eq=False)
class Cells:
    """One column a role, each as an index of its texts and a position a row; -1 is empty."""

    rows: int
    index: Mapping[str, Index]
    position: Mapping[str, IntArray]


def read_cells(table: Table, columns: Mapping[str, str], roles: Sequence[str]) -> Cells:
    """Read text columns; DuckDB builds the vocabularies, in order of first appearance."""
    connection = table.connection
    texts = ", ".join(f"nullif({text_of(table, columns[role])}, '') AS {role}" for role in roles)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE texts AS SELECT row_number() OVER () AS row, {texts} "
        "FROM cells"
    )
    (rows,) = connection.execute("SELECT count(*) FROM texts").fetchone() or (0,)
    if not rows:
        raise DataError(f"{table.origin}: a header but no rows; give rows")
    index, position = {}, {}
    for role in roles:
        _refuse_overlong(table, role)
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE vocabulary AS SELECT {role} AS id, "
            f"row_number() OVER (ORDER BY min(row)) - 1 AS place FROM texts "
            f"WHERE {role} IS NOT NULL GROUP BY {role}"
        )
        ids = connection.execute("SELECT id FROM vocabulary ORDER BY place").fetchall()
        index[role] = Index(tuple(id_ for (id_,) in ids))
        places = connection.execute(
            f"SELECT coalesce(place, -1) AS place FROM texts LEFT JOIN vocabulary "
            f"ON texts.{role} = vocabulary.id ORDER BY row"
        ).fetchnumpy()["place"]
        position[role] = np.asarray(places, dtype=np.int64)
    return Cells(rows, index, position)


def refuse_empty(cells: Cells, role: str, origin: str) -> None:
    """Refuse a table in which some row does not say which instance or source it is about."""
    empty = np.flatnonzero(cells.position[role] < 0)
    if len(empty):
        raise DataError(
            f"{origin}: row {empty[0] + 1:,} has an empty {role}"
            f"{f', as have {len(empty) - 1:,} more' if len(empty) > 1 else ''}; "
            f"every row needs one"
        )


def _refuse_overlong(table: Table, role: str) -> None:
    found = table.connection.execute(
        f"SELECT row, length({role}) FROM texts WHERE length({role}) > {MAX_CELL} LIMIT 1"
    ).fetchone()
    if found:
        row, length = found
        raise DataError(
            f"{table.origin}: row {row:,} has a {role} of {length:,} characters; "
            f"the most is {MAX_CELL:,}: is a quote left open?"
        )
