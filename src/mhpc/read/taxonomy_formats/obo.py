"""OBO: the terms of an ontology, with ``is_a`` and, if asked for, ``part_of``.

Obsolete terms are left out; alternative ids, and obsolete ones that were replaced, stand for the
term that they became. A parser of our own: it keeps four tags of each term and so takes a tenth
of the time of those that keep all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import ParameterError, TaxonomyError, UnreadableError
from mhpc.read.taxonomy_formats.base import TaxonomyInput, atomic_file

_RELATIONS = ("part_of",)


@dataclass
class _Term:
    """What is kept of a term, as its lines come."""

    line: int
    id: str = ""
    name: str = ""
    parents: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    obsolete: bool = False
    replaced_by: str = ""


def matches(told: TaxonomyInput) -> bool:
    """Tell whether the head has the version of the format, or a term."""
    if told.file is None or told.file.format != "csv":
        return False
    return told.head.startswith("format-version:") or "\n[Term]\n" in f"\n{told.head}".replace(
        "\r\n", "\n"
    )


def read(told: TaxonomyInput) -> Taxonomy:
    """Return the terms that are not obsolete."""
    if told.argument not in (None, *_RELATIONS):
        raise ParameterError(
            f"--taxonomy-format obo={told.argument}: no such relation; give obo or obo=part_of"
        )
    terms = {term.id: term for term in _terms(told)}
    live = {id_: term for id_, term in terms.items() if not term.obsolete}
    if not live:
        raise TaxonomyError(f"{told.origin}: no term that is not obsolete")
    # A parent from another ontology, which is not in this file, is no label.
    edges = [(id_, up) for id_, term in live.items() for up in term.parents if up in live]
    others = {other: id_ for id_, term in live.items() for other in term.others}
    others |= {
        id_: term.replaced_by
        for id_, term in terms.items()
        if term.obsolete and term.replaced_by in live
    }
    return build_taxonomy(
        list(live), edges, names=[term.name or term.id for term in live.values()],
        alternative_ids={other: id_ for other, id_ in others.items() if other not in live},
        origin=told.origin,
    )  # fmt: skip


def _terms(told: TaxonomyInput) -> Iterator[_Term]:
    """Give the terms of a file, checked."""
    term: _Term | None = None
    for number, line in enumerate(_lines(told), start=1):
        if line.startswith("["):
            if term is not None:
                yield _checked(term, told)
            term = _Term(number) if line.startswith("[Term]") else None
        elif term is not None and line:
            tag, colon, value = line.partition(": ")
            if colon:
                _keep(term, tag, value, told.argument)
            elif not line.endswith(":") and not line.startswith("!"):
                raise UnreadableError(f"{told.origin}, line {number:,}: {line[:60]!r} has no tag")
    if term is not None:
        yield _checked(term, told)


def _lines(told: TaxonomyInput) -> list[str]:
    try:
        text = atomic_file(told).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{told.origin}: byte {error.start:,} is not UTF-8") from None
    return text.replace("\r\n", "\n").split("\n")


def _keep(term: _Term, tag: str, value: str, relation: str | None) -> None:
    if tag == "id":
        term.id = _bare(value)
    elif tag == "name":
        term.name = value.strip()
    elif tag == "is_a":
        term.parents.append(_bare(value))
    elif tag == "alt_id":
        term.others.append(_bare(value))
    elif tag == "is_obsolete":
        term.obsolete = _bare(value) == "true"
    elif tag == "replaced_by":
        term.replaced_by = _bare(value)
    elif tag == "relationship" and relation and value.startswith(f"{relation} "):
        term.parents.append(_bare(value.partition(" ")[2]))


def _bare(value: str) -> str:
    """Return a value without its qualifiers and its comment."""
    return value.partition("!")[0].partition("{")[0].strip()


def _checked(term: _Term, told: TaxonomyInput) -> _Term:
    if not term.id:
        raise UnreadableError(f"{told.origin}, line {term.line:,}: a term without an id")
    return term
