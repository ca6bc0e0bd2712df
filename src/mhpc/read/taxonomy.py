"""Reading taxonomies."""

from collections.abc import Mapping
from pathlib import Path

from mhpc.core.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError
from mhpc.read.arff import read_arff
from mhpc.read.cells import Cells, read_cells, refuse_empty
from mhpc.read.columns import TAXONOMY_ALIASES, find_columns
from mhpc.read.files import local_file
from mhpc.read.paths import taxonomy_from_paths
from mhpc.read.table import TableSource, open_table


def read_taxonomy(
    source: TableSource,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
) -> Taxonomy:
    """Read a hierarchy: a table label, parent; path codes; or a Clus HMC ARFF file.

    Parameters
    ----------
    source : path, "-", dataframe, mapping of columns or list of mappings
        With a column ``parent``: an edge a row, several rows for several parents, an empty
        parent for a root; ``name`` may hold what to show. Without one, labels are paths such
        as ``20/01/03`` or ``A > B > C`` and every prefix is a parent.
    columns : mapping of role to column name, optional
        Where the names are none of the usual ones: ``{"label": "node"}``.
    separator : str, optional
        What separates the steps of paths; found by itself unless given.

    Examples
    --------
    >>> read_taxonomy({"label": ["plant", "flower"], "parent": [None, "plant"]})
    Taxonomy(2 labels, 2 levels)
    >>> read_taxonomy({"label": ["plant > flower > monarda"]})
    Taxonomy(3 labels, 3 levels)
    """
    if isinstance(source, str | Path):
        with local_file(source) as file:
            if file.format == "arff":
                return _of_several(read_arff(file).taxonomy, file.name)
            return _read_table(file, columns, separator)
    return _read_table(source, columns, separator)


def _read_table(
    source: TableSource, columns: Mapping[str, str] | None, separator: str | None
) -> Taxonomy:
    with open_table(source, name="the taxonomy") as table:
        origin = table.origin
        found = find_columns(
            table.columns, TAXONOMY_ALIASES, required=("label",), chosen=columns, origin=origin
        )
        cells = read_cells(table, found, tuple(found))
        refuse_empty(cells, "label", origin)
    if "parent" in found:
        return _of_several(_from_edges(cells, origin), origin)
    taxonomy = taxonomy_from_paths(
        cells.index["label"].ids, names=_names(cells), separator=separator, origin=origin
    )
    return _of_several(taxonomy, origin)


def _from_edges(cells: Cells, origin: str) -> Taxonomy:
    label, parent = cells.position["label"], cells.position["parent"]
    below, above = cells.index["label"], cells.index["parent"]
    labels = list(below)
    if (parent >= 0).all():
        # A bare list of edges has no rows for roots: they are the parents that are no child.
        labels += [root for root in above if root not in below]
    edges = [
        (below[k], above[p]) for k, p in zip(label.tolist(), parent.tolist(), strict=True) if p >= 0
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


def _of_several(taxonomy: Taxonomy, origin: str) -> Taxonomy:
    if len(taxonomy) < 2:
        raise TaxonomyError(
            f"{origin} has one label, {taxonomy.labels[0]!r}: there is nothing to choose between; "
            "give at least two"
        )
    return taxonomy
