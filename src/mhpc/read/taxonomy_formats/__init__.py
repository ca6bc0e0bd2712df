"""Registry of taxonomy formats."""

from collections.abc import Mapping
from types import MappingProxyType

from mhpc.errors import ParameterError, quote_list, suggest
from mhpc.read.taxonomy_formats import arff as clus
from mhpc.read.taxonomy_formats import codes, edges, icd, label_studio, nested, obo, skos, tables
from mhpc.read.taxonomy_formats import networkx as graphs
from mhpc.read.taxonomy_formats.base import TaxonomyFormat, TaxonomyInput

TAXONOMY_FORMATS: Mapping[str, TaxonomyFormat] = MappingProxyType(
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


def taxonomy_format(told: TaxonomyInput, name: str | None) -> TaxonomyFormat:
    """Return the format that is insisted on, or the first that recognises what is given."""
    if name is None:
        return next(each for each in TAXONOMY_FORMATS.values() if each.matches(told))
    if name not in TAXONOMY_FORMATS:
        raise ParameterError(
            f"no format of taxonomies {name!r}{suggest(name, TAXONOMY_FORMATS)}; there are "
            f"{quote_list(list(TAXONOMY_FORMATS), most=20)}"
        )
    return TAXONOMY_FORMATS[name]
