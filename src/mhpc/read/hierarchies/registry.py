"""The formats of taxonomies by name, in the order in which they are tried."""

from collections.abc import Mapping
from types import MappingProxyType

from mhpc.errors import ParameterError, nearest, quoted
from mhpc.read.hierarchies import (
    clus,
    codes,
    edges,
    graphs,
    icd,
    label_studio,
    nested,
    obo,
    skos,
    tables,
)
from mhpc.read.hierarchies.shape import Hierarchy, Told

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
