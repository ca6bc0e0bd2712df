"""Label augmentation (Algorithm 1): with a label come its ancestors."""

import numpy as np

from mhpc.core.arrays import Sparse
from mhpc.core.entries import narrow
from mhpc.core.hierarchy import largest_along


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
        reached = (narrow(votes) @ narrow(closure)).tocsr()
        reached.data[:] = 1.0
        reached.sort_indices()
        return reached
    return largest_along(votes, closure)
