"""How a label that a source gives relates to the true one: exact, vague, near or far."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import cell_numbers, lookup_cells


class Relation(IntEnum):
    """The relation of a label given to the true label."""

    EXACT = 0
    """The true label itself."""

    VAGUE = 1
    """An ancestor of it."""

    NEAR = 2
    """A sibling or a descendant of it."""

    FAR = 3
    """Any other label."""


def relate_labels(taxonomy: Taxonomy, given: IntArray, true: IntArray) -> IntArray:
    """Return the `Relation` of every pair of a label given and a true label, (n,).

    In a DAG an ancestor may also be a sibling; it then counts as vague, because it is not wrong.

    Examples
    --------
    >>> from mhpc.data.taxonomy import build_taxonomy
    >>> taxonomy = build_taxonomy(["plant", "oak", "elm"], [("oak", "plant"), ("elm", "plant")])
    >>> relate_labels(taxonomy, np.array([1, 0, 2, 1]), np.array([1, 1, 1, 0])).tolist()
    [0, 1, 2, 2]
    """
    cells, position = np.unique(given * np.int64(len(taxonomy)) + true, return_inverse=True)
    given, true = np.divmod(cells, len(taxonomy))
    is_ancestor = _have_ancestors(taxonomy, true, given)
    is_descendant = _have_ancestors(taxonomy, given, true)
    relations = np.select(
        [given == true, is_ancestor, is_descendant | _are_siblings(taxonomy, given, true)],
        [Relation.EXACT, Relation.VAGUE, Relation.NEAR],
        Relation.FAR,
    )
    return np.asarray(relations[position], dtype=np.int64)


def _have_ancestors(taxonomy: Taxonomy, label: IntArray, ancestor: IntArray) -> BoolArray:
    """Mark the pairs of a label and one of its ancestors, or itself."""
    closure = taxonomy.closure_of(label, among=ancestor)
    return lookup_cells(label * len(taxonomy) + ancestor, cell_numbers(closure), closure.data) > 0


@dataclass(frozen=True, eq=False)
class LabelRelations:
    """The near and far labels of every label, in a form that needs no K x K matrix.

    Attributes
    ----------
    closure : csr_array, (K, K)
        Ones at every label and its ancestors.
    sibling_groups : csr_array, (G, K)
        Ones at labels that are siblings of each other.
    group : int array, (K,)
        The sibling group that holds a label and all of its siblings.
    sibling_ancestors : csr_array, (K, K)
        Ones at pairs of siblings one of which is an ancestor of the other, as happens in a DAG.
    """

    closure: Sparse
    sibling_groups: Sparse
    group: IntArray
    sibling_ancestors: Sparse

    @property
    def n_ancestors(self) -> IntArray:
        """The number of ancestors of each label, (K,)."""
        return np.asarray(np.diff(self.closure.indptr) - 1, dtype=np.int64)

    def sum_near_and_far(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the summed weights of the labels near and far of every label, (K,) each."""
        ancestors, descendants = self.closure @ weight - weight, self.closure.T @ weight - weight
        siblings = (self.sibling_groups @ weight)[self.group] - weight
        # A sibling that is an ancestor is vague; one that is a descendant is counted already.
        near = descendants + siblings - self.sibling_ancestors @ weight
        return near, weight.sum() - weight - ancestors - near


def build_label_relations(taxonomy: Taxonomy) -> LabelRelations:
    """Return the near and far labels of every label.

    The sibling groups are the children of each label, then the roots, then one group for each
    label with several parents, because its siblings come from several groups.
    """
    parents, K = taxonomy.parents, len(taxonomy)
    n_parents = np.diff(parents.indptr)
    with_several = np.flatnonzero(n_parents > 1)
    roots = sparse.csr_array((n_parents == 0).astype(float)[None, :])
    merged = (parents[with_several] @ taxonomy.children).tocsr()
    merged.data[:] = 1.0
    group = np.full(K, K)
    group[n_parents == 1] = parents.indices[parents.indptr[:-1][n_parents == 1]]
    group[with_several] = K + 1 + np.arange(len(with_several))
    return LabelRelations(
        closure=taxonomy.closure,
        sibling_groups=sparse.vstack([taxonomy.children, roots, merged], format="csr"),
        group=group,
        sibling_ancestors=_sibling_ancestors(taxonomy),
    )


def _sibling_ancestors(taxonomy: Taxonomy) -> Sparse:
    """Return the pairs of siblings one of which is an ancestor of the other, in both orders."""
    closure = taxonomy.closure.tocoo()
    is_pair = (closure.row != closure.col) & _are_siblings(taxonomy, closure.row, closure.col)
    below, above = closure.row[is_pair], closure.col[is_pair]
    entries = (np.ones(2 * len(below)), (np.r_[below, above], np.r_[above, below]))
    return sparse.csr_array(entries, shape=taxonomy.closure.shape)


def _are_siblings(taxonomy: Taxonomy, first: IntArray, second: IntArray) -> BoolArray:
    """Mark the pairs with a parent in common; all roots are siblings of each other."""
    is_root = np.diff(taxonomy.parents.indptr) == 0
    in_common = taxonomy.parents[first].multiply(taxonomy.parents[second]).sum(axis=1)
    return np.asarray((np.asarray(in_common).ravel() > 0) | (is_root[first] & is_root[second]))
