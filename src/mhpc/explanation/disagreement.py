"""Disputed labels, value of one more answer.

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

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.disagreement import MAX_RANKED, DisagreementRanking
from mhpc.data.hierarchy import deepest, expand_along
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse, dense
from mhpc.numerics.sparse import canonical, run_starts, values_at

_SURE = 0.5
"""The share of an answer's highest score from which on it says a label, where it gives scores."""


@dataclass(frozen=True, eq=False)
class Said:
    """What the answers of a panel say, ones in both.

    Attributes
    ----------
    closed : csr_array, (A, K)
        Labels with their ancestors. Of an answer with scores, those at least half as high as its
        highest: a model that gives every label a number does not say every label.
    deepest : csr_array, (A, K)
        Those of them that have no other of them below.
    """

    closed: Sparse
    deepest: Sparse


def collect_answers(panel: Panel) -> Said:
    """Return what the panel's answers say."""
    closed = _closed(panel.augmented)
    return Said(closed, deepest(closed, panel.taxonomy))


def _closed(augmented: Sparse) -> Sparse:
    if (augmented.data == 1.0).all():
        return augmented
    said = augmented.copy()
    highest = np.asarray(augmented.max(axis=1).toarray()).ravel()
    row = np.repeat(np.arange(said.shape[0]), np.diff(said.indptr))
    said.data = (said.data >= _SURE * highest[row]).astype(float)
    said.eliminate_zeros()
    return said


def in_scope(scope: Sparse, source: IntArray, label: IntArray) -> BoolArray:
    """Tell whether sources can speak about labels, pair by pair.

    Found by bisection in each row, so that it costs the same however much a scope lists.
    """
    return np.asarray(dense(scope[source, label]).ravel() > 0)


def by_instance(panel: Panel) -> Sparse:
    """Return ones where an answer is an instance's, (N, A)."""
    answers = len(panel.instance)
    entries = (np.ones(answers), (panel.instance, np.arange(answers)))
    return sparse.csr_array(entries, shape=(len(panel.instances), answers))


@dataclass(frozen=True, eq=False)
class Disputes:
    """What is said of instances, and the (instance, label) cells in dispute, in order.

    A label is upheld by an answer that says it or a label below it, and contradicted by one that
    could say it and neither does nor stops at an ancestor of it: who says "flower" does not
    contradict "monarda", who says "fuchsia" does.

    Attributes
    ----------
    upheld : csr_array, (N, K)
        By how many answers each label is upheld.
    row, label : int arrays, (C,)
        The cells that somebody upholds and somebody contradicts.
    support, against : float arrays, (C,)
        By how many.
    """

    upheld: Sparse
    row: IntArray
    label: IntArray
    support: FloatArray
    against: FloatArray


def find_disputes(panel: Panel, said: Said) -> Disputes:
    """Return the disputes; costs what is said times the depth of the hierarchy."""
    upheld = canonical((by_instance(panel) @ said.closed).tocsr())
    row = np.repeat(np.arange(upheld.shape[0]), np.diff(upheld.indptr))
    label = upheld.indices.astype(np.int64)
    rest = panel.answers_per_instance[row] - upheld.data
    some = np.flatnonzero(rest > 0)
    row, label, support = row[some], label[some], upheld.data[some]
    against = rest[some] - _unable(panel, row, label) - _vague(panel, said, row, label)
    kept = against > 0
    return Disputes(upheld, row[kept], label[kept], support[kept], against[kept])


def strictly_above(taxonomy: Taxonomy) -> Sparse:
    """Return every label with all its ancestors, itself left out, (K, K)."""
    above = (taxonomy.closure - sparse.eye_array(len(taxonomy), format="csr")).tocsr()
    above.eliminate_zeros()
    return above


def _unable(panel: Panel, row: IntArray, label: IntArray) -> FloatArray:
    """Return how many answers to the instance of each cell could not have said its label."""
    if panel.scope is None:
        return np.zeros(len(row))
    size = panel.answers_per_instance[row]
    cell = np.repeat(np.arange(len(row)), size)
    within = np.arange(len(cell)) - np.repeat(np.cumsum(size) - size, size)
    answer = np.searchsorted(panel.instance, row)[cell] + within
    unable = ~in_scope(panel.scope, panel.source[answer], label[cell])
    return np.bincount(cell[unable], minlength=len(row)).astype(float)


def _vague(panel: Panel, said: Said, row: IntArray, label: IntArray) -> FloatArray:
    """Return how many answers that could say the label of each cell stop at an ancestor of it."""
    K = len(panel.taxonomy)
    answer = np.repeat(np.arange(len(panel.instance)), np.diff(said.deepest.indptr))
    key = panel.instance[answer] * np.int64(K) + said.deepest.indices
    order = np.argsort(key, kind="stable")
    key, answer = key[order], answer[order]
    cells = sparse.csr_array(
        (np.ones(len(label)), label, np.arange(len(label) + 1)), shape=(len(label), K)
    )
    cell, above, _ = expand_along(cells, strictly_above(panel.taxonomy))
    cell, answer = _joined(cell, row[cell] * np.int64(K) + above, key, answer)
    if panel.scope is not None:
        speaks = in_scope(panel.scope, panel.source[answer], label[cell])
        cell, answer = cell[speaks], answer[speaks]
    # With several parents an answer may stop at two ancestors, and is vague once.
    pair = np.sort(cell * np.int64(max(len(panel.instance), 1)) + answer)
    pair = pair[run_starts(pair)] if len(pair) else pair
    return np.bincount(pair // max(len(panel.instance), 1), minlength=len(label)).astype(float)


def _joined(
    cell: IntArray, wanted: IntArray, key: IntArray, answer: IntArray
) -> tuple[IntArray, IntArray]:
    """Pair every cell with the answers whose key, among ordered ones, is the one it wants."""
    if not len(key):
        return cell[:0], answer[:0]
    begins = np.flatnonzero(run_starts(key))
    sizes = np.diff(np.append(begins, len(key)))
    place = np.minimum(np.searchsorted(key[begins], wanted), len(begins) - 1)
    found = np.flatnonzero(key[begins[place]] == wanted)
    place = place[found]
    size = sizes[place]
    within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    return np.repeat(cell[found], size), answer[np.repeat(begins[place], size) + within]


EVEN = 0.5
"""The level where a rule has none."""

_OFF = 1e-6
"""Levels are kept so far off 0 and 1."""


def rank_disagreements(
    panel: Panel,
    found: Disputes,
    score: Block,
    reason: Sparse,
    level: float,
    *,
    most: int = MAX_RANKED,
) -> DisagreementRanking:
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
        for values in (expected_gain(p, n, chosen), p * (1 - p) / (n + 1) ** 2)
    )
    disputed = np.flatnonzero(np.bincount(found.row, minlength=N))
    best = _foremost(disputed, gain, moved, most)
    cells = np.flatnonzero(np.isin(found.row, best))
    row = np.searchsorted(best, found.row[cells])
    ends = np.searchsorted(row, np.arange(len(best) + 1))

    def table(values: FloatArray | BoolArray) -> Sparse:
        entries = (values[cells].astype(float), found.label[cells], ends)
        return sparse.csr_array(entries, shape=(len(best), len(panel.taxonomy)))

    return DisagreementRanking(
        most=most, count=len(disputed), ids=tuple(panel.instances[i] for i in best),
        gain=gain[best], moved=moved[best], answers=panel.answers_per_instance[best],
        agreed=mean_agreement(panel, found.upheld, best),
        score=table(at), chosen=table(chosen),
        support=table(found.support), against=table(found.against),
    ).best()  # fmt: skip


def _foremost(rows: IntArray, gain: FloatArray, moved: FloatArray, most: int) -> IntArray:
    """Return so many rows, in order, and all that are equal to the last: ids decide on those."""
    if len(rows) <= most:
        return rows
    last = rows[np.lexsort((moved[rows], gain[rows]))[-most]]
    parallel_map = gain[rows] > gain[last]
    level = (gain[rows] == gain[last]) & (moved[rows] >= moved[last])
    return np.asarray(rows[parallel_map | level])


def expected_gain(p: FloatArray, n: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return by how much one more answer is expected to lower each chance to be wrong."""
    up, down = (n * p + 1) / (n + 1), n * p / (n + 1)
    return np.where(chosen, (1 - p) * np.maximum(1 - 2 * down, 0), p * np.maximum(2 * up - 1, 0))


def _chance(score: FloatArray, chosen: BoolArray, level: float) -> FloatArray:
    """Return p; a label on the wrong side of the level, by another rule, is taken to be at it."""
    t = min(max(level, _OFF), 1 - _OFF)
    s = np.clip(np.where(chosen, np.maximum(score, t), np.minimum(score, t)), 0.0, 1.0)
    yes, no = s * (1 - t), (1 - s) * t
    return np.asarray(yes / (yes + no))


def mean_agreement(panel: Panel, upheld: Sparse, rows: IntArray) -> IntArray:
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
