"""One path: the label that is most likely the one truth, with all its ancestors."""

from typing import ClassVar

import numpy as np
from scipy import sparse

from mhpc.core.consolidation import Consolidation, blocks
from mhpc.core.decision import Decision
from mhpc.core.parameters import Parameters


class OnePath(Parameters):
    """Take the label whose `specific` is highest, the earlier one in a tie, and its ancestors.

    For instances that have one true label. An instance of which nothing is known has none.
    """

    name: ClassVar[str] = "one-path"

    def decide(self, consolidation: Consolidation, *, labels_per_answer: float) -> Decision:
        """Return a path for every instance; what answers hold on average does not matter."""
        parts = []
        for _, block in blocks(consolidation.specific):
            best = np.argmax(block, axis=1)
            known = np.flatnonzero(block[np.arange(len(block)), best] > 0)
            parts.append(
                sparse.csr_array(
                    (np.ones(len(known), dtype=np.int8), (known, best[known])), shape=block.shape
                )
            )
        chosen = sparse.vstack(parts, format="csr")
        paths = (chosen.astype(np.int64) @ consolidation.taxonomy.closure).tocsr()
        # 1 is the label itself, 2 what it implies.
        paths.data[:] = 2
        reason = (paths - chosen).astype(np.int8).tocsr()
        reason.sort_indices()
        return Decision(
            taxonomy=consolidation.taxonomy,
            instances=consolidation.instances,
            reason=reason,
            rule=self.name,
            parameters={},
        )
