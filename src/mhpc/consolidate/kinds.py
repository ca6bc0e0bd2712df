"""Kinds of answers: how what was said relates to what is true."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.core.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.core.taxonomy import Taxonomy

EXACT, VAGUE, NEAR, FAR = range(4)
"""The true label itself, an ancestor of it, a sibling or descendant, any other label."""


def kinds(taxonomy: Taxonomy, said: IntArray, true: IntArray) -> IntArray:
    """Return the kind of every pair of a label said and a label true.

    In a DAG an ancestor may be a sibling too; it is vague then, since it is not wrong.

    Examples
    --------
    >>> from mhpc.core.taxonomy import build_taxonomy
    >>> taxonomy = build_taxonomy(["plant", "oak", "elm"], [("oak", "plant"), ("elm", "plant")])
    >>> kinds(taxonomy, np.array([1, 0, 2, 1]), np.array([1, 1, 1, 0])).tolist()
    [0, 1, 2, 2]
    """
    pairs, back = np.unique(said * np.int64(len(taxonomy)) + true, return_inverse=True)
    said, true = np.divmod(pairs, len(taxonomy))
    above, below = _held(taxonomy.closure, true, said), _held(taxonomy.closure, said, true)
    near = below | _siblings(taxonomy, said, true)
    found = np.select([said == true, above, near], [EXACT, VAGUE, NEAR], FAR)
    return np.asarray(found[back], dtype=np.int64)


def _held(matrix: Sparse, row: IntArray, column: IntArray) -> BoolArray:
    """Mark the cells that a matrix holds."""
    width = np.int64(matrix.shape[1])
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.isin(row * width + column, rows * width + matrix.indices)


def _siblings(taxonomy: Taxonomy, one: IntArray, other: IntArray) -> BoolArray:
    """Mark the pairs with a parent in common; roots are siblings of each other."""
    root = np.diff(taxonomy.parents.indptr) == 0
    shared = taxonomy.parents[one].multiply(taxonomy.parents[other]).sum(axis=1)
    return np.asarray((np.asarray(shared).ravel() > 0) | (root[one] & root[other]))


@dataclass(frozen=True, eq=False)
class Relatives:
    """Who is near and far of whom, such that weights can be summed without K x K pairs.

    Attributes
    ----------
    closure : csr_array, (K, K)
        Every label with its ancestors.
    families : csr_array, (F, K)
        Ones at labels that are siblings of each other.
    family : int array, (K,)
        The family that holds a label and all its siblings.
    both : csr_array, (K, K)
        Ones at siblings one of which lies above the other, as happens in a DAG.
    """

    closure: Sparse
    families: Sparse
    family: IntArray
    both: Sparse

    @property
    def ancestors(self) -> IntArray:
        """How many labels lie above each, (K,)."""
        return np.asarray(np.diff(self.closure.indptr) - 1, dtype=np.int64)

    def weigh(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the summed weights of the labels near and far of every label, (K,) each."""
        above, below = self.closure @ weight - weight, self.closure.T @ weight - weight
        beside = (self.families @ weight)[self.family] - weight
        # A sibling above is vague, not near; one below has been counted as a descendant.
        near = below + beside - self.both @ weight
        return near, weight.sum() - weight - above - near


def relatives(taxonomy: Taxonomy) -> Relatives:
    """Return who is near of whom.

    There is a family for the children of each label, one for the roots, and, since its siblings
    come from several families, one for each label that has several parents.
    """
    parents, K = taxonomy.parents, len(taxonomy)
    number = np.diff(parents.indptr)
    several = np.flatnonzero(number > 1)
    roots = sparse.csr_array((number == 0).astype(float)[None, :])
    blended = (parents[several] @ taxonomy.children).tocsr()
    blended.data[:] = 1.0
    families = sparse.vstack([taxonomy.children, roots, blended], format="csr")
    family = np.full(K, K)
    family[number == 1] = parents.indices[parents.indptr[:-1][number == 1]]
    family[several] = K + 1 + np.arange(len(several))
    return Relatives(taxonomy.closure, families, family, _both(taxonomy))


def _both(taxonomy: Taxonomy) -> Sparse:
    """Return the pairs of siblings one of which lies above the other, either way round."""
    closed = taxonomy.closure.tocoo()
    kin = (closed.row != closed.col) & _siblings(taxonomy, closed.row, closed.col)
    below, above = closed.row[kin], closed.col[kin]
    entries = (np.ones(2 * len(below)), (np.r_[below, above], np.r_[above, below]))
    return sparse.csr_array(entries, shape=taxonomy.closure.shape)
