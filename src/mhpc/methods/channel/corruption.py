"""The noise model: how a vague or confused source gets from a true label to the one it gives.

C_tv is the probability that v is given if t is true, (K, K). A source goes h levels up from t and
gives the label it has reached, or one of the siblings of that. V has the shares of h by the level
of t, eps is the share of siblings.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse


@dataclass(frozen=True, eq=False)
class CorruptionPaths:
    """The paths from every label: h levels up, and then perhaps sideways to a sibling.

    Attributes
    ----------
    up : tuple of csr_array, (K, K)
        up[h]: the probability of each label h levels above a label. Several parents are equally
        likely; a path that is shorter ends at the top.
    sideways : tuple of csr_array, (K, K)
        sideways[h]: the same after a step to a random sibling, the label itself among them.
    level : int array, (K,)
        The level of each label, 0 at the top.
    """

    up: tuple[Sparse, ...]
    sideways: tuple[Sparse, ...]
    level: IntArray

    @property
    def depth(self) -> int:
        """The number of levels, and of possible values of h, from 0."""
        return len(self.up)


def corruption_paths(taxonomy: Taxonomy) -> CorruptionPaths:
    """Return the paths from every label of a taxonomy; roots are siblings of each other."""
    to_parent, to_child = _uniform_rows(taxonomy.parents), _uniform_rows(taxonomy.children)
    roots, K = taxonomy.roots, len(taxonomy)
    among_roots = sparse.csr_array(
        (
            np.full(len(roots) ** 2, 1.0 / len(roots)),
            (np.repeat(roots, len(roots)), np.tile(roots, len(roots))),
        ),
        shape=(K, K),
    )
    to_sibling = (to_parent @ to_child + among_roots).tocsr()
    one_up, up = _one_level_up(taxonomy), [sparse.eye_array(K, format="csr")]
    for _ in range(int(taxonomy.depth.max()) - 1):
        up.append((up[-1] @ one_up).tocsr())
    return CorruptionPaths(
        up=tuple(up),
        sideways=tuple((reached @ to_sibling).tocsr() for reached in up),
        level=np.asarray(taxonomy.depth - 1, dtype=np.int64),
    )


def count_paths(taxonomy: Taxonomy) -> float:
    """Return about how many entries `corruption_paths` would have, without computing them."""
    is_root = np.diff(taxonomy.parents.indptr) == 0
    n_siblings = taxonomy.parents @ np.diff(taxonomy.children.indptr)
    n_siblings = n_siblings + is_root * float(is_root.sum())
    one_up, total = _one_level_up(taxonomy), 0.0
    for _ in taxonomy.levels:
        total += float(n_siblings.sum())
        n_siblings = one_up @ n_siblings
    return total


def _one_level_up(taxonomy: Taxonomy) -> Sparse:
    """Return the probability of each label one level up; a root stays where it is."""
    # With parents of different depth, one path may be at the top while another still goes up.
    is_top = sparse.diags_array((taxonomy.depth == 1).astype(float), format="csr")
    return (_uniform_rows(taxonomy.parents) + is_top).tocsr()


def _uniform_rows(relation: Sparse) -> Sparse:
    """Return the relation with equal entries in each row that add up to 1, or to 0."""
    count = np.maximum(np.diff(relation.indptr), 1)
    return (sparse.diags_array(1.0 / count, format="csr") @ relation.astype(float)).tocsr()


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

    def matrix(self, paths: CorruptionPaths) -> Sparse:
        """Return C = sum over h of V_lh ((1 - eps) up_h + eps sideways_h), (K, K)."""
        terms = (
            sparse.diags_array(self.vagueness[paths.level, h], format="csr")
            @ ((1 - self.noise) * paths.up[h] + self.noise * paths.sideways[h])
            for h in range(paths.depth)
        )
        return sum(terms, start=sparse.csr_array(paths.up[0].shape)).tocsr()


def default_noise(paths: CorruptionPaths, *, noise: float = 0.3, decay: float = 0.5) -> NoiseModel:
    """Return the noise model before any data: each further level up is half as likely."""
    shares = np.tril(np.tile(decay ** np.arange(paths.depth), (paths.depth, 1)))
    return NoiseModel(shares / shares.sum(axis=1, keepdims=True), noise)
