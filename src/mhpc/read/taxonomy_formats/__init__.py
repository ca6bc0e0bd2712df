"""Registry of taxonomy formats."""

from collections.abc import Mapping
from types import MappingProxyType

from mhpc.errors import ParameterError, nearest, quoted
from mhpc.read.taxonomy_formats import arff as clus
from mhpc.read.taxonomy_formats import codes, edges, icd, label_studio, nested, obo, skos, tables
from mhpc.read.taxonomy_formats import networkx as graphs
from mhpc.read.taxonomy_formats.base import Hierarchy, Told

HIERARCHIES: Mapping[str, Hierarchy] = MappingProxyType(
    {
        "icd-10-cm": icd,
        "networkx": graphs,
        "arff": clus,
        "obo": obo,
        "skos": skos,
        "label-studio": label_studio,
        "nested": nested,
        "edges": edges,
        "paths": codes,
        "table": tables,
    }
)
"""The table, which takes all else, comes last."""


def hierarchy_of(told: Told, name: str | None) -> Hierarchy:
    """Return the format that is insisted on, or the first that recognises what is given."""
    if name is None:
        return next(each for each in HIERARCHIES.values() if each.detects(told))
    if name not in HIERARCHIES:
        raise ParameterError(
            f"no format of taxonomies {name!r}{nearest(name, HIERARCHIES)}; there are "
            f"{quoted(list(HIERARCHIES), most=20)}"
        )
    return HIERARCHIES[name]
