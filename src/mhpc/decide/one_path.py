"""One path: the label that is most likely the one truth, with all its ancestors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mhpc.core.arrays import Block, Sparse
from mhpc.core.consolidation import Consolidation
from mhpc.core.taxonomy import Taxonomy
from mhpc.decide.rule import Rule


class OnePath(Rule):
    """Take the label whose `specific` is highest, the earlier one in a tie, and its ancestors.

    For instances that have one true label. An instance of which nothing is known has none.
    """

    name: ClassVar[str] = "one-path"

    def settle(self, consolidation: Consolidation, *, labels_per_answer: float) -> "Path":
        """Nothing depends on other instances."""
        return Path()


@dataclass(frozen=True)
class Path:
    """The path to the best label."""

    rule: str = OnePath.name

    @property
    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def sets(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the best label, and what it implies."""
        best = np.asarray(specific.argmax(axis=1)).ravel()
        highest = specific.max(axis=1)
        highest = np.asarray(highest.toarray() if sparse.issparse(highest) else highest).ravel()
        known = np.flatnonzero(highest > 0)
        chosen = sparse.csr_array(
            (np.ones(len(known), dtype=np.int8), (known, best[known])), shape=specific.shape
        )
        paths = (chosen.astype(np.int64) @ taxonomy.closure).tocsr()
        # 1 is the label itself, 2 what it implies.
        paths.data[:] = 2
        reason = (paths - chosen).astype(np.int8).tocsr()
        reason.sort_indices()
        return reason
