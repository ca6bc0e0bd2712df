"""Taxonomy, build_taxonomy, topological levels."""

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


def topological_levels(parents: Sparse, labels: Index) -> tuple[IntArray, ...]:
    """Sort topologically; a label that never comes free lies on a cycle or below one.

    A label is free one level after the last of its parents, so the level is its longest way up.
    """
    children = parents.T.tocsr()
    waiting = np.diff(parents.indptr).astype(np.int64)
    level = np.flatnonzero(waiting == 0)
    levels = []
    while len(level):
        levels.append(level)
        below = children[level].indices
        np.subtract.at(waiting, below, 1)
        level = np.unique(below[waiting[below] == 0]).astype(np.int64)
    if sum(map(len, levels)) < len(labels):
        cycle = [labels[label] for label in _cycle(parents, waiting)]
        raise TaxonomyError(
            f"the parents form a cycle: {' > '.join(map(repr, cycle[:8]))}"
            f"{' …' if len(cycle) > 8 else ''}; remove one of these edges"
        )
    return tuple(levels)


def _cycle(parents: Sparse, waiting: IntArray) -> list[int]:
    """Walk up among labels that still wait for a parent until one comes again."""
    label = int(np.flatnonzero(waiting)[0])
    walk: list[int] = []
    while label not in walk:
        walk.append(label)
        label = next(int(up) for up in row_of(parents, label) if waiting[up])
    return [*walk[walk.index(label) :], label]


def row_of(matrix: Sparse, row: int) -> IntArray:
    """Return the columns that a row stores."""
    return np.asarray(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]], dtype=np.int64)


PATH_SEPARATOR = " > "
"""What joins the names of a path when a label is shown or looked up by its path."""


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A hierarchy of labels. There is no root label: roots are labels without a parent.

    Ids are unique, names need not be: two places may be called Paris, and a child may carry
    its parent's name. Make one with `build_taxonomy` or `mhpc.read_taxonomy`.

    Attributes
    ----------
    labels : Index
        The K label ids; their order is the order of every label axis.
    names : tuple of str
        A name for every label, to show to people.
    parents : csr_array, (K, K)
        The paper's H: ``parents[k, p] == 1`` where label ``p`` is a direct parent of ``k``.
    alternative_ids : mapping of str to str
        Further ids that stand for a label: those it had, or those of labels merged into it.
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
        """Every label with itself and all its ancestors, (K, K) with ones.

        Squaring ``I + H`` until it stops growing takes about log2(depth) sparse products.
        """
        reach = use_int32((self.parents + sparse.eye_array(len(self), format="csr")).tocsr())
        while True:
            further = (reach @ reach).tocsr()
            if further.nnz == reach.nnz:
                reach.data[:] = 1.0
                reach.sort_indices()
                return reach
            further.data[:] = 1.0
            reach = further

    @cached_property
    def depth(self) -> IntArray:
        """The level of every label: 1 for a root.

        With several parents it is the longest way up, so that a child is always deeper than
        each of its parents.
        """
        depth = np.empty(len(self), dtype=np.int64)
        for level, labels in enumerate(self.levels, start=1):
            depth[labels] = level
        return depth

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """The label positions level by level, each after all its parents."""
        return topological_levels(self.parents, self.labels)

    @property
    def roots(self) -> IntArray:
        """Positions of the labels without a parent."""
        return np.flatnonzero(np.diff(self.parents.indptr) == 0)

    def parents_of(self, label: int) -> IntArray:
        """Return the positions of a label's direct parents."""
        return row_of(self.parents, label)

    def children_of(self, label: int) -> IntArray:
        """Return the positions of a label's direct children."""
        return row_of(self.children, label)

    def ancestors_of(self, label: int) -> IntArray:
        """Return the positions of all labels above a label, itself left out."""
        return np.setdiff1d(row_of(self.closure, label), [label])

    def siblings_of(self, label: int) -> IntArray:
        """Return the other labels that share a parent; roots are siblings of each other."""
        above = self.parents_of(label)
        beside = [self.children_of(parent) for parent in above] if len(above) else [self.roots]
        return np.setdiff1d(np.concatenate(beside), [label])

    def path(self, label: int) -> str:
        """Return the names from a root down to a label, by first parents: ``A > B > C``."""
        names = [self.names[label]]
        while len(above := self.parents_of(label)):
            label = int(above[0])
            names.append(self.names[label])
        return PATH_SEPARATOR.join(reversed(names))

    def locate(self, labels: Iterable[str]) -> IntArray:
        """Return positions by id, else by a name or path that only one label has, else -1."""
        texts = tuple(labels)
        position = self.labels.locate(texts)
        strange = np.flatnonzero(position == UNKNOWN)
        if len(strange):
            # Names and paths are many, and mostly nobody asks for them.
            aliases = self._aliases
            position[strange] = [aliases.get(texts[at], UNKNOWN) for at in strange]
        return position

    def homonyms(self, name: str) -> list[str]:
        """Return the ids of the labels that carry a name."""
        return [id_ for id_, other in zip(self.labels, self.names, strict=True) if other == name]

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self.labels

    def __repr__(self) -> str:
        return f"Taxonomy({len(self)} labels, {self.depth.max(initial=0)} levels)"

    def _repr_html_(self) -> str:
        rows = ((id_, self.path(at)) for at, id_ in enumerate(self.labels))
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
        others = {other: self.labels.positions[id_] for other, id_ in self.alternative_ids.items()}
        return {alias: label for alias, label in aliases.items() if alias not in shared} | others

    def _paths(self) -> list[str]:
        """Return `path` of every label, each from that of its parent."""
        paths = list(self.names)
        for level in self.levels[1:]:
            first = self.parents.indices[self.parents.indptr[level]]
            for label, parent in zip(level.tolist(), first.tolist(), strict=True):
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
    """Make a taxonomy from labels and their ``(label, parent)`` edges.

    Parameters
    ----------
    labels : sequence of str
        Unique label ids.
    edges : iterable of (label, parent)
        Both ends must be labels; the same edge twice counts once.
    names : sequence of str, optional
        What to show for each label; the ids unless given.
    alternative_ids : mapping of str to str, optional
        Further ids that stand for a label.
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
        at = wrong[0]
        label, above = pairs[at]
        if child[at] == parent[at]:
            raise TaxonomyError(
                f"{origin}: label {quote_list([label])} is its own parent; leave that row out"
            )
        lost = label if child[at] == UNKNOWN else above
        raise TaxonomyError(
            f"{origin}: {quote_list([lost])}, named as parent of {quote_list([label])}, is not a label"
            f"{suggest(lost, index)}; add a row for it with an empty parent if it is a root"
        )
    shape = (len(index), len(index))
    parents = sparse.coo_array((np.ones(len(pairs)), (child, parent)), shape=shape).tocsr()
    parents.data[:] = 1.0
    try:
        topological_levels(parents, index)
    except TaxonomyError as error:
        raise TaxonomyError(f"{origin}: {error}") from None
    shown = tuple(names) if names is not None else index.ids
    return Taxonomy(index, shown, parents, alternative_ids or {})


def unknown_label_message(taxonomy: Taxonomy, label: str) -> str:
    """Say why a label was not found and which are near: ambiguous, or simply not there."""
    same = taxonomy.homonyms(label)
    if len(same) > 1:
        return f"label {quote_list([label])} is the name of {len(same)} labels: {quote_list(same)}; give an id"
    known = {*taxonomy.labels, *taxonomy.names}
    return f"label {quote_list([label])} is not in the taxonomy{suggest(label, known)}"
