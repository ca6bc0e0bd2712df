"""Label augmentation (Algorithm 1): with a label come its ancestors."""

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.encode.matrix import largest_of_each


def augment(votes: Sparse, closure: Sparse) -> Sparse:
    """Return the votes with all ancestors, each with the largest score below it.

    The paper walks up from every label to the root. Over all answers that is one sparse
    product with the ancestor closure, for trees and DAGs alike.

    Parameters
    ----------
    votes : csr_array, (A, K)
        Scores in [0, 1].
    closure : csr_array, (K, K)
        Every label with itself and its ancestors, as `Taxonomy.closure`.

    Returns
    -------
    csr_array, (A, K)
        Costs the number of (vote, ancestor) pairs in time and memory.
    """
    if np.all(votes.data == 1.0):
        reached = (votes @ closure).tocsr()
        reached.data[:] = 1.0
        reached.sort_indices()
        return reached
    return largest_of_each(*_spread_upwards(votes, closure), shape=votes.shape)


def _spread_upwards(votes: Sparse, closure: Sparse) -> tuple[IntArray, IntArray, FloatArray]:
    """List every vote once for each ancestor: the product, before terms are summed."""
    heights = np.diff(closure.indptr)[votes.indices]
    row = np.repeat(np.arange(votes.shape[0]), np.diff(votes.indptr))
    starts = np.repeat(closure.indptr[votes.indices], heights)
    within = np.arange(heights.sum()) - np.repeat(np.cumsum(heights) - heights, heights)
    return (
        np.repeat(row, heights).astype(np.int64),
        closure.indices[starts + within].astype(np.int64),
        np.repeat(votes.data, heights),
    )
