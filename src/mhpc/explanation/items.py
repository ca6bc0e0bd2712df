"""One row per instance: its labels, how sure they are, and how much a review is worth."""

import numpy as np

from mhpc.data.decision import Decision
from mhpc.data.items import Items, join_items, make_items
from mhpc.data.panel import Panel, panel_block
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.explanation.disagreement import find_even_score
from mhpc.explanation.sources import ExaminedBlock, examine_block
from mhpc.methods.scope import with_inferred_scope
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import csr_from_sorted, row_indices, values_at


def find_items(panel: Panel, consolidation: Consolidation, decision: Decision) -> Items:
    """Return one row per instance of a result, as ``items.csv`` has it."""
    scoped = with_inferred_scope(panel)
    blocks = []
    for rows in instance_blocks(consolidation):
        part, score, reason = (
            panel_block(scoped, rows), consolidation.score[rows], decision.reason[rows],
        )  # fmt: skip
        even_score = find_even_score(decision.parameters)
        gain = None if decision.gain is None else decision.gain[rows]
        examined = examine_block(part, score, reason, even_score=even_score, gain=gain, limit=1)
        blocks.append(list_items(part, score, reason, examined))
    return join_items(blocks)


def list_items(panel: Panel, score: Block, reason: Sparse, examined: ExaminedBlock) -> Items:
    """Return one row per instance of a panel.

    Parameters
    ----------
    panel : Panel
        Some instances.
    score : array or csr_array, (N, K)
        Their scores.
    reason : csr_array, (N, K)
        Their label sets, as in `Decision`.
    examined : ExaminedBlock
        What `examine_block` returned for them.
    """
    row = row_indices(reason)[examined.is_deepest]
    label = reason.indices[examined.is_deepest]
    sources, agreement = _count_agreement(panel, examined)
    return make_items(
        panel.instances,
        panel.taxonomy,
        csr_from_sorted(row, label, values_at(score, row, label), shape=reason.shape),
        review_priority=examined.gain,
        sources=sources,
        agreement=agreement,
    )


def _count_agreement(panel: Panel, examined: ExaminedBlock) -> tuple[IntArray, FloatArray]:
    """Return the number of answers to each instance, and the share that agree with its labels."""
    # Gold labels are encoded as answers, but of no source.
    is_answer = ~panel.is_gold
    N = len(panel.instances)
    sources = np.bincount(panel.instance[is_answer], minlength=N)
    agreeing = np.bincount(panel.instance[is_answer & examined.agrees], minlength=N)
    agreement = np.full(N, np.nan)
    np.divide(agreeing, sources, out=agreement, where=sources > 0)
    return sources, agreement
