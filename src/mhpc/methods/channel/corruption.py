"""How a vague or confused source gets from a true label to the one it says.

C: P(says v | t is true), (K, K). A source hops h levels up from t and then says what it reached,
or a sibling of that. V: share of h hops, by level of t. eps: share of siblings.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse


@dataclass(frozen=True, eq=False)
class CorruptionPaths:
    """The ways from a label: h levels up, and then perhaps aside.

    Attributes
    ----------
    up, aside : tuple of csr_array, (K, K)
        At h: the labels reached by h hops, and their siblings, themselves among them; where
        there are several, drawn evenly. A way that is shorter ends at the top.
    level : int array, (K,)
        Level of each label, 0 the top.
    """

    up: tuple[Sparse, ...]
    sideways: tuple[Sparse, ...]
    level: IntArray

    @property
    def depth(self) -> int:
        """Number of levels, and of hops, none included."""
        return len(self.up)


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """What sources make of the truth, in a few numbers that can be read.

    Attributes
    ----------
    vagueness : float array, (levels, levels)
        V: row l, column h the share of labels on level l that are said h levels higher.
    noise : float
        eps: the share that is then replaced by a sibling, the label itself among those drawn.
    """

    vagueness: FloatArray
    noise: float

    def matrix(self, hops: CorruptionPaths) -> Sparse:
        """Return C."""
        terms = (
            sparse.diags_array(self.vagueness[hops.level, h], format="csr")
            @ ((1 - self.noise) * hops.up[h] + self.noise * hops.sideways[h])
            for h in range(hops.depth)
        )
        return sum(terms, start=sparse.csr_array(hops.up[0].shape)).tocsr()


def corruption_paths(taxonomy: Taxonomy) -> CorruptionPaths:
    """Return the ways from every label of a taxonomy."""
    to_parent, to_child, hop = _evenly(taxonomy.parents), _evenly(taxonomy.children), _hop(taxonomy)
    roots, K = taxonomy.roots, len(taxonomy)
    among_roots = sparse.csr_array(
        (
            np.full(len(roots) ** 2, 1.0 / len(roots)),
            (np.repeat(roots, len(roots)), np.tile(roots, len(roots))),
        ),
        shape=(K, K),
    )
    sibling = (to_parent @ to_child + among_roots).tocsr()
    up = [sparse.eye_array(K, format="csr")]
    for _ in range(int(taxonomy.depth.max()) - 1):
        up.append((up[-1] @ hop).tocsr())
    sideways = tuple((reached @ sibling).tocsr() for reached in up)
    return CorruptionPaths(tuple(up), sideways, np.asarray(taxonomy.depth - 1, dtype=np.int64))


def count_paths(taxonomy: Taxonomy) -> float:
    """Return how many ways `corruption_paths` would hold, about, without making them."""
    roots = np.diff(taxonomy.parents.indptr) == 0
    family = taxonomy.parents @ np.diff(taxonomy.children.indptr) + roots * float(roots.sum())
    hop, total = _hop(taxonomy), 0.0
    for _ in taxonomy.levels:
        total += float(family.sum())
        family = hop @ family
    return total


def default_noise(hops: CorruptionPaths, *, noise: float = 0.3, keep: float = 0.5) -> NoiseModel:
    """Return what is supposed before anything is known: each hop half as likely as the last."""
    shares = np.tril(np.tile(keep ** np.arange(hops.depth), (hops.depth, 1)))
    return NoiseModel(shares / shares.sum(axis=1, keepdims=True), noise)


def _hop(taxonomy: Taxonomy) -> Sparse:
    """Return where one hop up leads; from the top, to itself."""
    # With several parents of unlike depth one way may be at the top while another still goes up.
    at_top = sparse.diags_array((taxonomy.depth == 1).astype(float), format="csr")
    return (_evenly(taxonomy.parents) + at_top).tocsr()


def _evenly(relation: Sparse) -> Sparse:
    """Return the relation with rows that sum to 1, or to 0."""
    count = np.maximum(np.diff(relation.indptr), 1)
    return (sparse.diags_array(1.0 / count, format="csr") @ relation.astype(float)).tocsr()
