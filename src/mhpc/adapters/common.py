"""What the adapters share: a hierarchy however it is given, and scores as one sparse matrix."""

from typing import Any

import numpy as np

from mhpc.core.arrays import Sparse
from mhpc.core.best import scored_cells
from mhpc.core.consolidation import Consolidation
from mhpc.core.entries import from_ordered
from mhpc.core.taxonomy import Taxonomy, build_taxonomy
from mhpc.core.votes import Votes
from mhpc.read.taxonomy import read_taxonomy


def taxonomy_from(given: Any, votes: Votes) -> Taxonomy:
    """Return a taxonomy, read if need be; without one, the labels said, each a root."""
    if given is None:
        return build_taxonomy(votes.labels.ids, [])
    return given if isinstance(given, Taxonomy) else read_taxonomy(given)


def sparse_scores(found: Consolidation) -> Sparse:
    """Return the scores above 0, (N, K), without ever holding the others."""
    cells = list(scored_cells(found))
    row, label, score = (
        np.concatenate([getattr(part, name) for part in cells])
        for name in ("row", "label", "score")
    )
    scores = from_ordered(row, label, score, shape=(len(found.instances), len(found.taxonomy)))
    scores.eliminate_zeros()
    return scores
