"""JSON trees: nodes with children, keys within keys, or groups of names."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import TaxonomyError, quote_list
from mhpc.read.columns import TAXONOMY_ALIASES, normalize_name
from mhpc.read.json_xml import MAX_DEPTH, load_json, too_deep_error
from mhpc.read.paths import find_paths, taxonomy_from_paths
from mhpc.read.taxonomy_formats.base import TaxonomyInput
from mhpc.read.taxonomy_formats.levels import find_levels
from mhpc.read.taxonomy_formats.tables import TaxonomyTable
from mhpc.read.taxonomy_formats.trees import TreeNodes, connect_nodes

_IDS = ("id", "code", "key", "uri")
_NAMES = ("name", "label", "title", "text", "value")
_CHILDREN = ("children", "nodes", "subcategories", "subclasses", "items", "narrower")
_LINKED_DATA_KEYS = {"@context", "@graph", "@id"}
_PARENTS = {normalize_name(name) for name in TAXONOMY_ALIASES["parent"]}
_MAX_CACHED_KEYS = 32


class NestedJson:
    """A tree of JSON objects, in a file or in memory.

    ``{"name": "plant", "children": […]}``, ``{"plant": {"flower": {…}}}`` and
    ``{"anger": ["anger", "annoyance"]}`` can all be read, also mixed. The label of a node without
    an id is its name if no other node has it, or else its path. If a child has the name of its
    group, the child keeps it, since that is what answers mean, and the group becomes
    ``anger (group)``.
    """

    name = "nested"
    kinds = ("json", "jsonl")

    def matches(self, source: TaxonomyInput) -> bool:
        """Look for a JSON document, or something nested in memory, that is not a table."""
        if source.file is None:
            return isinstance(source.value, Mapping) and any(
                isinstance(content, Mapping) for content in source.value.values()
            )
        if source.file.format == "json":
            return not _is_table(source.head)
        is_one_object = source.file.format == "jsonl" and "\n" not in source.head.strip()
        return is_one_object and not _is_table(source.head)

    def read(self, source: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy of all nodes, each below the node that contains it."""
        if source.file is None:
            return taxonomy_from_document(source.value, source.origin)
        document = load_json(source.read_content(), source.origin)
        _refuse_linked_data(document, source.origin)
        if are_rows(document):
            # Only a later object has a parent.
            return TaxonomyTable().read(source)
        if isinstance(document, list) and set(map(type, document)) == {str}:
            separator = find_paths(document)
            if separator:
                return taxonomy_from_paths(document, separator=separator, origin=source.origin)
        return taxonomy_from_document(document, source.origin)


def taxonomy_from_document(document: Any, origin: str) -> Taxonomy:
    """Return the taxonomy of a tree of mappings, lists and names."""
    try:
        nodes = _list_nodes(document, origin)
    except RecursionError:
        raise too_deep_error(origin) from None
    if (nodes.parents < 0).all():
        _refuse_unknown_children(document, origin)
    return connect_nodes(nodes, origin)


def _refuse_linked_data(document: Any, origin: str) -> None:
    first = document[0] if isinstance(document, list) and document else document
    if isinstance(first, dict) and not _LINKED_DATA_KEYS.isdisjoint(first):
        raise TaxonomyError(f"{origin} is JSON-LD, which is not read; save it as Turtle or RDF/XML")


def _refuse_unknown_children(document: Any, origin: str) -> None:
    """Raise an error if the labels of a flat list seem to have children under an unknown key."""
    for node in document if isinstance(document, list) else ():
        for key, inside in node.items() if isinstance(node, Mapping) and _has_name(node) else ():
            if isinstance(inside, list) and any(
                isinstance(item, Mapping) and _has_name(item) for item in inside
            ):
                raise TaxonomyError(
                    f"{origin}: nothing says what the objects under {quote_list([str(key)])} are; "
                    "if they are the labels below, call the key 'children'"
                )


def are_rows(document: Any) -> bool:
    """Return whether a document is a table: a list in which an object has a parent, or levels."""
    return isinstance(document, list) and any(
        isinstance(row, Mapping) and _is_row(row) for row in document
    )


@dataclass(frozen=True)
class _Siblings:
    """The nodes directly inside one node, or at the top.

    Attributes
    ----------
    ids, names : lists of str or None
        The id and name of each, if it has one; an id is a name, too.
    contents : list, optional
        What each contains; None if none of them contains anything.
    """

    ids: list[str | None]
    names: list[str | None]
    contents: list[Any] | None


class _Attributes(NamedTuple):
    """The keys of an object that contain its id, its name and its children; None if none does."""

    id: Any
    name: Any
    children: Any


def _is_table(head: str) -> bool:
    """Return whether the first object has a parent or levels, and so is the row of a table."""
    start = head.lstrip()
    first_object = start[1:].lstrip() if start.startswith("[") else start
    try:
        row, _ = json.JSONDecoder().raw_decode(first_object)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and _is_row(row)


def _is_row(row: Mapping[Any, Any]) -> bool:
    keys = [str(key) for key in row]
    if {normalize_name(key) for key in keys}.intersection(_PARENTS):
        return True
    return bool(find_levels(keys)) and not any(isinstance(v, dict | list) for v in row.values())


def _list_nodes(document: Any, origin: str) -> TreeNodes:
    """List the nodes of a document with an explicit stack, as files may be deep."""
    ids: list[str | None] = []
    names: list[Any] = []
    parents, sizes = [-1], [0]
    stack: list[tuple[Any, int, int]] = [(document, -1, 0)]
    while stack:
        content, parent, depth = stack.pop()
        siblings = _list_siblings(content, is_top=parent < 0)
        if None in siblings.names:
            where = TreeNodes(ids, names, np.repeat(parents, sizes)).path(parent) or "the top"
            raise TaxonomyError(
                f"{origin}: a node below {quote_list([where])} has neither a name nor an id"
            )
        if siblings.names and depth >= MAX_DEPTH:
            raise too_deep_error(origin)
        if siblings.contents is not None:
            inside = enumerate(siblings.contents, start=len(names))
            stack += [(content, node, depth + 1) for node, content in inside if content][::-1]
        ids += siblings.ids
        names += siblings.names
        parents.append(parent)
        sizes.append(len(siblings.names))
    return TreeNodes(ids, names, np.repeat(parents, sizes))


def _list_siblings(content: Any, *, is_top: bool) -> _Siblings:
    """List the nodes in a document or directly inside a node."""
    siblings = _list_similar(content) if type(content) is list else None
    if siblings is not None:
        return siblings
    nodes = list(_walk_children(content, is_top=is_top))
    return _Siblings(*([node[part] for node in nodes] for part in range(3)))


def _list_similar(content: list[Any]) -> _Siblings | None:
    """List siblings that are all names, or all objects with the same attributes, or return None.

    Nearly all siblings in large files are, and need not be looked at one by one.
    """
    no_ids: list[str | None] = [None] * len(content)
    types = set(map(type, content))
    if types == {str}:
        return _Siblings(no_ids, content, None)
    if types != {dict}:
        return None
    kinds = [_find_attributes(keys) for keys in set(map(tuple, content))]
    id_keys, name_keys, child_keys = (
        list({kind[part] for kind in kinds} - {None}) for part in range(3)
    )
    if len(name_keys) != 1 or len(id_keys) > 1 or len(child_keys) > 1:
        return None
    names = [node.get(name_keys[0]) for node in content]
    if set(map(type, names)) != {str}:
        return None
    ids = [_text_or_none(node.get(id_keys[0])) for node in content] if id_keys else no_ids
    contents = [node.get(child_keys[0]) for node in content] if child_keys else None
    return _Siblings(ids, names, contents)


def _walk_children(content: Any, *, is_top: bool) -> Iterator[tuple[str | None, str | None, Any]]:
    """Yield the id, name and content of the nodes directly inside."""
    if isinstance(content, Mapping) and not _is_node(content):
        for name, inside in content.items():
            unnamed = isinstance(inside, Mapping) and _is_node(inside) and not _has_name(inside)
            yield None, _text_or_none(name), _describe_node(inside)[2] if unnamed else inside
    elif isinstance(content, Mapping):
        yield _describe_node(content)
    elif isinstance(content, Sequence | set | frozenset) and not isinstance(content, str):
        # The order of a set differs from one process to the next.
        for item in content if isinstance(content, Sequence) else sorted(content, key=str):
            if isinstance(item, Mapping) and _is_node(item):
                yield _describe_node(item)
            elif isinstance(item, Mapping | list):
                yield from _walk_children(item, is_top=is_top)
            else:
                yield None, _text_or_none(item), None
    elif content is not None and not is_top and content != "":
        # A number or a truth value beside a label is no label below it.
        yield None, content if isinstance(content, str) else None, None


def _describe_node(node: Mapping[Any, Any]) -> tuple[str | None, str | None, Any]:
    """Return the id, the name and the content of a node."""
    id_, name, content = _attribute_values(node)
    return _text_or_none(id_), _text_or_none(id_ if name is None else name), content


def _is_node(mapping: Mapping[Any, Any]) -> bool:
    """Return whether the keys are the attributes of one node, not the names of several."""
    return _attributes_of(mapping).children is not None or _has_name(mapping)


def _has_name(mapping: Mapping[Any, Any]) -> bool:
    id_, name, _ = _attribute_values(mapping)
    return isinstance(name, str | int) or isinstance(id_, str | int)


def _attribute_values(mapping: Mapping[Any, Any]) -> tuple[Any, Any, Any]:
    id_, name, children = _attributes_of(mapping)
    return (
        None if id_ is None else mapping[id_],
        None if name is None else mapping[name],
        None if children is None else mapping[children],
    )


def _attributes_of(mapping: Mapping[Any, Any]) -> _Attributes:
    if len(mapping) > _MAX_CACHED_KEYS:
        # These are the names of nodes, so no other object has the same keys.
        return _find_attributes.__wrapped__(tuple(mapping))
    return _find_attributes(tuple(mapping))


@lru_cache(maxsize=256)
def _find_attributes(keys: tuple[Any, ...]) -> _Attributes:
    lower = {str(key).lower(): key for key in keys}
    return _Attributes(
        *(
            next((lower[name] for name in names if name in lower), None)
            for names in (_IDS, _NAMES, _CHILDREN)
        )
    )


def _text_or_none(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
