"""Reading the label sets of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.core.decision import Decision
from mhpc.core.index import UNKNOWN, Index
from mhpc.core.taxonomy import Taxonomy
from mhpc.errors import UnreadableError
from mhpc.read.cells import read_cells, refuse_empty
from mhpc.read.columns import find_columns
from mhpc.read.table import open_table

_COLUMNS = ("instance", "label")

_COUNTS = ("rule", "labels_per_instance", "instances_without_label")
"""What ``run.json`` tells of a decision beside the parameters of its rule."""


def read_decision(
    folder: Path, taxonomy: Taxonomy, instances: Index, decided: Mapping[str, Any]
) -> Decision:
    """Return the label sets in ``labels.csv``; `decided` is what ``run.json`` says of them.

    Which labels are there for their own score, and which for one below them, is not in it; all
    count as the first.
    """
    shape = (len(instances), len(taxonomy))
    reason = sparse.csr_array(shape, dtype=np.int8)
    path = folder / "labels.csv"
    if has_rows(path):
        with open_table(path) as table:
            columns = find_columns(
                table.columns, {name: (name,) for name in _COLUMNS},
                required=_COLUMNS, origin=table.origin, cure="consolidate again",
            )  # fmt: skip
            cells = read_cells(table, columns, _COLUMNS)
            refuse_empty(cells, "instance", table.origin)
            refuse_empty(cells, "label", table.origin)
        row, label = (
            index.locate(cells.index[name])[cells.position[name]]
            for name, index in (("instance", instances), ("label", taxonomy.labels))
        )
        if (row == UNKNOWN).any() or (label == UNKNOWN).any():
            raise UnreadableError(f"{path} does not belong to the rest; consolidate again")
        ones = np.ones(len(row), dtype=np.int8)
        reason = sparse.csr_array((ones, (row, label)), shape=shape)
    parameters = {name: value for name, value in decided.items() if name not in _COUNTS}
    return Decision(taxonomy, instances, reason, decided["rule"], parameters)


def has_rows(path: Path) -> bool:
    """Tell whether anything follows the header: a run may find no label at all."""
    try:
        with path.open("rb") as file:
            file.readline()
            return bool(file.readline())
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}") from None
