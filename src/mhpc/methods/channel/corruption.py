"""The noise model: how a vague or confused source gets from a true label to the one it gives.

C_tv is the probability that v is given if t is true, (K, K). A source goes h levels up from t and
gives the label it has reached, or one of the siblings of that. V has the shares of h by the level
of t, eps is the share of siblings:

    C = U ((1 - eps) I + eps F B),    U = sum over h of V_lh up_h.

U leads to the label that is reached, F from there to its family (its parent) and B from the family
to one of its members. Siblings are many and families few, so that products with the three factors
cost a fraction of those with C.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse, dense
from mhpc.numerics.sparse import (
    csr_from_sorted,
    row_blocks,
    row_indices,
    run_starts,
    select_columns,
)
from mhpc.parameters import registered
from mhpc.system.caching import cached_property

MAX_DENSE_LABELS = 1024
"""Labels up to which a product of sparse votes with C is faster than with its factors."""

STRIP_CELLS = 1 << 17
"""Rows x labels that are multiplied at a time: so few that they stay in the cache."""


@dataclass(frozen=True, eq=False)
class CorruptionPaths:
    """The paths from every label: h levels up, and then perhaps sideways to a sibling.

    Attributes
    ----------
    up : tuple of csr_array, (K, K)
        up[h]: the probability of each label h levels above a label. Several parents are equally
        likely. Labels of fewer than h levels have no such path.
    to_family : csr_array, (K, families)
        F: the probability of each family of a label, which is that of one of its parents, or the
        family of all roots.
    members : csr_array, (families, K)
        B: the probability of each label if one of a family is drawn at random.
    level : int array, (K,)
        The level of each label, 0 at the top.
    """

    up: tuple[Sparse, ...]
    to_family: Sparse
    members: Sparse
    level: IntArray

    @property
    def depth(self) -> int:
        """The number of levels, and of possible values of h, from 0."""
        return len(self.up)

    def to_labels(self, labels: IntArray) -> "PathsToLabels":
        """Return the paths that end at some of the labels."""
        members = select_columns(self.members, labels)
        families = np.flatnonzero(np.diff(members.indptr))
        return PathsToLabels(
            up=tuple(select_columns(up, labels) for up in self.up),
            up_to_family=tuple(
                select_columns((up @ self.to_family).tocsr(), families) for up in self.up
            ),
            families=families,
            members=members[families],
        )

    def mix(self, shares: FloatArray) -> Sparse:
        """Return the sum over h of diag(shares of the level, at h) up_h, (K, K).

        Parameters
        ----------
        shares : float array, (levels, levels)
            The share of every h, by level.
        """
        row, column, h, value, is_first = self._sorted_paths
        K = len(self.level)
        terms = shares[self.level[row], h] * value
        total = np.add.reduceat(terms, np.flatnonzero(is_first)) if len(terms) else terms
        mixed = csr_from_sorted(row[is_first], column[is_first], total, shape=(K, K))
        mixed.eliminate_zeros()
        return mixed

    @cached_property
    def _sorted_paths(self) -> tuple[IntArray, IntArray, IntArray, FloatArray, BoolArray]:
        """All paths by where they start and end: start, end, h, value, and whether one is first."""
        K, n_paths = len(self.level), [up.nnz for up in self.up]
        row = np.concatenate([row_indices(up) for up in self.up])
        column = np.concatenate([up.indices for up in self.up]).astype(np.int64)
        cell = row * np.int64(K) + column
        order = np.argsort(cell, kind="stable")
        h = np.repeat(np.arange(self.depth), n_paths)[order]
        value = np.concatenate([up.data for up in self.up])[order]
        return row[order], column[order], h, value, run_starts(cell[order])


@dataclass(frozen=True, eq=False)
class PathsToLabels:
    """The paths that end at G labels, or at one of the F families that have such a label.

    Attributes
    ----------
    up : tuple of csr_array, (K, G)
        The columns of these labels.
    up_to_family : tuple of csr_array, (K, F)
        The probability of each family of the labels h levels up.
    families : int array, (F,)
        The positions of these families.
    members : csr_array, (F, G)
        The probability of each label if one of a family is drawn at random.
    """

    up: tuple[Sparse, ...]
    up_to_family: tuple[Sparse, ...]
    families: IntArray
    members: Sparse


def corruption_paths(taxonomy: Taxonomy) -> CorruptionPaths:
    """Return the paths from every label of a taxonomy; roots are siblings of each other."""
    K, level = len(taxonomy), np.asarray(taxonomy.depth - 1, dtype=np.int64)
    inner, is_root = np.flatnonzero(np.diff(taxonomy.children.indptr)), level == 0
    roots = sparse.csr_array(is_root.astype(float)[:, None])
    one_up = (_uniform_rows(taxonomy.parents) + sparse.diags_array(is_root.astype(float))).tocsr()
    reached, up = sparse.eye_array(K, format="csr"), []
    for h in range(int(taxonomy.depth.max())):
        up.append((sparse.diags_array((level >= h).astype(float), format="csr") @ reached).tocsr())
        up[-1].eliminate_zeros()
        # With parents of different depth, one path may be at the top while another still goes up.
        reached = (up[-1] @ one_up).tocsr()
    families = [_uniform_rows(taxonomy.parents)[:, inner], roots]
    members = [taxonomy.children[inner], roots.T]
    return CorruptionPaths(
        up=tuple(up),
        to_family=sparse.hstack(families, format="csr"),
        members=_uniform_rows(sparse.vstack(members, format="csr")),
        level=level,
    )


def count_paths(taxonomy: Taxonomy) -> float:
    """Return about how many paths up there are from all labels, without computing them.

    In a tree these are the levels of all labels. Otherwise they are pairs of a label and an
    ancestor, each with as many lengths as paths between the two have.
    """
    depth, parents = taxonomy.depth, taxonomy.parents
    if np.diff(parents.indptr).max(initial=0) <= 1:
        return float(depth.sum())
    steps = depth[row_indices(parents)] - depth[parents.indices]
    # Parents all on the level above: all paths between two labels are equally long.
    lengths = 1.0 if steps.max() == 1 else max(1.0, float(depth.max()) / 2)
    return taxonomy.count_ancestors() * lengths


def _uniform_rows(relation: Sparse) -> Sparse:
    """Return the relation with equal entries in each row that add up to 1, or to 0."""
    count = np.maximum(np.diff(relation.indptr), 1)
    return (sparse.diags_array(1.0 / count, format="csr") @ relation.astype(float)).tocsr()


@registered("channel.corruption")
@dataclass(frozen=True, eq=False)
class Corruption:
    """C, the probability that v is given if t is true, as the product of its factors.

    Attributes
    ----------
    vague : csr_array, (K, K)
        U: the label that a source reaches, before it may give a sibling instead.
    to_family, members : csr_array, (K, families) and (families, K)
        F and B, as in `CorruptionPaths`.
    noise : float
        eps.
    max_dense_labels : int
        Labels up to which votes are multiplied by C as a dense matrix.
    """

    vague: Sparse
    to_family: Sparse
    members: Sparse
    noise: float
    max_dense_labels: int = MAX_DENSE_LABELS

    def forward(self, x: FloatArray) -> FloatArray:
        """Return x C, (n, K): the votes to be expected of true labels."""
        return _by_strips(self._forward, x)

    def backward(self, votes: Block) -> FloatArray:
        """Return votes C', (n, K): for every label how well it would explain the votes."""
        if len(self.vague.indptr) - 1 <= self.max_dense_labels:
            # A few rows of the matrix per instance: fewer than there are paths.
            return np.asarray(votes @ self._transposed)
        return _by_strips(self._backward, votes)

    def _forward(self, x: FloatArray) -> FloatArray:
        """Return C' x, (K, n)."""
        reached = self.vague.T @ x
        siblings = self.members.T @ (self.to_family.T @ reached)
        return self._mix(reached, siblings)

    def _backward(self, votes: FloatArray) -> FloatArray:
        """Return C votes, (K, n)."""
        siblings = self.to_family @ (self.members @ votes)
        return np.asarray(self.vague @ self._mix(votes, siblings))

    def _mix(self, straight: FloatArray, sideways: FloatArray) -> FloatArray:
        straight *= 1 - self.noise
        sideways *= self.noise
        straight += sideways
        return straight

    def matrix(self) -> FloatArray:
        """Return C, (K, K)."""
        return self.columns(np.arange(self.vague.shape[1]))

    def columns(self, labels: IntArray) -> FloatArray:
        """Return some columns of C, (K, G)."""
        members = select_columns(self.members, labels)
        siblings = self.vague @ self.to_family @ members
        return dense((1 - self.noise) * select_columns(self.vague, labels) + self.noise * siblings)

    @cached_property
    def _transposed(self) -> FloatArray:
        return np.ascontiguousarray(self.matrix().T)

    def __getstate__(self) -> dict[str, Any]:
        # The dense matrix is made again where it is needed, rather than sent.
        return {key: value for key, value in vars(self).items() if key != "_transposed"}


def multiply(x: FloatArray, matrix: Sparse, *, strip_cells: int = STRIP_CELLS) -> FloatArray:
    """Return the product of a dense and a sparse matrix, some rows at a time."""
    return _by_strips(matrix.T.__matmul__, x, strip_cells=strip_cells)


def _by_strips(
    transform: Callable[[FloatArray], FloatArray], x: Block, *, strip_cells: int = STRIP_CELLS
) -> FloatArray:
    """Return the transformed rows of x, some at a time; the transformation has them as columns.

    A row of a transposed strip is contiguous, which is what products with sparse matrices need.
    """
    strips = list(row_blocks(x.shape[0], x.shape[1], strip_cells)) or [slice(0, 0)]
    for rows in strips:
        columns = transform(np.array(dense(x[rows]).T, order="C"))
        if rows is strips[0]:
            result = np.empty((x.shape[0], len(columns)))
        result[rows] = columns.T
    return result


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """How vague and how noisy sources are.

    Attributes
    ----------
    vagueness : float array, (levels, levels)
        V: in row l and column h, the share of labels of level l that are given h levels higher.
    noise : float
        eps: the share that is then replaced by a random sibling, the label itself among them.
    """

    vagueness: FloatArray
    noise: float

    def corruption(self, paths: CorruptionPaths) -> Corruption:
        """Return the probability that each label is given for each other."""
        vague = paths.mix(self.vagueness)
        return Corruption(vague, paths.to_family, paths.members, self.noise)


def default_noise(paths: CorruptionPaths, *, noise: float = 0.3, decay: float = 0.5) -> NoiseModel:
    """Return the noise model before any data: each further level up is half as likely."""
    shares = np.tril(np.tile(decay ** np.arange(paths.depth), (paths.depth, 1)))
    return NoiseModel(shares / shares.sum(axis=1, keepdims=True), noise)
