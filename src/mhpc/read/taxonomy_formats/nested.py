"""JSON trees: nodes with children, keys within keys, or groups of names."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mhpc.data.taxonomy import PATH_SEPARATOR, Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError, quote_list
from mhpc.read.json_xml import MAX_DEPTH, load_json, too_deep_error
from mhpc.read.taxonomy_formats.base import TaxonomyInput

_IDS = ("id", "code", "key", "uri")
_NAMES = ("name", "label", "title", "text", "value")
_CHILDREN = ("children", "nodes", "subcategories", "subclasses", "items", "narrower")
_PARENTS = ("parent", "parent_id", "parentid", "broader")


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
            document = source.value
        else:
            document = load_json(source.read_content(), source.origin)
        try:
            nodes = list(_walk_nodes(document, source.origin))
        except RecursionError:
            raise too_deep_error(source.origin) from None
        if not nodes:
            raise TaxonomyError(f"{source.origin}: no label in it")
        ids = _make_ids(nodes)
        edges = {
            (id_, ids[node.parent]): None
            for id_, node in zip(ids, nodes, strict=True)
            if node.parent >= 0
        }
        names = dict(zip(ids, (node.path[-1] for node in nodes), strict=True))
        return build_taxonomy(list(names), edges, names=list(names.values()), origin=source.origin)


@dataclass(frozen=True)
class _Node:
    """A node: its own id, the names on the path to it, and the position of its parent or -1."""

    id: str | None
    path: tuple[str, ...]
    parent: int


def _is_table(head: str) -> bool:
    """Return whether the first object has a parent, and so is the row of a table."""
    start = head.lstrip()
    first_object = start[1:].lstrip() if start.startswith("[") else start
    try:
        row, _ = json.JSONDecoder().raw_decode(first_object)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and bool({key.lower() for key in row}.intersection(_PARENTS))


def _walk_nodes(document: Any, origin: str) -> Iterator[_Node]:
    """Yield the nodes, each after its parent, with an explicit stack as files may be deep."""
    count = 0
    stack: list[tuple[Any, tuple[str, ...], int]] = [(document, (), -1)]
    while stack:
        content, path, parent = stack.pop()
        children = list(_children_in(content, path, origin))
        if children and len(path) >= MAX_DEPTH:
            raise too_deep_error(origin)
        positions = range(count, count + len(children))
        for id_, name, _ in children:
            yield _Node(id_, (*path, name), parent)
        count += len(children)
        for position, (_, name, inside) in reversed(list(zip(positions, children, strict=True))):
            if inside:
                stack.append((inside, (*path, name), position))


def _children_in(
    content: Any, path: tuple[str, ...], origin: str
) -> Iterator[tuple[str | None, str, Any]]:
    """Yield the id, name and content of the nodes directly inside."""
    if isinstance(content, Mapping) and not _is_node(content):
        for name, inside in content.items():
            unnamed = isinstance(inside, Mapping) and _is_node(inside) and not _has_name(inside)
            yield None, str(name), _first_value(inside, _CHILDREN) if unnamed else inside
    elif isinstance(content, Mapping):
        yield _describe_node(content, path, origin)
    elif isinstance(content, Sequence) and not isinstance(content, str):
        for item in content:
            if isinstance(item, Mapping) and _is_node(item):
                yield _describe_node(item, path, origin)
            elif isinstance(item, Mapping | list):
                yield from _children_in(item, path, origin)
            else:
                yield None, str(item), None
    elif content is not None and path and content != "":
        yield None, str(content), None


def _describe_node(
    node: Mapping[str, Any], path: tuple[str, ...], origin: str
) -> tuple[str | None, str, Any]:
    id_, name = _first_value(node, _IDS), _first_value(node, _NAMES)
    if id_ is None and name is None:
        where = PATH_SEPARATOR.join(path) or "the top"
        raise TaxonomyError(
            f"{origin}: a node below {quote_list([where])} has neither a name nor an id"
        )
    shown = str(name if name is not None else id_)
    return None if id_ is None else str(id_), shown, _first_value(node, _CHILDREN)


def _is_node(mapping: Mapping[str, Any]) -> bool:
    """Return whether the keys are the attributes of one node, not the names of several."""
    keys = {str(key).lower() for key in mapping}
    return bool(keys.intersection(_CHILDREN)) or _has_name(mapping)


def _has_name(mapping: Mapping[str, Any]) -> bool:
    values = (_first_value(mapping, _NAMES), _first_value(mapping, _IDS))
    return any(isinstance(value, str | int) for value in values)


def _first_value(mapping: Mapping[str, Any], keys: Sequence[str]) -> Any:
    lower = {str(key).lower(): value for key, value in mapping.items()}
    return next((lower[key] for key in keys if key in lower), None)


def _make_ids(nodes: Sequence[_Node]) -> list[str]:
    """Return an id for each node: its own, its name if that is unique, or its path.

    Two nodes with the same id of their own are one label with two parents; no others share an id.
    """
    groups = {
        node.parent
        for node in nodes
        if node.parent >= 0 and nodes[node.parent].path[-1] == node.path[-1]
    }
    names = [
        f"{node.path[-1]} (group)" if position in groups else node.path[-1]
        for position, node in enumerate(nodes)
    ]
    name_counts = Counter(names)
    taken = {node.id for node in nodes}
    ids = []
    for node, name in zip(nodes, names, strict=True):
        id_ = node.id or (name if name_counts[name] == 1 else PATH_SEPARATOR.join(node.path))
        while node.id is None and id_ in taken:
            id_ += " (group)"
        taken.add(id_)
        ids.append(id_)
    return ids
