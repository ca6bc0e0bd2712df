"""Taxonomy: labels with parents, as a tree or a directed acyclic graph."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from mhpc.data.index import UNKNOWN, Index
from mhpc.errors import TaxonomyError, quote_list, suggest
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.numerics.sparse import use_int32
from mhpc.system.display import short_table

PATH_SEPARATOR = " > "
"""What separates the names in the path of a label."""


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A hierarchy of labels without a common root: roots are labels without a parent.

    Ids are unique but names need not be: two places may be called Paris, and a child may have the
    name of its parent. Create one with `build_taxonomy` or `mhpc.read_taxonomy`.

    Attributes
    ----------
    labels : Index
        The K label ids; their order is the order of every label axis.
    names : tuple of str
        The name of every label, which is shown to people.
    parents : csr_array, (K, K)
        The paper's H: ``parents[k, p] == 1`` where label ``p`` is a direct parent of ``k``.
    alternative_ids : mapping of str to str
        Further ids of labels: former ones, or those of labels that were merged into it.
    """

    labels: Index
    names: tuple[str, ...]
    parents: Sparse
    alternative_ids: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def children(self) -> Sparse:
        """The transpose of `parents`: ``children[p, k] == 1`` where ``k`` is a child of ``p``."""
        return self.parents.T.tocsr()

    @cached_property
    def closure(self) -> Sparse:
        """Ones for every label with itself and with each of its ancestors, (K, K).

        ``I + H`` is squared until it stops growing, in about log2(depth) sparse products.
        """
        closure = use_int32((self.parents + sparse.eye_array(len(self), format="csr")).tocsr())
        while True:
            squared = (closure @ closure).tocsr()
            if squared.nnz == closure.nnz:
                closure.data[:] = 1.0
                closure.sort_indices()
                return closure
            squared.data[:] = 1.0
            closure = squared

    @cached_property
    def depth(self) -> IntArray:
        """The level of every label, (K,): 1 for a root.

        With several parents it is the length of the longest path to a root, so a child is always
        deeper than each of its parents.
        """
        depth = np.empty(len(self), dtype=np.int64)
        for level, labels in enumerate(self.levels, start=1):
            depth[labels] = level
        return depth

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """The positions of the labels of each level; a label comes after all of its parents."""
        return _topological_levels(self.parents, self.labels)

    @property
    def roots(self) -> IntArray:
        """The positions of the labels without a parent."""
        return np.flatnonzero(np.diff(self.parents.indptr) == 0)

    def parents_of(self, label: int) -> IntArray:
        """Return the positions of the direct parents of a label."""
        return _columns_in_row(self.parents, label)

    def children_of(self, label: int) -> IntArray:
        """Return the positions of the direct children of a label."""
        return _columns_in_row(self.children, label)

    def ancestors_of(self, label: int) -> IntArray:
        """Return the positions of the ancestors of a label, without the label itself."""
        return np.setdiff1d(_columns_in_row(self.closure, label), [label])

    def path(self, label: int) -> str:
        """Return the names from a root to a label, through first parents: ``A > B > C``."""
        names = [self.names[label]]
        while len(parents := self.parents_of(label)):
            label = int(parents[0])
            names.append(self.names[label])
        return PATH_SEPARATOR.join(reversed(names))

    def locate(self, labels: Iterable[str]) -> IntArray:
        """Return positions of labels by id, or by a unique name or path; -1 if there is none."""
        texts = tuple(labels)
        position = self.labels.locate(texts)
        unknown = np.flatnonzero(position == UNKNOWN)
        if len(unknown):
            # There are many names and paths, and they are rarely needed.
            aliases = self._aliases
            position[unknown] = [aliases.get(texts[row], UNKNOWN) for row in unknown]
        return position

    def with_ancestors(self, labels: IntArray) -> IntArray:
        """Return the positions of some labels and of all their ancestors, increasing."""
        reached = np.zeros(len(self), dtype=bool)
        while len(labels):
            reached[labels] = True
            parents = np.unique(self.parents[labels].indices)
            labels = parents[~reached[parents]]
        return np.flatnonzero(reached)

    def select(self, labels: IntArray) -> "Taxonomy":
        """Return the taxonomy of some labels, at increasing positions, with all their ancestors."""
        return Taxonomy(
            self.labels.select(labels),
            tuple(self.names[label] for label in labels),
            self.parents[labels][:, labels],
        )

    def homonyms(self, name: str) -> list[str]:
        """Return the ids of the labels with a name."""
        return [
            id_
            for id_, label_name in zip(self.labels, self.names, strict=True)
            if label_name == name
        ]

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    def __repr__(self) -> str:
        return f"Taxonomy({len(self)} labels, {self.depth.max(initial=0)} levels)"

    def _repr_html_(self) -> str:
        rows = ((id_, self.path(label)) for label, id_ in enumerate(self.labels))
        return short_table(repr(self), ("label", "path"), rows, total=len(self))

    @cached_property
    def _aliases(self) -> dict[str, int]:
        aliases: dict[str, int] = {}
        shared: set[str] = set()
        for label, (name, path) in enumerate(zip(self.names, self._paths(), strict=True)):
            for alias in {name, path}:
                if alias in aliases:
                    shared.add(alias)
                aliases[alias] = label
        alternative = {
            other: self.labels.positions[id_] for other, id_ in self.alternative_ids.items()
        }
        unique = {alias: label for alias, label in aliases.items() if alias not in shared}
        return unique | alternative

    def _paths(self) -> list[str]:
        """Return the path of every label, each from the path of its first parent."""
        paths = list(self.names)
        for level in self.levels[1:]:
            first_parent = self.parents.indices[self.parents.indptr[level]]
            for label, parent in zip(level.tolist(), first_parent.tolist(), strict=True):
                paths[label] = f"{paths[parent]}{PATH_SEPARATOR}{self.names[label]}"
        return paths


def build_taxonomy(
    labels: Sequence[str],
    edges: Iterable[tuple[str, str]],
    *,
    names: Sequence[str] | None = None,
    alternative_ids: Mapping[str, str] | None = None,
    origin: str = "the taxonomy",
) -> Taxonomy:
    """Build a taxonomy from labels and their ``(label, parent)`` edges.

    Parameters
    ----------
    labels : sequence of str
        Unique label ids.
    edges : iterable of (label, parent)
        Both must be labels; repeated edges count once.
    names : sequence of str, optional
        The name of each label; the ids by default.
    alternative_ids : mapping of str to str, optional
        Further ids of labels.
    origin : str
        Where the taxonomy comes from, for messages.

    Examples
    --------
    >>> taxonomy = build_taxonomy(["plant", "flower"], [("flower", "plant")])
    >>> taxonomy.depth.tolist()
    [1, 2]
    """
    index = Index(tuple(labels))
    pairs = list(edges)
    child, parent = index.locate(c for c, _ in pairs), index.locate(p for _, p in pairs)
    wrong = np.flatnonzero((child == parent) | (child == UNKNOWN) | (parent == UNKNOWN))
    if len(wrong):
        edge = wrong[0]
        label, parent_label = pairs[edge]
        if child[edge] == parent[edge]:
            raise TaxonomyError(
                f"{origin}: label {quote_list([label])} is its own parent; leave that row out"
            )
        missing = label if child[edge] == UNKNOWN else parent_label
        raise TaxonomyError(
            f"{origin}: {quote_list([missing])}, named as parent of {quote_list([label])}, is not "
            f"a label{suggest(missing, index)}; add a row for it with an empty parent if it is a "
            "root"
        )
    shape = (len(index), len(index))
    parents = sparse.coo_array((np.ones(len(pairs)), (child, parent)), shape=shape).tocsr()
    parents.data[:] = 1.0
    try:
        _topological_levels(parents, index)
    except TaxonomyError as error:
        raise TaxonomyError(f"{origin}: {error}") from None
    shown = tuple(names) if names is not None else index.ids
    return Taxonomy(index, shown, parents, alternative_ids or {})


def unknown_label_message(taxonomy: Taxonomy, label: str) -> str:
    """Return why a label was not found, ambiguous or missing, and which ones are similar."""
    ids = taxonomy.homonyms(label)
    if len(ids) > 1:
        return (
            f"label {quote_list([label])} is the name of {len(ids)} labels: {quote_list(ids)}; "
            "give an id"
        )
    known = {*taxonomy.labels, *taxonomy.names}
    return f"label {quote_list([label])} is not in the taxonomy{suggest(label, known)}"


def _topological_levels(parents: Sparse, labels: Index) -> tuple[IntArray, ...]:
    """Sort labels topologically; those that are left over are on a cycle or below one.

    A label is one level below the deepest of its parents.
    """
    children = parents.T.tocsr()
    waiting = np.diff(parents.indptr).astype(np.int64)
    level = np.flatnonzero(waiting == 0)
    levels = []
    while len(level):
        levels.append(level)
        child = children[level].indices
        np.subtract.at(waiting, child, 1)
        level = np.unique(child[waiting[child] == 0]).astype(np.int64)
    if sum(map(len, levels)) < len(labels):
        cycle = [labels[label] for label in _find_cycle(parents, waiting)]
        raise TaxonomyError(
            f"the parents form a cycle: {' > '.join(map(repr, cycle[:8]))}"
            f"{' …' if len(cycle) > 8 else ''}; remove one of these edges"
        )
    return tuple(levels)


def _find_cycle(parents: Sparse, waiting: IntArray) -> list[int]:
    """Walk up through labels that still wait for a parent until one repeats."""
    label = int(np.flatnonzero(waiting)[0])
    walk: list[int] = []
    while label not in walk:
        walk.append(label)
        label = next(int(parent) for parent in _columns_in_row(parents, label) if waiting[parent])
    return [*walk[walk.index(label) :], label]


def _columns_in_row(matrix: Sparse, row: int) -> IntArray:
    """Return the columns of the entries in a row."""
    return np.asarray(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]], dtype=np.int64)
