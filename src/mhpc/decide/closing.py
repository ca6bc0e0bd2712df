"""Label sets closed under ancestors, with the reason for each label."""

import numpy as np
from scipy import sparse

from mhpc.core.arrays import Block, Sparse
from mhpc.core.taxonomy import Taxonomy


def reached(score: Block, level: float) -> Sparse:
    """Return ones where a label reaches the level by itself."""
    if not isinstance(score, np.ndarray):
        at = np.flatnonzero(score.data >= level)
        ones = (np.ones(len(at), dtype=np.int16), score.indices[at])
        return sparse.csr_array((*ones, np.searchsorted(at, score.indptr)), shape=score.shape)
    row, label = np.nonzero(score >= level)
    ends = np.searchsorted(row, np.arange(len(score) + 1))
    return sparse.csr_array((np.ones(len(label), dtype=np.int16), label, ends), shape=score.shape)


def closed(own: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Return labels with all their ancestors, as in `Decision.reason`; ones in, 1 and 2 out."""
    implied = (own @ taxonomy.closure.astype(np.int16)).tocsr()
    # 2 for all that is reached, less 1 where a label does so by itself.
    implied.data = np.full(implied.nnz, 2, dtype=np.int8)
    reason = (implied - own.astype(np.int8)).tocsr()
    reason.sort_indices()
    return reason
