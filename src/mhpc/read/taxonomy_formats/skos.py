"""SKOS, and classes of RDFS or OWL, in Turtle, N-Triples or RDF/XML, read by rdflib.

Labels are the URIs of concepts, named by their preferred label; ``skos:broader``, its inverse
``skos:narrower`` and ``rdfs:subClassOf`` say who is above. What is deprecated is left out.
"""

import logging
from typing import Any

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import MissingExtraError, TaxonomyError, UnreadableError
from mhpc.read.json_xml import check_entities
from mhpc.read.taxonomy_formats.base import TaxonomyInput, atomic_file

_LANGUAGES = ("en", None)


def matches(told: TaxonomyInput) -> bool:
    """Tell whether it is RDF: prefixes of Turtle, triples, or an RDF element."""
    if told.file is None:
        return False
    if told.file.format == "xml":
        return "rdf:RDF" in told.head or "http://www.w3.org/1999/02/22-rdf-syntax-ns#" in told.head
    begins = [line for line in told.head.splitlines() if line.strip() and line[:1] != "#"]
    return bool(begins) and begins[0].lower().startswith(
        ("@prefix", "@base", "prefix ", "base ", "<http", "<urn:")
    )


def read(told: TaxonomyInput) -> Taxonomy:
    """Return the concepts, or else the classes."""
    graph = _graph(told)
    labels = _labels(graph)
    if not labels:
        raise TaxonomyError(f"{told.origin}: no SKOS concept and no class in it")
    edges = [(below, above) for below, above in _edges(graph) if {below, above} <= labels.keys()]
    return build_taxonomy(
        list(map(str, labels)),
        [(str(below), str(above)) for below, above in edges],
        names=list(labels.values()),
        origin=told.origin,
    )


def _graph(told: TaxonomyInput) -> Any:
    content = atomic_file(told)
    xml = told.file is not None and told.file.format == "xml"
    if xml:
        check_entities(content, told.origin)
    try:
        from rdflib import Graph
    except ImportError:
        raise MissingExtraError(
            f"{told.origin} is RDF; pip install 'mhpc[rdf]' to read it"
        ) from None
    logger = logging.getLogger("rdflib.term")
    said_before = logger.disabled
    # It prints what it doubts, as it stands in the file.
    logger.disabled = True
    try:
        return Graph().parse(data=content, format="xml" if xml else "turtle")
    except Exception as error:  # noqa: BLE001 - every parser of rdflib has errors of its own
        said = " ".join(str(error).split())[:200]
        raise UnreadableError(f"{told.origin} is damaged RDF: {said}") from None
    finally:
        logger.disabled = said_before


def _labels(graph: Any) -> dict[Any, str]:
    """Return the nodes of the hierarchy, each with its name."""
    from rdflib import OWL, RDF, RDFS, SKOS, URIRef

    nodes = set(graph.subjects(RDF.type, SKOS.Concept))
    for below, above in _edges(graph):
        nodes |= {below, above}
    if not nodes:
        nodes = {*graph.subjects(RDF.type, OWL.Class), *graph.subjects(RDF.type, RDFS.Class)}
    retired = set(graph.subjects(OWL.deprecated, None))
    kept = sorted(node for node in nodes - retired if isinstance(node, URIRef))
    return {node: _name(graph, node) for node in kept}


def _edges(graph: Any) -> set[tuple[Any, Any]]:
    from rdflib import RDFS, SKOS, URIRef

    edges = set(graph.subject_objects(SKOS.broader))
    edges |= {(below, above) for above, below in graph.subject_objects(SKOS.narrower)}
    edges |= set(graph.subject_objects(RDFS.subClassOf))
    # A class is often said to be below itself, or below a restriction without a name.
    return {
        (below, above)
        for below, above in edges
        if below != above and isinstance(below, URIRef) and isinstance(above, URIRef)
    }


def _name(graph: Any, node: Any) -> str:
    """Return the preferred label, the English one or the one without a language first."""
    from rdflib import RDFS, SKOS

    for said in (SKOS.prefLabel, RDFS.label):
        found = sorted(graph.objects(node, said), key=_rank)
        if found:
            return str(found[0])
    text = str(node)
    return text.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1] or text


def _rank(name: Any) -> tuple[int, str, str]:
    language = getattr(name, "language", None)
    known = _LANGUAGES.index(language) if language in _LANGUAGES else len(_LANGUAGES)
    return known, language or "", str(name)
