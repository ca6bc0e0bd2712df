"""networkx graphs: an edge goes from a parent to its child, as in its trees.

A graph whose edges are called ``is_a``, as ontologies are read into, goes from child to parent.
"""

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError
from mhpc.read.taxonomy_formats.base import TaxonomyInput


def matches(told: TaxonomyInput) -> bool:
    """Tell whether it is a graph of that library, which need not be imported for it."""
    return any(kind.__module__.startswith("networkx.") for kind in type(told.source).__mro__)


def read(told: TaxonomyInput) -> Taxonomy:
    """Return the nodes, by the text of each, with their attribute ``name``."""
    graph = told.source
    if not graph.is_directed():
        raise TaxonomyError(
            f"{told.origin}: its edges have no direction; give a DiGraph, from parent to child"
        )
    labels = [str(node) for node in graph.nodes]
    names = [str(facts.get("name", node)) for node, facts in graph.nodes(data=True)]
    if graph.is_multigraph() and any(kind == "is_a" for *_, kind in graph.edges(keys=True)):
        edges = [(str(a), str(b)) for a, b, kind in graph.edges(keys=True) if kind == "is_a"]
    else:
        edges = [(str(child), str(parent)) for parent, child in graph.edges()]
    return build_taxonomy(labels, edges, names=names, origin=told.origin)
