"""Reading a run folder back with the label sets that were decided."""

from pathlib import Path

from scipy import sparse

from mhpc.core.index import UNKNOWN
from mhpc.core.outcome import Outcome
from mhpc.errors import UnreadableError
from mhpc.read.cells import read_cells, refuse_empty
from mhpc.read.columns import find_columns
from mhpc.read.decision import has_rows
from mhpc.read.run import read_numbers, read_run
from mhpc.read.run_document import read_run_document
from mhpc.read.table import open_table

_COLUMNS = ("instance", "label", "score")


def read_outcome(folder: Path) -> Outcome:
    """Return the scores and the label sets that ``mhpc consolidate`` wrote."""
    found = read_run(folder)
    shape = (len(found.instances), len(found.taxonomy))
    if not has_rows(folder / "labels.csv"):
        return Outcome(found, sparse.csr_array(shape), contested=_contested(folder))
    with open_table(folder / "labels.csv") as table:
        columns = find_columns(
            table.columns, {name: (name,) for name in _COLUMNS},
            required=_COLUMNS, origin=table.origin, cure="consolidate again",
        )  # fmt: skip
        cells = read_cells(table, columns, ("instance", "label"))
        refuse_empty(cells, "instance", table.origin)
        refuse_empty(cells, "label", table.origin)
        score = read_numbers(table, "score")
    axes = {"instance": found.instances, "label": found.taxonomy.labels}
    at = {}
    for role, axis in axes.items():
        position = axis.locate(cells.index[role])
        if (position == UNKNOWN).any():
            lost = cells.index[role][int((position == UNKNOWN).argmax())]
            raise UnreadableError(
                f"{folder}: {role} {lost!r} of labels.csv is not in the other files; "
                "consolidate again"
            )
        at[role] = position[cells.position[role]]
    chosen = sparse.csr_array((score, (at["instance"], at["label"])), shape=shape)
    chosen.sort_indices()
    return Outcome(found, chosen, contested=_contested(folder))


def _contested(folder: Path) -> tuple[str, ...]:
    conflicts = read_run_document(folder)["conflicts"]
    return tuple(each["instance"] for each in conflicts["instances"])
