"""networkx graphs."""

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError
from mhpc.read.taxonomy_formats.base import TaxonomyInput


class NetworkxGraph:
    """A directed graph whose edges point from parents to children, as in networkx's trees.

    In a multigraph with edges called ``is_a``, as readers of ontologies build it, they point from
    children to parents.
    """

    name = "networkx"
    kinds = ()

    def matches(self, source: TaxonomyInput) -> bool:
        """Return whether it is a graph of networkx, without importing the library."""
        return any(kind.__module__.startswith("networkx.") for kind in type(source.value).__mro__)

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of the nodes; their attribute ``name`` is the name."""
        graph = source.value
        if not graph.is_directed():
            raise TaxonomyError(
                f"{source.origin}: its edges have no direction; give a DiGraph, from parent to "
                "child"
            )
        labels = [str(node) for node in graph.nodes]
        names = [str(attributes.get("name", node)) for node, attributes in graph.nodes(data=True)]
        if graph.is_multigraph() and any(kind == "is_a" for *_, kind in graph.edges(keys=True)):
            edges = [(str(a), str(b)) for a, b, kind in graph.edges(keys=True) if kind == "is_a"]
        else:
            edges = [(str(child), str(parent)) for parent, child in graph.edges()]
        return build_taxonomy(labels, edges, names=names, origin=source.origin)
