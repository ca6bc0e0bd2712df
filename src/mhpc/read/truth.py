"""`read_truth`: known labels of instances from a table, an ARFF file or the export of a tool."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mhpc.data.index import Index
from mhpc.data.votes import Truth
from mhpc.errors import DataError
from mhpc.read.arff import read_arff
from mhpc.read.columns import ALIASES, check_not_empty, find_columns, read_cells
from mhpc.read.files import LocalFile, local_file
from mhpc.read.objects import tabulate_truth
from mhpc.read.tables import TableSource, open_table
from mhpc.read.vote_table import open_votes


def read_truth(source: Truth | TableSource, *, columns: Mapping[str, str] | None = None) -> Truth:
    """Read known labels: a table with the columns instance and label, or a Clus HMC ARFF file.

    Parameters
    ----------
    source : path, "-", dataframe, mapping, list of mappings or pairs, or Truth
        An empty label means that the instance has none. The rows of an ARFF file are instances '1',
        '2', …; only its class is read. In the export of an annotation tool, the answers marked as
        ground truth are read. In memory also ``{"photo-1": "bee", "photo-2": ["ant", "wasp"],
        "photo-3": []}``: the labels of every instance.
    columns : mapping of role to column name, optional
        As for `mhpc.read_votes`.

    Examples
    --------
    >>> read_truth({"photo-1": "bee", "photo-2": ["ant", "wasp"], "photo-3": []})
    Truth(4 labels of 3 instances)
    """
    if isinstance(source, Truth):
        return source
    if isinstance(source, str | Path):
        with local_file(source) as file:
            if file.format == "arff":
                return read_arff(file).truth
            if file.format == "json":
                return _read_export(file, columns)
            return _read_table(file, columns)
    return _read_table(tabulate_truth(source, columns), columns)


def make_truth(rows: Sequence[tuple[str, str | None]], origin: str) -> Truth:
    """Build a truth from pairs of an instance and a label, which is None for no label."""
    instances = Index(tuple(dict.fromkeys(instance for instance, _ in rows)))
    labels = Index(tuple(dict.fromkeys(label for _, label in rows if label is not None)))
    return Truth(
        instances=instances,
        labels=labels,
        instance=instances.locate(instance for instance, _ in rows),
        # The empty text is in no index, so its position is that of no label.
        label=labels.locate(label or "" for _, label in rows),
        origin=origin,
    )


def _read_export(file: LocalFile, columns: Mapping[str, str] | None) -> Truth:
    with open_votes(file, columns=columns) as votes:
        if votes.is_original:
            return _read_table(file, columns)
        if not votes.has_gold:
            raise DataError(f"{votes.table.origin}: no answer in it is marked as ground truth")
        rows = votes.table.connection.execute("SELECT instance, label FROM gold").fetchall()
        return make_truth(rows, votes.table.origin)


def _read_table(source: TableSource, columns: Mapping[str, str] | None) -> Truth:
    with open_table(source, name="the truth") as table:
        origin = table.origin
        roles = find_columns(
            table.columns, ALIASES, required=("instance", "label"), chosen=columns, origin=origin
        )
        cells = read_cells(table, roles, ("instance", "label"))
        check_not_empty(cells, "instance", origin)
    return Truth(
        instances=cells.index["instance"],
        labels=cells.index["label"],
        instance=cells.position["instance"],
        label=cells.position["label"],
        origin=origin,
    )
