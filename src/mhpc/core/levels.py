"""Levels: labels sorted so that each comes after its parents, and the cycle where that fails."""

import numpy as np

from mhpc.core.arrays import IntArray, Sparse
from mhpc.core.index import Index
from mhpc.errors import TaxonomyError


def levels_of(parents: Sparse, labels: Index) -> tuple[IntArray, ...]:
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
