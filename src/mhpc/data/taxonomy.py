"""Taxonomy: labels with parents, as a tree or a directed acyclic graph."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from mhpc.data.index import UNKNOWN, Index
from mhpc.data.spelling import STEP, Spellings, collect_spellings, normalize_label
from mhpc.errors import TaxonomyError, quote_list, suggest
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.numerics.sparse import concatenate_ranges, csr_from_sorted, run_starts, use_int32
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
    exclusive : tuple of tuples of int
        Groups of siblings that exclude each other, as do their descendants, by position. Nothing
        is decided by them: results in which two of a group meet are reported.

    Examples
    --------
    >>> import mhpc
    >>> taxonomy = mhpc.read_taxonomy({"flower": ["rose", "tulip"], "tree": ["oak"]})
    >>> taxonomy.labels.ids
    ('flower', 'tree', 'rose', 'tulip', 'oak')
    >>> taxonomy.locate(["flower > rose"]).tolist()
    [2]
    """

    labels: Index
    names: tuple[str, ...]
    parents: Sparse
    alternative_ids: Mapping[str, str] = field(default_factory=dict)
    exclusive: tuple[tuple[int, ...], ...] = ()

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
        return _find_depth(self.parents, self.labels)

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """The positions of the labels of each level; a label comes after all of its parents."""
        if not len(self):
            return ()
        # numpy sorts numbers of 16 bits in linear time.
        order = np.argsort(self.depth.astype(np.min_scalar_type(self.depth.max())), kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.depth)[1:-1])))

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

    def paths_of(self, labels: IntArray) -> np.ndarray:
        """Return the paths of some labels, of which each is made once: all of them may be long."""
        known = self._known_paths
        missing = np.unique(labels[known[labels] == ""])
        for label in missing.tolist():
            known[label] = self.path(label)
        return np.asarray(known[labels])

    @cached_property
    def _known_paths(self) -> np.ndarray:
        return np.full(len(self), "", dtype=object)

    def names_of(self, labels: Iterable[str]) -> dict[str, str]:
        """Return the names of labels, given by their ids, as far as the two differ."""
        names = ((label, self.names[self.labels.positions[label]]) for label in labels)
        return {label: name for label, name in names if name != label}

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
        """Return the taxonomy of some labels, at increasing positions, with all their ancestors.

        It is kept, since blocks of instances ask for the same one in turn.
        """
        key = labels.tobytes()
        if key not in self._selections:
            self._selections[key] = Taxonomy(
                self.labels.select(labels),
                tuple(self.names[label] for label in labels),
                self.parents[labels][:, labels],
                exclusive=self._select_exclusive(labels),
            )
        return self._selections[key]

    def _select_exclusive(self, labels: IntArray) -> tuple[tuple[int, ...], ...]:
        position = {label: at for at, label in enumerate(labels.tolist())} if self.exclusive else {}
        groups = (tuple(position[k] for k in group if k in position) for group in self.exclusive)
        return tuple(group for group in groups if len(group) > 1)

    @cached_property
    def _selections(self) -> "dict[bytes, Taxonomy]":
        return {}

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

    @cached_property
    def spellings(self) -> Spellings:
        """The labels by the normal forms of their ids, names and paths."""
        names = list(map(normalize_label, self.names))
        ids = names if self.names is self.labels.ids else list(map(normalize_label, self.labels))
        paths = self._join_paths(names, STEP)
        others: list[list[str]] = [[] for _ in names]
        for other, id_ in self.alternative_ids.items():
            others[self.labels.positions[id_]].append(normalize_label(other))
        return collect_spellings(
            (*forms, *more) for *forms, more in zip(ids, names, paths, others, strict=True)
        )

    def _paths(self) -> list[str]:
        return self._join_paths(list(self.names), PATH_SEPARATOR)

    def _join_paths(self, names: list[str], separator: str) -> list[str]:
        """Return the path of every label, each from the path of its first parent."""
        paths = list(names)
        for level in self.levels[1:]:
            first_parent = self.parents.indices[self.parents.indptr[level]]
            for label, parent in zip(level.tolist(), first_parent.tolist(), strict=True):
                paths[label] = f"{paths[parent]}{separator}{names[label]}"
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
    unknown = np.flatnonzero((child == UNKNOWN) | (parent == UNKNOWN))
    if len(unknown):
        edge = unknown[0]
        _check_own_parents(index, child[:edge], parent[:edge], origin)
        label, parent_label = pairs[edge]
        missing = label if child[edge] == UNKNOWN else parent_label
        raise TaxonomyError(
            f"{origin}: {quote_list([missing])}, named as parent of {quote_list([label])}, is not "
            f"a label{suggest(missing, index)}; add a row for it with an empty parent if it is a "
            "root"
        )
    return connect_labels(
        index, child, parent, names=names, alternative_ids=alternative_ids, origin=origin
    )


def connect_labels(
    labels: Index,
    child: IntArray,
    parent: IntArray,
    *,
    names: Sequence[str] | None = None,
    alternative_ids: Mapping[str, str] | None = None,
    origin: str = "the taxonomy",
) -> Taxonomy:
    """Build a taxonomy like `build_taxonomy`, from the positions of labels instead of their ids.

    Parameters
    ----------
    labels : Index
        The K labels.
    child, parent : int arrays, (E,)
        The positions of the labels of every edge, in any order.
    names, alternative_ids, origin
        As in `build_taxonomy`.

    Examples
    --------
    >>> labels = Index(("plant", "flower"))
    >>> connect_labels(labels, np.array([1]), np.array([0]))
    Taxonomy(2 labels, 2 levels)
    """
    _check_own_parents(labels, child, parent, origin)
    if not (child[1:] > child[:-1]).all():
        cell = np.sort(child * len(labels) + parent)
        child, parent = np.divmod(cell[run_starts(cell)], len(labels))
    shape = (len(labels), len(labels))
    parents = csr_from_sorted(child, parent, np.ones(len(child)), shape=shape)
    shown = tuple(names) if names is not None else labels.ids
    taxonomy = Taxonomy(labels, shown, parents, alternative_ids or {})
    try:
        # Only labels without a cycle have a depth.
        _ = taxonomy.depth
    except TaxonomyError as error:
        raise TaxonomyError(f"{origin}: {error}") from None
    return taxonomy


def _check_own_parents(labels: Index, child: IntArray, parent: IntArray, origin: str) -> None:
    wrong = np.flatnonzero(child == parent)
    if len(wrong):
        label = labels[child[wrong[0]]]
        raise TaxonomyError(
            f"{origin}: label {quote_list([label])} is its own parent; leave that row out"
        )


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


def _find_depth(parents: Sparse, labels: Index) -> IntArray:
    """Return the level of every label, one below the deepest of its parents, from 1."""
    if np.diff(parents.indptr).max(initial=0) <= 1:
        depth = _depth_in_tree(parents)
        if depth is not None:
            return depth
    return _depth_in_dag(parents, labels)


def _depth_in_tree(parents: Sparse) -> IntArray | None:
    """Return the level of every label if none has several parents; None if there is a cycle.

    Every label looks up an ancestor and the number of steps to it, at first its parent. The
    ancestor of the ancestor is twice as far, so log2(depth) rounds are enough.
    """
    n_labels = parents.shape[0]
    has_parent = np.diff(parents.indptr) > 0
    ancestor = np.arange(n_labels, dtype=parents.indices.dtype)
    ancestor[has_parent] = parents.indices
    steps = has_parent.astype(np.int32)
    for _ in range(n_labels.bit_length() + 1):
        further = steps[ancestor]
        if not further.any():
            depth: IntArray = steps.astype(np.int64) + 1
            return depth
        steps += further
        ancestor = ancestor[ancestor]
    return None


def _depth_in_dag(parents: Sparse, labels: Index) -> IntArray:
    """Sort labels topologically; those that are left over are on a cycle or below one."""
    children = parents.T.tocsr()
    n_children = np.diff(children.indptr)
    waiting = np.diff(parents.indptr).astype(np.int64)
    depth = np.zeros(len(labels), dtype=np.int64)
    level, number = np.flatnonzero(waiting == 0), 1
    while len(level):
        depth[level] = number
        _, edge = concatenate_ranges(children.indptr[level], n_children[level])
        child = children.indices[edge]
        np.subtract.at(waiting, child, 1)
        ready = np.sort(child[waiting[child] == 0])
        level, number = ready[run_starts(ready)], number + 1
    if not depth.all():
        cycle = [labels[label] for label in _find_cycle(parents, waiting)]
        raise TaxonomyError(
            f"the parents form a cycle: {' > '.join(map(repr, cycle[:8]))}"
            f"{' …' if len(cycle) > 8 else ''}; remove one of these edges"
        )
    return depth


def _find_cycle(parents: Sparse, waiting: IntArray) -> list[int]:
    """Walk up through labels that still wait for a parent until one repeats."""
    label = int(np.flatnonzero(waiting)[0])
    step_of: dict[int, int] = {}
    while label not in step_of:
        step_of[label] = len(step_of)
        label = next(int(parent) for parent in _columns_in_row(parents, label) if waiting[parent])
    return [*list(step_of)[step_of[label] :], label]


def _columns_in_row(matrix: Sparse, row: int) -> IntArray:
    """Return the columns of the entries in a row."""
    return np.asarray(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]], dtype=np.int64)
