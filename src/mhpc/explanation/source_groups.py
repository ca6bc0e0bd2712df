"""Groups of near-duplicate sources, and the tree of all sources by their dependence."""

from collections.abc import Sequence

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

CORRELATED = 0.5
"""The dependence from which on two sources are correlated."""

MAX_TREE = 60
"""The most sources of a tree, as many as can be read in a picture."""


def select_sources(dependence: SourceDependence, count: int) -> SourceDependence:
    """Return the dependence of the first sources; gold labels are the last one."""
    return SourceDependence(dependence.skill[:count], dependence.matrix[:count][:, :count])


def group_sources(dependence: SourceDependence, threshold: float) -> list[IntArray]:
    """Return the groups of at least two sources that are linked by a dependence, the largest first.

    These are the groups that single linkage gives if it is cut at the threshold.
    """
    linked = sparse.csr_array(dependence.matrix >= threshold)
    count, group = connected_components(linked, directed=False)
    members = [np.flatnonzero(group == number) for number in range(count)]
    return sorted(
        (each for each in members if len(each) > 1), key=lambda each: (-len(each), each[0])
    )


def link_sources(
    dependence: SourceDependence, names: Sequence[str], *, limit: int = MAX_TREE
) -> SourceTree:
    """Return the tree of sources by single linkage; of more than `limit`, the most dependent."""
    closest = dependence.nearest[1]
    chosen = np.sort(np.argsort(-closest, kind="stable")[:limit])
    matrix = dependence.matrix.toarray()[np.ix_(chosen, chosen)]
    distance = 1.0 - np.maximum(matrix, matrix.T)
    np.fill_diagonal(distance, 0.0)
    links: FloatArray = linkage(squareform(distance, checks=False), method="single")
    order = leaves_list(links)
    # Sources are numbered as they are drawn.
    number = np.arange(2 * len(order))
    number[order] = np.arange(len(order))
    return SourceTree(
        sources=tuple(names[m] for m in chosen[order]),
        merges=tuple(
            (int(number[int(a)]), int(number[int(b)]), 1.0 - float(far)) for a, b, far, _ in links
        ),
    )
