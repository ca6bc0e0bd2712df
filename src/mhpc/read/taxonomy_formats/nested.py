"""JSON trees: nodes with children, keys within keys, or groups of names.

``{"name": "plant", "children": […]}``, ``{"plant": {"flower": {…}}}`` and
``{"anger": ["anger", "annoyance"]}`` are all read, mixed or not. A node without an id is called by
its name if only one has it, else by its path. A child may carry the name of the group it is in:
then the child has it, as answers mean, and the group is called ``anger (group)``.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mhpc.data.taxonomy import PATH_SEPARATOR, Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError, quote_list
from mhpc.read.json_xml import MAX_DEPTH, load_json, too_deep
from mhpc.read.taxonomy_formats.base import TaxonomyInput, atomic_file

_IDS = ("id", "code", "key", "uri")
_NAMES = ("name", "label", "title", "text", "value")
_CHILDREN = ("children", "nodes", "subcategories", "subclasses", "items", "narrower")
_PARENTS = ("parent", "parent_id", "parentid", "broader")


@dataclass(frozen=True)
class _Node:
    """A node, the position of the one above it, and the names on the way to it."""

    id: str | None
    path: tuple[str, ...]
    above: int


def matches(told: TaxonomyInput) -> bool:
    """Tell whether it is a JSON document, or something nested in memory, but no table."""
    if told.file is None:
        return isinstance(told.source, Mapping) and any(
            isinstance(below, Mapping) for below in told.source.values()
        )
    if told.file.format == "json":
        return not _is_table(told.head)
    alone = told.file.format == "jsonl" and "\n" not in told.head.strip()
    return alone and not _is_table(told.head)


def read(told: TaxonomyInput) -> Taxonomy:
    """Return every node with the one it is in."""
    try:
        nodes = list(_nodes(_document(told), told.origin))
    except RecursionError:
        raise too_deep(told.origin) from None
    if not nodes:
        raise TaxonomyError(f"{told.origin}: no label in it")
    ids = _ids(nodes)
    edges = {
        (id_, ids[node.above]): None
        for id_, node in zip(ids, nodes, strict=True)
        if node.above >= 0
    }
    names = dict(zip(ids, (node.path[-1] for node in nodes), strict=True))
    return build_taxonomy(list(names), edges, names=list(names.values()), origin=told.origin)


def _is_table(head: str) -> bool:
    """Tell whether objects say who their parent is, and so are rows."""
    start = head.lstrip()
    begins = start[1:].lstrip() if start.startswith("[") else start
    try:
        row, _ = json.JSONDecoder().raw_decode(begins)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and bool({key.lower() for key in row}.intersection(_PARENTS))


def _document(told: TaxonomyInput) -> Any:
    if told.file is None:
        return told.source
    return load_json(atomic_file(told), told.origin)


def _nodes(document: Any, origin: str) -> Iterator[_Node]:
    """Give nodes, each after the one it is in; a stack of our own, since depth is the file's."""
    count = 0
    waiting: list[tuple[Any, tuple[str, ...], int]] = [(document, (), -1)]
    while waiting:
        content, path, above = waiting.pop()
        found = list(_below(content, path, origin))
        if found and len(path) >= MAX_DEPTH:
            raise too_deep(origin)
        places = range(count, count + len(found))
        for id_, name, _ in found:
            yield _Node(id_, (*path, name), above)
        count += len(found)
        for place, (_, name, inside) in reversed(list(zip(places, found, strict=True))):
            if inside:
                waiting.append((inside, (*path, name), place))


def _below(
    content: Any, path: tuple[str, ...], origin: str
) -> Iterator[tuple[str | None, str, Any]]:
    """Give id, name and content of what is directly inside."""
    if isinstance(content, Mapping) and not _describes(content):
        for name, inside in content.items():
            nested = isinstance(inside, Mapping) and _describes(inside) and not _named(inside)
            yield None, str(name), _first(inside, _CHILDREN) if nested else inside
    elif isinstance(content, Mapping):
        yield _described(content, path, origin)
    elif isinstance(content, Sequence) and not isinstance(content, str):
        for each in content:
            if isinstance(each, Mapping) and _describes(each):
                yield _described(each, path, origin)
            elif isinstance(each, Mapping | list):
                yield from _below(each, path, origin)
            else:
                yield None, str(each), None
    elif content is not None and path and content != "":
        yield None, str(content), None


def _described(
    node: Mapping[str, Any], path: tuple[str, ...], origin: str
) -> tuple[str | None, str, Any]:
    id_, name = _first(node, _IDS), _first(node, _NAMES)
    if id_ is None and name is None:
        where = PATH_SEPARATOR.join(path) or "the top"
        raise TaxonomyError(
            f"{origin}: a node below {quote_list([where])} has neither a name nor an id"
        )
    shown = str(name if name is not None else id_)
    return None if id_ is None else str(id_), shown, _first(node, _CHILDREN)


def _describes(node: Mapping[str, Any]) -> bool:
    """Tell whether keys are those of one node, not names of nodes."""
    keys = {str(key).lower() for key in node}
    return bool(keys.intersection(_CHILDREN)) or _named(node)


def _named(node: Mapping[str, Any]) -> bool:
    found = (_first(node, _NAMES), _first(node, _IDS))
    return any(isinstance(each, str | int) for each in found)


def _first(node: Mapping[str, Any], keys: Sequence[str]) -> Any:
    lower = {str(key).lower(): value for key, value in node.items()}
    return next((lower[key] for key in keys if key in lower), None)


def _ids(nodes: Sequence[_Node]) -> list[str]:
    """Return an id for each node: its own, its name if that is the only one, or its path.

    Two nodes with one id of their own are one label with two parents; no other two share an id.
    """
    within = {
        node.above
        for node in nodes
        if node.above >= 0 and nodes[node.above].path[-1] == node.path[-1]
    }
    called = [
        f"{node.path[-1]} (group)" if at in within else node.path[-1]
        for at, node in enumerate(nodes)
    ]
    often = Counter(called)
    taken = {node.id for node in nodes}
    ids = []
    for node, name in zip(nodes, called, strict=True):
        id_ = node.id or (name if often[name] == 1 else PATH_SEPARATOR.join(node.path))
        while node.id is None and id_ in taken:
            id_ += " (group)"
        taken.add(id_)
        ids.append(id_)
    return ids
