"""Trees of named nodes, in which an id is made for every node that has none."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from mhpc.data.index import Index
from mhpc.data.taxonomy import PATH_SEPARATOR, Taxonomy, connect_labels
from mhpc.errors import TaxonomyError
from mhpc.numerics.arrays import IntArray


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """All nodes, each after its parent.

    Attributes
    ----------
    ids : list of str or None
        The id that a node itself has.
    names : list of str
        The names.
    parents : int array
        The positions of the parents; -1 for a root.
    """

    ids: list[str | None]
    names: list[str]
    parents: IntArray

    def path(self, position: int) -> str:
        """Return the names from a root to a node; nothing for -1."""
        names = []
        while position >= 0:
            names.append(self.names[position])
            position = int(self.parents[position])
        return PATH_SEPARATOR.join(reversed(names))


class TreeBuilder:
    """Collects nodes; the same name below the same node is the same node."""

    def __init__(self) -> None:
        self._position: dict[tuple[int, str], int] = {}
        self._ids: dict[int, str] = {}

    def add(self, parent: int, name: str) -> int:
        """Return the position of a node below another one, or at the top if that is -1."""
        return self._position.setdefault((parent, name), len(self._position))

    def set_id(self, position: int, id_: str) -> str:
        """Give a node an id unless it has one, and return the one that it has."""
        return self._ids.setdefault(position, id_)

    def build(self, origin: str) -> Taxonomy:
        """Return the taxonomy of all nodes."""
        return connect_nodes(
            TreeNodes(
                [self._ids.get(position) for position in range(len(self._position))],
                [name for _, name in self._position],
                np.array([parent for parent, _ in self._position], dtype=np.int64),
            ),
            origin,
        )


def connect_nodes(nodes: TreeNodes, origin: str) -> Taxonomy:
    """Build the taxonomy; nodes with the same id are one label, with the name of the last.

    The label of a node without an id is its name if no other node has it, or else its path.
    """
    if not nodes.names:
        raise TaxonomyError(f"{origin}: no label in it")
    nodes = _merge_repeated(nodes)
    child = np.flatnonzero(nodes.parents >= 0)
    parent = nodes.parents[child]
    if set(nodes.ids) == {None} and len(set(nodes.names)) == len(nodes.names):
        index = Index.of_distinct(tuple(nodes.names))
        return connect_labels(index, child, parent, origin=origin)
    ids = _make_ids(nodes)
    name_of = dict(zip(ids, nodes.names, strict=True))
    index = Index.of_distinct(tuple(name_of))
    position = index.locate(ids)
    return connect_labels(
        index, position[child], position[parent], names=list(name_of.values()), origin=origin
    )


def _merge_repeated(nodes: TreeNodes) -> TreeNodes:
    """Return the nodes without those that repeat a node: the same name in the same place, no id."""
    if len(set(nodes.names)) == len(nodes.names):
        return nodes
    first: dict[tuple[int, str | None, str], int] = {}
    merged = [-1]
    for parent, id_, name in zip(nodes.parents.tolist(), nodes.ids, nodes.names, strict=True):
        key = (merged[parent + 1], id_, name)
        merged.append(first.setdefault(key, len(first)))
    return TreeNodes(
        [id_ for _, id_, _ in first],
        [name for _, _, name in first],
        np.array([parent for parent, _, _ in first], dtype=np.int64),
    )


def _make_ids(nodes: TreeNodes) -> list[str]:
    """Return an id for each node: its own, its name if that is unique, or its path.

    Two nodes with the same id of their own are one label with two parents; no others share an id.
    """
    groups = {
        parent
        for name, parent in zip(nodes.names, nodes.parents.tolist(), strict=True)
        if parent >= 0 and nodes.names[parent] == name
    }
    names = [
        f"{name} (group)" if position in groups else name
        for position, name in enumerate(nodes.names)
    ]
    name_counts = Counter(names)
    taken = set(nodes.ids)
    ids = []
    for position, (own_id, name) in enumerate(zip(nodes.ids, names, strict=True)):
        id_ = own_id or (name if name_counts[name] == 1 else nodes.path(position))
        while own_id is None and id_ in taken:
            id_ += " (group)"
        taken.add(id_)
        ids.append(id_)
    return ids
