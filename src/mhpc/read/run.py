"""Reading a run folder back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.core.consolidation import Consolidation, Step
from mhpc.errors import UnreadableError
from mhpc.read.cells import read_cells
from mhpc.read.table import open_table
from mhpc.read.taxonomy import read_taxonomy


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
    return document


def read_run(folder: Path) -> Consolidation:
    """Return the consolidation that ``mhpc consolidate`` wrote; scores it left out are 0."""
    document = read_run_document(folder)
    taxonomy = read_taxonomy(folder / "taxonomy.csv")
    with open_table(folder / "scores.parquet") as table:
        cells = read_cells(table, {"instance": "instance", "label": "label"}, ("instance", "label"))
        found = table.connection.execute("SELECT score, specific FROM cells").fetchnumpy()
    row = cells.position["instance"]
    column = taxonomy.locate(cells.index["label"])[cells.position["label"]]
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
