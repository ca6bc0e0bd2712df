"""SKOS concepts, or RDFS and OWL classes, in Turtle, N-Triples or RDF/XML, read by rdflib."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import MissingExtraError, TaxonomyError, UnreadableError
from mhpc.process import SharedSetting, no_fork
from mhpc.read.files import split_lines
from mhpc.read.json_xml import check_entities
from mhpc.read.taxonomy_formats.base import TaxonomyInput

_LANGUAGES = ("en", None)
_TURTLE_BEGINNINGS = ("@prefix", "@base", "prefix ", "base ", "<http", "<urn:")

_BASE = "http://relative.invalid/"
"""What relative URIs are resolved against, instead of the folder that the program runs in."""

_PARSING: ContextVar[bool] = ContextVar("parsing RDF", default=False)


class Skos:
    """A thesaurus or an ontology in RDF.

    Labels are the URIs of concepts, named by their preferred label; ``skos:broader``, its inverse
    ``skos:narrower`` and ``rdfs:subClassOf`` are the edges. Deprecated concepts are left out.
    """

    name = "skos"

    def matches(self, source: TaxonomyInput) -> bool:
        """Look for prefixes of Turtle, triples, or an RDF element."""
        if source.file is None:
            return False
        if source.file.format == "xml":
            namespace = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
            return "rdf:RDF" in source.head or namespace in source.head
        lines = [line for line in split_lines(source.head) if line.strip() and line[:1] != "#"]
        return bool(lines) and lines[0].lower().startswith(_TURTLE_BEGINNINGS)

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of the concepts, or of the classes if there are no concepts."""
        graph = _parse_graph(source)
        names = _name_nodes(graph)
        if not names:
            raise TaxonomyError(f"{source.origin}: no SKOS concept and no class in it")
        edges = [
            (_label_of(child), _label_of(parent))
            for child, parent in _find_edges(graph)
            if {child, parent} <= names.keys()
        ]
        return build_taxonomy(
            list(map(_label_of, names)), edges, names=list(names.values()), origin=source.origin
        )


def _parse_graph(source: TaxonomyInput) -> Any:
    content = source.read_content()
    is_xml = source.file is not None and source.file.format == "xml"
    if is_xml:
        content = check_entities(content, source.origin)
    try:
        with no_fork:
            from rdflib import Graph
    except ImportError:
        raise MissingExtraError(
            f"{source.origin} is RDF; pip install 'mhpc[rdf]' to read it"
        ) from None
    try:
        with _silent_rdflib():
            if is_xml:
                return Graph().parse(data=content, format="xml")
            return Graph().parse(data=content, format="turtle", publicID=_BASE)
    except Exception as error:  # noqa: BLE001 - every parser of rdflib has errors of its own
        message = " ".join(str(error).split())[:200]
        raise UnreadableError(f"{source.origin} is damaged RDF: {message}") from None


@contextmanager
def _silent_rdflib() -> Iterator[None]:
    """Let rdflib log nothing: it logs doubtful URIs, and so the content of the file."""
    before = _PARSING.set(True)
    try:
        with _FILTERED.in_force():
            yield
    finally:
        _PARSING.reset(before)


def _is_not_parsing(record: logging.LogRecord) -> bool:
    """Tell whether a message of rdflib is that of another thread."""
    return not _PARSING.get()


_LOGGER = logging.getLogger("rdflib.term")
_FILTERED = SharedSetting(
    partial(_LOGGER.addFilter, _is_not_parsing), partial(_LOGGER.removeFilter, _is_not_parsing)
)


def _name_nodes(graph: Any) -> dict[Any, str]:
    """Return the nodes of the hierarchy, each with its name."""
    from rdflib import OWL, RDF, RDFS, SKOS, URIRef

    nodes = set(graph.subjects(RDF.type, SKOS.Concept))
    for child, parent in _find_edges(graph):
        nodes |= {child, parent}
    if not nodes:
        nodes = {*graph.subjects(RDF.type, OWL.Class), *graph.subjects(RDF.type, RDFS.Class)}
    deprecated = set(graph.subjects(OWL.deprecated, None))
    kept = sorted(node for node in nodes - deprecated if isinstance(node, URIRef))
    return {node: _preferred_name(graph, node) for node in kept}


def _find_edges(graph: Any) -> set[tuple[Any, Any]]:
    from rdflib import RDFS, SKOS, URIRef

    edges = set(graph.subject_objects(SKOS.broader))
    edges |= {(child, parent) for parent, child in graph.subject_objects(SKOS.narrower)}
    edges |= set(graph.subject_objects(RDFS.subClassOf))
    # Classes are often subclasses of themselves, or of a restriction without a name.
    return {
        (child, parent)
        for child, parent in edges
        if child != parent and isinstance(child, URIRef) and isinstance(parent, URIRef)
    }


def _label_of(node: Any) -> str:
    """Return the URI of a node; a relative one as the file has it."""
    return str(node).removeprefix(_BASE)


def _preferred_name(graph: Any, node: Any) -> str:
    """Return the preferred label: the English one, or else the one without a language."""
    from rdflib import RDFS, SKOS

    for predicate in (SKOS.prefLabel, RDFS.label):
        if names := sorted(graph.objects(node, predicate), key=_language_rank):
            return str(names[0])
    uri = _label_of(node)
    return uri.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1] or uri


def _language_rank(name: Any) -> tuple[int, str, str]:
    language = getattr(name, "language", None)
    rank = _LANGUAGES.index(language) if language in _LANGUAGES else len(_LANGUAGES)
    return rank, language or "", str(name)
