"""Tables of labels: an edge a row, or path codes; any file or frame."""

from collections.abc import Mapping

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.read.columns import TAXONOMY_ALIASES, Cells, check_not_empty, find_columns, read_cells
from mhpc.read.paths import taxonomy_from_paths
from mhpc.read.tables import open_table
from mhpc.read.taxonomy_formats.base import TaxonomyInput

_NO_PARENT = ("-1", "0")
"""What tables of numbered labels have where a root has no parent."""


def matches(told: TaxonomyInput) -> bool:
    """Take whatever no other format does; what is missing is said when it is read."""
    return True


def read(told: TaxonomyInput) -> Taxonomy:
    """Return the taxonomy of a table with the usual columns."""
    return read_table(told, columns=None, separator=told.argument)


def read_table(
    told: TaxonomyInput, *, columns: Mapping[str, str] | None, separator: str | None
) -> Taxonomy:
    """Return the taxonomy of a table."""
    with open_table(told.source, name="the taxonomy") as table:
        origin = table.origin
        found = find_columns(
            table.columns, TAXONOMY_ALIASES, required=("label",), chosen=columns, origin=origin
        )
        cells = read_cells(table, found, tuple(found))
        check_not_empty(cells, "label", origin)
    if "parent" in found:
        return _from_edges(cells, origin)
    return taxonomy_from_paths(
        cells.index["label"].ids, names=_names(cells), separator=separator, origin=origin
    )


def _from_edges(cells: Cells, origin: str) -> Taxonomy:
    label, parent = cells.position["label"], cells.position["parent"]
    below, above = cells.index["label"], cells.index["parent"]
    none = {above.positions[id_] for id_ in _NO_PARENT if id_ in above and id_ not in below}
    labels = list(below)
    if (parent >= 0).all() and not none:
        # A bare list of edges has no rows for roots: they are the parents that are no child.
        labels += [root for root in above if root not in below]
    edges = [
        (below[k], above[p])
        for k, p in zip(label.tolist(), parent.tolist(), strict=True)
        if p >= 0 and p not in none
    ]
    given = _names(cells)
    names = [given.get(label, label) for label in labels]
    return build_taxonomy(labels, edges, names=names, origin=origin)


def _names(cells: Cells) -> dict[str, str]:
    """Return the name of every label that has one, the first if it has several."""
    names: dict[str, str] = {}
    if "name" in cells.index:
        label, name = cells.position["label"].tolist(), cells.position["name"].tolist()
        for k, n in zip(label, name, strict=True):
            if n >= 0:
                names.setdefault(cells.index["label"][k], cells.index["name"][n])
    return names
