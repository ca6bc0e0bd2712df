"""Reading a run folder back."""

from pathlib import Path

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray
from mhpc.core.consolidation import Consolidation, Step
from mhpc.core.index import UNKNOWN
from mhpc.core.taxonomy import Taxonomy
from mhpc.errors import UnreadableError
from mhpc.read.cells import Cells, read_cells, refuse_empty
from mhpc.read.columns import find_columns
from mhpc.read.run_document import read_run_document
from mhpc.read.sql import identifier
from mhpc.read.table import Table, open_table
from mhpc.read.taxonomy import read_taxonomy

_COLUMNS = ("instance", "label", "score", "specific")


def read_run(folder: Path) -> Consolidation:
    """Return the consolidation that ``mhpc consolidate`` wrote; scores it left out are 0."""
    document = read_run_document(folder)
    taxonomy = read_taxonomy(folder / "taxonomy.csv")
    with open_table(folder / "scores.parquet") as table:
        origin = table.origin
        columns = find_columns(
            table.columns, {name: (name,) for name in _COLUMNS},
            required=_COLUMNS, origin=table.origin, cure="consolidate again",
        )  # fmt: skip
        cells = read_cells(table, columns, ("instance", "label"))
        refuse_empty(cells, "instance", origin)
        refuse_empty(cells, "label", origin)
        found = {name: read_numbers(table, name) for name in ("score", "specific")}
    row = cells.position["instance"]
    column = _located(cells, taxonomy, folder)
    shape = (len(cells.index["instance"]), len(taxonomy))

    def matrix(name: str) -> sparse.csr_array:
        return sparse.csr_array((found[name], (row, column)), shape=shape)

    return Consolidation(
        taxonomy=taxonomy,
        instances=cells.index["instance"],
        score=matrix("score"),
        specific=matrix("specific"),
        method=document["method"],
        parameters=document["parameters"],
        trace=tuple(Step(**step) for step in document["trace"]),
        converged=document["converged"],
    )


def read_numbers(table: Table, column: str) -> FloatArray:
    """Return a column of numbers, none of which is missing or infinite."""
    found = table.connection.execute(
        f"SELECT coalesce(TRY_CAST({identifier(column)} AS DOUBLE), 'nan') AS number FROM cells"
    ).fetchnumpy()
    numbers = np.asarray(found["number"], dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise UnreadableError(
            f"{table.origin}: row {wrong[0] + 1:,} has no number in column {column!r}; consolidate "
            "again"
        )
    return numbers


def read_labels(folder: Path, found: Consolidation) -> sparse.csr_array:
    """Return ones at the label sets of ``labels.csv``, with all ancestors, (N, K).

    Whoever went over them by hand may have left ancestors out.
    """
    shape = (len(found.instances), len(found.taxonomy))
    with open_table(folder / "labels.csv") as table:
        roles = ("instance", "label")
        columns = find_columns(
            table.columns, {name: (name,) for name in roles},
            required=roles, origin=table.origin, cure="consolidate again",
        )  # fmt: skip
        if not table.connection.execute("FROM cells LIMIT 1").fetchone():
            return sparse.csr_array(shape)
        cells = read_cells(table, columns, roles)
    row = found.instances.locate(cells.index["instance"])
    if (row == UNKNOWN).any():
        lost = cells.index["instance"][int((row == UNKNOWN).argmax())]
        raise UnreadableError(
            f"{folder}: instance {lost!r} of labels.csv is not in scores.parquet; consolidate again"
        )
    label = _located(cells, found.taxonomy, folder, "labels.csv")
    # An empty label says none, as it does in votes.
    said = np.flatnonzero(cells.position["label"] != UNKNOWN)
    cell = (row[cells.position["instance"]][said], label[said])
    given = sparse.csr_array((np.ones(len(said)), cell), shape=shape)
    sets = (given @ found.taxonomy.closure).tocsr()
    sets.data[:] = 1.0
    return sets


def _located(
    cells: Cells, taxonomy: Taxonomy, folder: Path, file: str = "scores.parquet"
) -> IntArray:
    position = taxonomy.locate(cells.index["label"])
    if (position == UNKNOWN).any():
        lost = cells.index["label"][int((position == UNKNOWN).argmax())]
        raise UnreadableError(
            f"{folder}: label {lost!r} of {file} is not in taxonomy.csv; consolidate again"
        )
    return np.append(position, UNKNOWN)[cells.position["label"]]
