"""Gain: what one more opinion on an instance is worth.

Letters, for a label in dispute: t the score from which on labels are chosen, s the label's score,
n the answers that uphold or contradict it, p the chance that the next one upholds it,

    p / (1 - p) = s / (1 - s) * (1 - t) / t,

which is s where t is a half, and a half at the level whatever the scale of the scores is. The
next answer counts as one of n + 1: p becomes (n p + 1) / (n + 1) with chance p, else
n p / (n + 1). If that is on the other side of a half, the set is mended. The chance min(p, 1 - p)
to be wrong on the label so falls, in expectation, by

    p (2 (n p + 1) / (n + 1) - 1)+          of a label that is not chosen,
    (1 - p) (1 - 2 n p / (n + 1))+          of one that is.

An instance's gain is the sum over its labels in dispute. Where nobody contradicts anybody it is 0,
however vague they are: another answer would be the first to bring a dispute, not settle one.
Instances on which one answer could mend nothing are ranked by how far it would move the scores, the
sum of the variances p (1 - p) / (n + 1)^2.
"""

import numpy as np
from scipy import sparse

from mhpc.core.arrays import Block, BoolArray, FloatArray, IntArray, Sparse
from mhpc.core.conflicts import KEPT, Contested
from mhpc.core.entries import values_at
from mhpc.core.panel import Panel
from mhpc.explain.disputes import Disputes

EVEN = 0.5
"""The level where a rule has none."""

_OFF = 1e-6
"""Levels are kept so far off 0 and 1."""


def contested(
    panel: Panel, found: Disputes, score: Block, reason: Sparse, level: float, *, most: int = KEPT
) -> Contested:
    """Return the instances of a block on which one more opinion is worth most.

    Parameters
    ----------
    panel : Panel
        The block.
    found : Disputes
        Of its answers.
    score : array or csr_array, (N, K)
        Of its instances.
    reason : csr_array, (N, K)
        Their label sets.
    level : float
        The score from which on labels are chosen.
    most : int
        How many to return.
    """
    at = values_at(score, found.row, found.label)
    chosen = values_at(reason, found.row, found.label) > 0
    p, n = _chance(at, chosen, level), found.support + found.against
    N = len(panel.instances)
    gain, moved = (
        np.bincount(found.row, values, minlength=N).astype(float)
        for values in (mended(p, n, chosen), p * (1 - p) / (n + 1) ** 2)
    )
    disputed = np.flatnonzero(np.bincount(found.row, minlength=N))
    best = _foremost(disputed, gain, moved, most)
    cells = np.flatnonzero(np.isin(found.row, best))
    row = np.searchsorted(best, found.row[cells])
    ends = np.searchsorted(row, np.arange(len(best) + 1))

    def table(values: FloatArray | BoolArray) -> Sparse:
        entries = (values[cells].astype(float), found.label[cells], ends)
        return sparse.csr_array(entries, shape=(len(best), len(panel.taxonomy)))

    return Contested(
        most=most, count=len(disputed), ids=tuple(panel.instances[i] for i in best),
        gain=gain[best], moved=moved[best], answers=panel.answers_per_instance[best],
        agreed=agreed_in(panel, found.upheld, best),
        score=table(at), chosen=table(chosen),
        support=table(found.support), against=table(found.against),
    ).best()  # fmt: skip


def _foremost(rows: IntArray, gain: FloatArray, moved: FloatArray, most: int) -> IntArray:
    """Return so many rows, in order, and all that are equal to the last: ids decide on those."""
    if len(rows) <= most:
        return rows
    last = rows[np.lexsort((moved[rows], gain[rows]))[-most]]
    ahead = gain[rows] > gain[last]
    level = (gain[rows] == gain[last]) & (moved[rows] >= moved[last])
    return np.asarray(rows[ahead | level])


def mended(p: FloatArray, n: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return by how much one more answer is expected to lower each chance to be wrong."""
    up, down = (n * p + 1) / (n + 1), n * p / (n + 1)
    return np.where(chosen, (1 - p) * np.maximum(1 - 2 * down, 0), p * np.maximum(2 * up - 1, 0))


def _chance(score: FloatArray, chosen: BoolArray, level: float) -> FloatArray:
    """Return p; a label on the wrong side of the level, by another rule, is taken to be at it."""
    t = min(max(level, _OFF), 1 - _OFF)
    s = np.clip(np.where(chosen, np.maximum(score, t), np.minimum(score, t)), 0.0, 1.0)
    yes, no = s * (1 - t), (1 - s) * t
    return np.asarray(yes / (yes + no))


def agreed_in(panel: Panel, upheld: Sparse, rows: IntArray) -> IntArray:
    """Return the deepest label that every answer to an instance upholds; -1 where none is."""
    some = upheld[rows]
    row = np.repeat(np.arange(len(rows)), np.diff(some.indptr))
    by_all = np.flatnonzero(some.data == panel.answers_per_instance[rows][row])
    row, label = row[by_all], some.indices[by_all].astype(np.int64)
    order = np.lexsort((-label, panel.taxonomy.depth[label], row))
    found = np.full(len(rows), -1, dtype=np.int64)
    # The last of a row stays: the deepest, and of these the first.
    found[row[order]] = label[order]
    return found
