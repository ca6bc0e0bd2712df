"""Reading truths."""

from collections.abc import Mapping
from pathlib import Path

from mhpc.core.truth import Truth
from mhpc.read.arff import read_arff
from mhpc.read.cells import read_cells, refuse_empty
from mhpc.read.columns import ALIASES, find_columns
from mhpc.read.files import local_file
from mhpc.read.table import TableSource, open_table


def read_truth(source: TableSource, *, columns: Mapping[str, str] | None = None) -> Truth:
    """Read known labels: a table instance, label, or a Clus HMC ARFF file.

    Parameters
    ----------
    source : path, "-", dataframe, mapping of columns or list of mappings
        An empty label means that the instance has none. Rows of an ARFF file are instances
        '1', '2', …; its attributes other than the class are not looked at.
    columns : mapping of role to column name, optional
        As for `mhpc.read_votes`.
    """
    if isinstance(source, str | Path):
        with local_file(source) as file:
            if file.format == "arff":
                return read_arff(file).truth
            return _read_table(file, columns)
    return _read_table(source, columns)


def _read_table(source: TableSource, columns: Mapping[str, str] | None) -> Truth:
    with open_table(source, name="the truth") as table:
        origin = table.origin
        found = find_columns(
            table.columns, ALIASES, required=("instance", "label"), chosen=columns, origin=origin
        )
        cells = read_cells(table, found, ("instance", "label"))
        refuse_empty(cells, "instance", origin)
    return Truth(
        instances=cells.index["instance"],
        labels=cells.index["label"],
        instance=cells.position["instance"],
        label=cells.position["label"],
        origin=origin,
    )
