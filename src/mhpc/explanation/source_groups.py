"""Groups of near-duplicate sources, and the tree of all sources by their dependence."""

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from mhpc.data.contributions import SourceTree
from mhpc.data.profiles import SourceDependence
from mhpc.numerics.arrays import FloatArray, IntArray

NEAR_DUPLICATE = 0.95
"""The dependence from which on two sources are near-duplicates, as in source profiles."""

MAX_TREE = 1000
"""With more sources there is no tree, since all pairs are compared."""


def select_sources(dependence: SourceDependence, count: int) -> SourceDependence:
    """Return the dependence of the first sources; gold labels are the last one."""
    return SourceDependence(dependence.skill[:count], dependence.matrix[:count][:, :count])


def group_near_duplicates(
    dependence: SourceDependence, *, threshold: float = NEAR_DUPLICATE
) -> list[IntArray]:
    """Return the groups of at least two sources that are linked by a dependence, the largest first.

    These are the groups that single linkage gives if it is cut at the threshold.
    """
    linked = sparse.csr_array(dependence.matrix >= threshold)
    count, group = connected_components(linked, directed=False)
    members = [np.flatnonzero(group == number) for number in range(count)]
    return sorted(
        (each for each in members if len(each) > 1), key=lambda each: (-len(each), each[0])
    )


def link_sources(dependence: SourceDependence, *, max_sources: int = MAX_TREE) -> SourceTree | None:
    """Return the tree of all sources by single linkage; None if there are too many, or only one."""
    M = len(dependence.skill)
    if not 2 <= M <= max_sources:
        return None
    matrix = dependence.matrix.toarray()
    distance = 1.0 - np.maximum(matrix, matrix.T)
    np.fill_diagonal(distance, 0.0)
    links: FloatArray = linkage(squareform(distance, checks=False), method="single")
    return SourceTree(
        order=tuple(leaves_list(links).tolist()),
        merges=tuple((int(a), int(b), 1.0 - float(far)) for a, b, far, _ in links),
    )
