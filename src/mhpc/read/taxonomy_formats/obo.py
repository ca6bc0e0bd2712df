"""OBO: the terms of an ontology with ``is_a`` and, if asked for, ``part_of``.

This parser keeps a few tags of each term and therefore takes a tenth of the time of parsers that
keep all of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import ParameterError, TaxonomyError, UnreadableError, option, quote_list
from mhpc.read.files import split_lines
from mhpc.read.taxonomy_formats.base import TaxonomyInput

_RELATIONS = ("part_of",)

_FIRST_LINE = re.compile(r"\[|!|[\w-]+:")
"""How a stanza, a comment or a tag of the header begins."""


class Obo:
    """The terms of an ontology.

    Obsolete terms are left out. Alternative ids, and ids of obsolete terms that were replaced,
    stand for the current term.
    """

    name = "obo"

    def matches(self, source: TaxonomyInput) -> bool:
        """Look for the version of the format, or for a term."""
        if source.file is None or source.file.format != "csv":
            return False
        lines = f"\n{source.head}".replace("\r\n", "\n")
        if source.head.startswith("format-version:"):
            return True
        # A cell of a table may contain "[Term]" too, but its header is no line of OBO.
        return "\n[Term]\n" in lines and _FIRST_LINE.match(lines.lstrip()) is not None

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of the terms that are not obsolete."""
        if source.argument not in (None, *_RELATIONS):
            raise ParameterError(
                f"{option('taxonomy_format', f'obo={source.argument}')}: no such relation; give "
                "obo or obo=part_of"
            )
        terms: dict[str, _Term] = {}
        for term in _read_terms(source):
            if terms.setdefault(term.id, term) is not term:
                raise TaxonomyError(
                    f"{source.origin}, line {term.line:,}: term {quote_list([term.id])} is given a "
                    "second time; put its tags together"
                )
        current = {id_: term for id_, term in terms.items() if not term.is_obsolete}
        if not current:
            raise TaxonomyError(f"{source.origin}: no term that is not obsolete")
        # A parent from another ontology, which is not in this file, is not a label.
        edges = [
            (id_, parent)
            for id_, term in current.items()
            for parent in term.parents
            if parent in current
        ]
        alternative_ids = {
            other: id_ for id_, term in current.items() for other in term.alternative_ids
        } | {
            id_: term.replaced_by
            for id_, term in terms.items()
            if term.is_obsolete and term.replaced_by in current
        }
        return build_taxonomy(
            list(current),
            edges,
            names=[term.name or term.id for term in current.values()],
            alternative_ids={
                other: id_ for other, id_ in alternative_ids.items() if other not in current
            },
            origin=source.origin,
        )


@dataclass
class _Term:
    """The tags of a term that are kept while its lines are read."""

    line: int
    id: str = ""
    name: str = ""
    parents: list[str] = field(default_factory=list)
    alternative_ids: list[str] = field(default_factory=list)
    is_obsolete: bool = False
    replaced_by: str = ""


def _read_terms(source: TaxonomyInput) -> Iterator[_Term]:
    term: _Term | None = None
    for number, line in enumerate(_read_lines(source), start=1):
        if line.startswith("["):
            if term is not None:
                yield _check_term(term, source)
            term = _Term(number) if line.startswith("[Term]") else None
        elif term is not None and line:
            tag, colon, value = line.partition(": ")
            if colon:
                _add_tag(term, tag, value, source.argument)
            elif not line.endswith(":") and not line.startswith("!"):
                raise UnreadableError(f"{source.origin}, line {number:,}: {line[:60]!r} has no tag")
    if term is not None:
        yield _check_term(term, source)


def _read_lines(source: TaxonomyInput) -> list[str]:
    return split_lines(source.read_text())


def _add_tag(term: _Term, tag: str, value: str, relation: str | None) -> None:
    if tag == "id":
        term.id = _bare_value(value)
    elif tag == "name":
        term.name = value.strip()
    elif tag == "is_a":
        term.parents.append(_bare_value(value))
    elif tag == "alt_id":
        term.alternative_ids.append(_bare_value(value))
    elif tag == "is_obsolete":
        term.is_obsolete = _bare_value(value) == "true"
    elif tag == "replaced_by":
        term.replaced_by = _bare_value(value)
    elif tag == "relationship" and relation and value.startswith(f"{relation} "):
        term.parents.append(_bare_value(value.partition(" ")[2]))


def _bare_value(value: str) -> str:
    """Return a value without its qualifiers and its comment."""
    return value.partition("!")[0].partition("{")[0].strip()


def _check_term(term: _Term, source: TaxonomyInput) -> _Term:
    if not term.id:
        raise UnreadableError(f"{source.origin}, line {term.line:,}: a term without an id")
    return term
