"""Taxonomy: labels with parents, as a tree or a directed acyclic graph."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from mhpc.data.closure import MAX_PAIRS, close_labels
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.label_paths import NO_PARENT, LabelPaths
from mhpc.data.spelling import STEP, Spellings, collect_spellings, normalize_label
from mhpc.errors import TaxonomyError, quote_list, suggest
from mhpc.numerics.arrays import BoolArray, IntArray, Sparse
from mhpc.numerics.sparse import (
    concatenate_ranges,
    csr_from_sorted,
    keep_entries,
    row_indices,
    run_starts,
    use_int32,
)
from mhpc.system.caching import cached_property
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
    def fingerprint(self) -> str:
        """A hash of the labels, their order and their parents, on which every array depends."""
        ids = "\n".join(self.labels.ids).encode(errors="backslashreplace")
        child, parent = self.parents.nonzero()
        edges = np.sort(child.astype("<i8") * len(self) + parent)
        return hashlib.blake2b(ids + edges.tobytes(), digest_size=16).hexdigest()

    @cached_property
    def children(self) -> Sparse:
        """The transpose of `parents`: ``children[p, k] == 1`` where ``k`` is a child of ``p``."""
        return self.parents.T.tocsr()

    @cached_property
    def closure(self) -> Sparse:
        """Ones for every label with itself and with each of its ancestors, (K, K).

        A large and deep taxonomy has too many of them; `closure_of` returns those in use.
        """
        closure = self._small_closure
        if closure is None:
            closure = close_labels(np.arange(len(self)), self.parents, self.depth)
        assert closure is not None  # noqa: S101 - there is no limit
        return closure

    @property
    def has_small_closure(self) -> bool:
        """Whether there are so few ancestors that all of them are computed at once."""
        return self._small_closure is not None

    def closure_of(self, labels: IntArray, *, among: IntArray | None = None) -> Sparse:
        """Return the rows of `closure` for some labels, (K, K); other rows may be empty.

        Parameters
        ----------
        labels : int array
            The labels, in any order and possibly repeated, such as ``votes.indices``.
        among : int array, optional
            The ancestors that matter, whose columns are returned; other columns may be empty. Label
            sets with all ancestors, of which few matter, have far too many pairs otherwise.
        """
        if "closure" in self.__dict__ or self.has_small_closure:
            return self.closure
        if among is not None:
            # From these ancestors down to the labels, and not to any others.
            is_above = np.zeros(len(self), dtype=bool)
            is_above[self.with_ancestors(labels)] = True
            kept = keep_entries(self.children, is_above[self.children.indices])
            height = self.depth.max(initial=0) + 1 - self.depth
            descendants = close_labels(np.unique(among), kept, height)
            assert descendants is not None  # noqa: S101 - there is no limit
            return descendants.T.tocsr()
        known, closure = self._closed
        is_asked = known.copy()
        is_asked[labels] = True
        if (is_asked > known).any():
            rows = close_labels(np.flatnonzero(is_asked), self.parents, self.depth)
            assert rows is not None  # noqa: S101 - there is no limit
            # Blocks of instances ask for much the same labels in turn.
            self.__dict__["_closed"] = is_asked, rows
            return rows
        return closure

    def count_ancestors(self) -> float:
        """Return how many ones `closure` has; of too many in a DAG, how many there are at most."""
        if np.diff(self.parents.indptr).max(initial=0) <= 1:
            return float(self.depth.sum())
        closure = self._small_closure
        return len(self) * (len(self) + 1) / 2 if closure is None else float(closure.nnz)

    @cached_property
    def _small_closure(self) -> Sparse | None:
        """The rows of all labels, unless there are too many ancestors."""
        all_labels = np.arange(len(self))
        return close_labels(all_labels, self.parents, self.depth, max_pairs=MAX_PAIRS)

    @cached_property
    def _closed(self) -> tuple[BoolArray, Sparse]:
        """The labels that `closure_of` was asked for, and their rows."""
        return np.zeros(len(self), dtype=bool), use_int32(sparse.csr_array(self.parents.shape))

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
        return np.setdiff1d(self.with_ancestors(np.array([label])), [label])

    def path(self, label: int) -> str:
        """Return the names from a root to a label, through first parents: ``A > B > C``."""
        return self._paths.path(label)

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
            position[unknown] = [self._find_alias(texts[row]) for row in unknown]
        return position

    def with_ancestors(self, labels: IntArray) -> IntArray:
        """Return the positions of some labels and of all their ancestors, increasing."""
        indptr, indices = self.parents.indptr, self.parents.indices
        reached = np.zeros(len(self), dtype=bool)
        reached[labels] = True
        child = row_indices(self.parents)
        waiting = np.unique(child[reached[child] & ~reached[indices]]).tolist()
        # Label by label: a chain has as many levels as labels.
        while waiting:
            label = waiting.pop()
            for parent in indices[indptr[label] : indptr[label + 1]].tolist():
                if not reached[parent]:
                    reached[parent] = True
                    waiting.append(parent)
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

    def _find_alias(self, text: str) -> int:
        """Return the label with an alternative id, or the only one with a name or a path."""
        if text in self.alternative_ids:
            return self.labels.positions[self.alternative_ids[text]]
        found = {*self._by_name.get(text, ()), *self._paths.find(text)}
        return found.pop() if len(found) == 1 else UNKNOWN

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """The labels of every name; nothing if names are ids."""
        by_name: dict[str, list[int]] = {}
        for label, name in enumerate(self.names if self.names is not self.labels.ids else ()):
            by_name.setdefault(name, []).append(label)
        return by_name

    @cached_property
    def _paths(self) -> LabelPaths:
        return self._list_paths(self.names, PATH_SEPARATOR)

    @cached_property
    def spellings(self) -> Spellings:
        """The labels by the normal forms of their ids, names and paths."""
        names = list(map(normalize_label, self.names))
        others: list[list[str]] = [[] for _ in names]
        if self.names is not self.labels.ids:
            others = [[normalize_label(id_)] for id_ in self.labels]
        for other, id_ in self.alternative_ids.items():
            others[self.labels.positions[id_]].append(normalize_label(other))
        words = ((name, *more) for name, more in zip(names, others, strict=True))
        return collect_spellings(words, self._list_paths(names, STEP))

    def _list_paths(self, names: Sequence[str], separator: str) -> LabelPaths:
        parent, has_parent = np.full(len(self), NO_PARENT), np.diff(self.parents.indptr) > 0
        parent[has_parent] = self.parents.indices[self.parents.indptr[:-1][has_parent]]
        order = np.concatenate(self.levels) if len(self) else np.zeros(0, dtype=np.int64)
        return LabelPaths(names, parent, order, separator)


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
        raise TaxonomyError(f"{origin}: {error.message}") from None
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
