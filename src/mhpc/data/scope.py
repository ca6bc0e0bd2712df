"""Labels that sources give although their scope, which an earlier run found, leaves them out."""

import numpy as np
from scipy import sparse

from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.numerics.sparse import row_indices, values_at


def find_outside(votes: Sparse, source: IntArray, scope: Sparse | None) -> Sparse | None:
    """Return ones where an answer has a label outside the scope of its source, (A, K).

    None if there is no such label. A run never has one, since the labels that a source gives are
    in its scope. The answers of another day may: then the answer itself shows that the source can
    give the label.

    Parameters
    ----------
    votes : csr_array, (A, K)
        The labels of every answer.
    source : int array, (A,)
        The source of every answer.
    scope : csr_array, (M, K), or None
        Ones where a source can give a label; None if every source can give all labels.
    """
    if scope is None:
        return None
    answer = row_indices(votes)
    outside = np.flatnonzero(values_at(scope, source[answer], votes.indices) == 0)
    if not len(outside):
        return None
    cells = (np.ones(len(outside)), (answer[outside], votes.indices[outside]))
    return sparse.csr_array(cells, shape=votes.shape)
