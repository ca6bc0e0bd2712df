"""What is known of every instance: how much its review is worth, and whether sources disagree."""

from dataclasses import dataclass

import numpy as np

from mhpc.data.decision import Decision
from mhpc.data.panel import Panel, panel_block
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.taxonomy import Taxonomy
from mhpc.explanation.disagreement import collect_labels, find_disputes
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, Sparse, dense
from mhpc.numerics.sparse import row_indices, values_at


@dataclass(frozen=True, eq=False)
class ExaminedInstances:
    """All instances of a result, in its order.

    Attributes
    ----------
    gain : float array, (N,)
        The expected gain of a review, from 0 to 1.
    disputed : bool array, (N,)
        Whether sources contradict each other.
    """

    gain: FloatArray
    disputed: BoolArray


def examine_instances(
    panel: Panel, consolidation: Consolidation, decision: Decision
) -> ExaminedInstances:
    """Compute the expected gain of reviewing every instance, and find the disputed ones."""
    gain = np.zeros(len(panel.instances))
    disputed = np.zeros(len(panel.instances), dtype=bool)
    for span in instance_blocks(consolidation):
        part = panel_block(panel, span)
        disputes = find_disputes(part, collect_labels(part))
        disputed[span] = np.bincount(disputes.row, minlength=len(part.instances)) > 0
        gain[span] = compute_review_gains(
            consolidation.score[span], decision.reason[span], panel.taxonomy
        )
    return ExaminedInstances(gain, disputed)


def compute_review_gains(score: Block, label_sets: Sparse, taxonomy: Taxonomy) -> FloatArray:
    """Compute by how much a review is expected to raise the F of each label set, (N,).

    A review makes a label set right, so that its F becomes 1. For the set S and the probability
    p_k of label k, F is now expected to be about

        E[F] = 2 sum_{k in S} p_k / (|S| + sum_k p_k),

    or the product of 1 - p_k over the roots if S is empty. The gain is 1 - E[F].

    Parameters
    ----------
    score : array or csr_array, (N, K)
        The scores.
    label_sets : csr_array, (N, K)
        An entry for every label of the set of an instance.
    taxonomy : Taxonomy
        The labels.
    """
    row, sizes = row_indices(label_sets), np.diff(label_sets.indptr)
    in_set = values_at(score, row, label_sets.indices.astype(np.int64))
    right = np.bincount(row, in_set, minlength=len(sizes))
    total = np.asarray(score.sum(axis=1)).ravel()
    expected_f = 2 * right / np.maximum(sizes + total, 1e-12)
    empty = np.flatnonzero(sizes == 0)
    expected_f[empty] = np.prod(1 - dense(score[empty][:, taxonomy.roots]), axis=1)
    return np.asarray(np.clip(1 - expected_f, 0.0, 1.0).round(9))
