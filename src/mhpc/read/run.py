"""Reading a run folder back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.core.arrays import IntArray
from mhpc.core.consolidation import Consolidation, Step
from mhpc.core.index import UNKNOWN
from mhpc.core.taxonomy import Taxonomy
from mhpc.errors import UnreadableError
from mhpc.read.cells import Cells, read_cells
from mhpc.read.columns import find_columns
from mhpc.read.table import open_table
from mhpc.read.taxonomy import read_taxonomy

_KEYS = {"settings", "method", "parameters", "trace", "converged"}
_COLUMNS = ("instance", "label", "score", "specific")


def read_run_document(folder: Path) -> dict[str, Any]:
    """Return the ``run.json`` of a run folder."""
    path = folder / "run.json"
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise UnreadableError(
            f"{folder} is not the output of a run: it has no run.json; "
            "make one with mhpc consolidate"
        ) from None
    except ValueError as error:
        raise UnreadableError(f"{path}: {error}") from None
    if not isinstance(document, dict) or not document.keys() >= _KEYS:
        raise UnreadableError(
            f"{path} is not the run.json of a run; make one with mhpc consolidate"
        )
    return document


def read_run(folder: Path) -> Consolidation:
    """Return the consolidation that ``mhpc consolidate`` wrote; scores it left out are 0."""
    document = read_run_document(folder)
    taxonomy = read_taxonomy(folder / "taxonomy.csv")
    with open_table(folder / "scores.parquet") as table:
        columns = find_columns(
            table.columns, {name: (name,) for name in _COLUMNS},
            required=_COLUMNS, origin=table.origin, cure="consolidate again",
        )  # fmt: skip
        cells = read_cells(table, columns, ("instance", "label"))
        found = table.connection.execute("SELECT score, specific FROM cells").fetchnumpy()
    row = cells.position["instance"]
    column = _located(cells, taxonomy, folder)
    shape = (len(cells.index["instance"]), len(taxonomy))

    def matrix(name: str) -> sparse.csr_array:
        values = np.asarray(found[name], dtype=np.float64)
        return sparse.csr_array((values, (row, column)), shape=shape)

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
