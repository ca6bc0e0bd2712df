"""Disputed labels, and the instances whose review is expected to help most.

An answer *supports* a label if it gives the label or a descendant of it. It *contradicts* a label
in the scope of its source if it neither supports it nor stops at an ancestor: "flower" does not
contradict "monarda", "fuchsia" does. A negative vote contradicts a label if it is against the label
or an ancestor. A label is *disputed* on an instance if some answers support it and others
contradict it.

Expected gain of a review. A person who settles an instance makes its label set right, so that its F
becomes 1. Let S be the decided label set and p_k the probability of label k. The F of S is now
expected to be about

    E[F] = 2 sum_{k in S} p_k / (|S| + sum_k p_k),

and the gain is 1 - E[F]. For an empty set, E[F] is the probability that no label applies, the
product of 1 - p_k over the roots. Where scores are not probabilities, odds are multiplied such
that p = 1/2 at the threshold: p / (1 - p) = s / (1 - s) * (1 - t) / t.

The gain does not ask whether sources contradict each other: a single vague answer leaves much to
settle. Instances to review are those with a disputed label, and those whose gain is large; they
are ranked by gain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.data.disagreement import MAX_RANKED, DisagreementRanking
from mhpc.data.hierarchy import deepest, expand_along
from mhpc.data.panel import Panel, drop_gold, panel_block
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse, dense
from mhpc.numerics.sparse import (
    DIGITS,
    are_cells,
    canonical,
    concatenate_ranges,
    incidence,
    row_indices,
    run_starts,
    values_at,
)

MIN_GAIN = 0.3
"""Instances with at least this expected gain need a review, whether or not sources disagree: their
label sets are expected to be 70 % right at most."""

_MIN_RELATIVE_SCORE = 0.5
"""An answer with scores gives the labels that have at least this share of its highest score."""

_BY_PROBABILITY = ("expected-f", "min-probability")
"""Where the thresholds of rules come from that take scores as probabilities."""

_EDGE = 1e-6
"""The smallest distance of the threshold from 0 and 1."""


@dataclass(frozen=True, eq=False)
class AnswerLabels:
    """The labels that each answer of a panel gives, as matrices of ones.

    Attributes
    ----------
    closed : csr_array, (A, K)
        The labels with their ancestors. For an answer with scores, those at least half as high as
        its highest: a classifier that scores every label does not give every label.
    deepest : csr_array, (A, K)
        Those that have no descendant among them.
    """

    closed: Sparse
    deepest: Sparse


@dataclass(frozen=True, eq=False)
class Disputes:
    """The support of labels, and the disputed (instance, label) cells in order.

    Attributes
    ----------
    supported : csr_array, (N, K)
        The number of answers that support each label.
    row, label : int arrays, (C,)
        The cells that some answers support and others contradict.
    support, against : float arrays, (C,)
        The number of answers that do.
    """

    supported: Sparse
    row: IntArray
    label: IntArray
    support: FloatArray
    against: FloatArray


def collect_labels(panel: Panel) -> AnswerLabels:
    """Collect the labels that the answers of a panel give."""
    closed = _drop_low_scores(panel.augmented)
    return AnswerLabels(closed, deepest(closed, panel.taxonomy))


def _drop_low_scores(augmented: Sparse) -> Sparse:
    if (augmented.data == 1.0).all():
        return augmented
    closed = augmented.copy()
    highest = np.asarray(augmented.max(axis=1).toarray()).ravel()
    closed.data = (closed.data >= _MIN_RELATIVE_SCORE * highest[row_indices(closed)]).astype(float)
    closed.eliminate_zeros()
    return closed


def find_disputes(panel: Panel, labels: AnswerLabels) -> Disputes:
    """Find the labels that sources dispute; gold labels are no answers of a source.

    The cost is proportional to the votes times their depth.
    """
    if panel.is_gold.any():
        answers = ~panel.is_gold
        labels = AnswerLabels(labels.closed[answers], labels.deepest[answers])
        panel = drop_gold(panel)
    by_instance = incidence(panel.instance, shape=(len(panel.instances), len(panel.instance)))
    supported = canonical((by_instance @ labels.closed).tocsr())
    row, label = row_indices(supported), supported.indices.astype(np.int64)
    silent = panel.answers_per_instance[row] - supported.data
    is_denied = np.zeros(len(row), dtype=bool)
    is_denied[find_deniers(panel, row, label)[0]] = True
    cells = np.flatnonzero((silent > 0) | is_denied)
    row, label, support = row[cells], label[cells], supported.data[cells]
    against = (
        silent[cells]
        - _count_out_of_scope(panel, row, label)
        - _count_vague(panel, labels, row, label)
        + _count_deniers_without_answer(panel, row, label)
    )
    disputed = against > 0
    return Disputes(supported, row[disputed], label[disputed], support[disputed], against[disputed])


def find_disputed(panel: Panel, *, block_rows: int = 1 << 16) -> BoolArray:
    """Return for every instance of a panel whether sources contradict each other, (N,)."""
    disputed = np.zeros(len(panel.instances), dtype=bool)
    for start in range(0, len(disputed), block_rows):
        rows = slice(start, min(start + block_rows, len(disputed)))
        part = panel_block(panel, rows)
        row = find_disputes(part, collect_labels(part)).row
        disputed[rows] = np.bincount(row, minlength=rows.stop - rows.start) > 0
    return disputed


def find_deniers(panel: Panel, row: IntArray, label: IntArray) -> tuple[IntArray, IntArray]:
    """Return every (position in `row`, source) such that the source denies the label.

    A source denies a label if it has a negative vote against it or against an ancestor of it.
    """
    denials, K, M = panel.denials, np.int64(len(panel.taxonomy)), np.int64(len(panel.sources))
    if denials is None or not len(denials):
        return row[:0], row[:0]
    some = np.flatnonzero(np.isin(row, denials.instance))
    entries = (np.ones(len(some)), label[some], np.arange(len(some) + 1))
    cells = sparse.csr_array(entries, shape=(len(some), int(K)))
    position, above, _ = expand_along(cells, panel.taxonomy.closure_of(cells.indices))
    cell = some[position]
    key = denials.instance * K + denials.label
    order = np.argsort(key, kind="stable")
    cell, source = _join(cell, row[cell] * K + above, key[order], denials.source[order])
    return np.divmod(np.unique(cell * M + source), M)


def _count_deniers_without_answer(panel: Panel, row: IntArray, label: IntArray) -> FloatArray:
    """Count, for each cell, the sources that deny the label and give no label to the instance."""
    cell, source = find_deniers(panel, row, label)
    M = np.int64(len(panel.sources))
    answered = np.isin(row[cell] * M + source, panel.instance * M + panel.source)
    return np.bincount(cell[~answered], minlength=len(row)).astype(float)


def _count_out_of_scope(panel: Panel, row: IntArray, label: IntArray) -> FloatArray:
    """Count, for each cell, the answers whose source does not have the label in its scope."""
    if panel.scope is None:
        return np.zeros(len(row))
    cell, answer = concatenate_ranges(
        np.searchsorted(panel.instance, row), panel.answers_per_instance[row]
    )
    outside = ~in_scope(panel.scope, panel.source[answer], label[cell])
    return np.bincount(cell[outside], minlength=len(row)).astype(float)


def _count_vague(panel: Panel, labels: AnswerLabels, row: IntArray, label: IntArray) -> FloatArray:
    """Count, for each cell, the answers in scope that stop at an ancestor of the label."""
    K = len(panel.taxonomy)
    answer = row_indices(labels.deepest)
    key = panel.instance[answer] * np.int64(K) + labels.deepest.indices
    cell, ancestor = expand_ancestors(label, panel.taxonomy, among=labels.deepest.indices)
    wanted = row[cell] * np.int64(K) + ancestor
    # Few answers stop at an ancestor, and only those need to be found.
    n_cells = len(panel.instances) * K
    some = np.flatnonzero(are_cells(wanted, key, n_cells))
    cell, wanted = cell[some], wanted[some]
    others = np.flatnonzero(are_cells(key, wanted, n_cells))
    order = others[np.argsort(key[others], kind="stable")]
    cell, answer = _join(cell, wanted, key[order], answer[order])
    if panel.scope is not None:
        inside = in_scope(panel.scope, panel.source[answer], label[cell])
        cell, answer = cell[inside], answer[inside]
    if panel.denials is not None:
        # Who says "flower, but not fuchsia" is not vague about fuchsia.
        M, (denied, source) = len(panel.sources), find_deniers(panel, row, label)
        is_vague = ~np.isin(cell * M + panel.source[answer], denied * M + source)
        cell, answer = cell[is_vague], answer[is_vague]
    # With several parents an answer may stop at two ancestors; it counts once.
    n_answers = np.int64(max(len(panel.instance), 1))
    pair = np.sort(cell * n_answers + answer)
    pair = pair[run_starts(pair)] if len(pair) else pair
    return np.bincount(pair // n_answers, minlength=len(label)).astype(float)


def _join(
    cell: IntArray, wanted: IntArray, key: IntArray, answer: IntArray
) -> tuple[IntArray, IntArray]:
    """Pair every cell with the answers that have the key it wants; keys are sorted."""
    if not len(key):
        return cell[:0], answer[:0]
    starts = np.flatnonzero(run_starts(key))
    sizes = np.diff(np.append(starts, len(key)))
    run = np.minimum(np.searchsorted(key[starts], wanted), len(starts) - 1)
    matched = np.flatnonzero(key[starts[run]] == wanted)
    owner, position = concatenate_ranges(starts[run[matched]], sizes[run[matched]])
    return cell[matched][owner], answer[position]


def in_scope(scope: Sparse, source: IntArray, label: IntArray) -> BoolArray:
    """Return whether labels are in the scope of sources, pair by pair.

    By bisection in each row, so that the cost does not depend on the size of the scope.
    """
    return np.asarray(dense(scope[source, label]).ravel() > 0)


def expand_ancestors(
    label: IntArray, taxonomy: Taxonomy, *, among: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return every (position in `label`, ancestor) pair; `among` as in `proper_ancestors`."""
    entries = (np.ones(len(label)), label, np.arange(len(label) + 1))
    cells = sparse.csr_array(entries, shape=(len(label), len(taxonomy)))
    position, ancestor, _ = expand_along(cells, proper_ancestors(label, taxonomy, among=among))
    return position, ancestor


def proper_ancestors(
    labels: IntArray, taxonomy: Taxonomy, *, among: IntArray | None = None
) -> Sparse:
    """Return the matrix of some labels and their ancestors, without the labels themselves, (K, K).

    Rows of other labels may be empty, and so may columns of ancestors that are not `among` those
    that matter.
    """
    ancestors = taxonomy.closure_of(labels, among=among).copy()
    ancestors.data[row_indices(ancestors) == ancestors.indices] = 0.0
    ancestors.eliminate_zeros()
    return ancestors


def compute_gains(
    score: Block, reason: Sparse, taxonomy: Taxonomy, *, even_score: float = 0.5
) -> FloatArray:
    """Compute the expected gain of reviewing each of some instances, (N,).

    Parameters
    ----------
    score : array or csr_array, (N, K)
        Their scores.
    reason : csr_array, (N, K)
        Their label sets, as in `Decision`.
    taxonomy : Taxonomy
        The labels.
    even_score : float
        The score at which a label is as likely to apply as not, as `find_even_score` returns it.
    """
    score = _to_probabilities(score, even_score)
    row, set_sizes = row_indices(reason), np.diff(reason.indptr)
    total = dense(score.sum(axis=1)).ravel()
    right = np.bincount(row, values_at(score, row, reason.indices), minlength=len(set_sizes))
    expected_f = 2 * right / np.maximum(set_sizes + total, 1e-12)
    empty = np.flatnonzero(set_sizes == 0)
    expected_f[empty] = np.prod(1 - dense(score[empty][:, taxonomy.roots]), axis=1)
    # Rounded, so that a gain of 0 is no tiny number, by which instances would be ranked.
    return np.asarray(np.clip(1 - expected_f, 0.0, 1.0).round(DIGITS))


def find_even_score(parameters: Mapping[str, Any]) -> float:
    """Return the score at which a label is as likely to apply as not, by a rule's parameters.

    It is 1/2 for rules that take scores as probabilities, and for those without a threshold.
    """
    if parameters.get("threshold_from") in _BY_PROBABILITY and parameters.get("power") == 1:
        return 0.5
    return float(parameters.get("threshold") or 0.5)


def _to_probabilities(score: Block, even_score: float) -> Block:
    if even_score == 0.5:
        return score
    factor = (1 - (t := min(max(even_score, _EDGE), 1 - _EDGE))) / t

    def transform(s: FloatArray) -> FloatArray:
        s = np.clip(s, 0.0, 1.0)
        return np.asarray(s * factor / (s * factor + (1 - s)))

    if isinstance(score, np.ndarray):
        return transform(score)
    transformed: Sparse = score.copy()
    transformed.data = transform(transformed.data)
    return transformed


def rank_disagreements(
    panel: Panel,
    disputes: Disputes,
    gain: FloatArray,
    score: Block,
    reason: Sparse,
    *,
    limit: int = MAX_RANKED,
) -> DisagreementRanking:
    """Rank the instances of a panel to review by their expected gain; keep `limit`."""
    panel, row = drop_gold(panel), disputes.row
    is_disputed = np.bincount(row, minlength=len(panel.instances)) > 0
    candidates = np.flatnonzero(is_disputed | (gain >= MIN_GAIN))
    best = _first_with_ties(candidates, gain, limit)
    cells = np.flatnonzero(np.isin(row, best))
    ends = np.searchsorted(np.searchsorted(best, row[cells]), np.arange(len(best) + 1))
    row, label = row[cells], disputes.label[cells]

    def table(values: FloatArray | BoolArray) -> Sparse:
        entries = (values.astype(float), label, ends)
        return sparse.csr_array(entries, shape=(len(best), len(panel.taxonomy)))

    return DisagreementRanking(
        limit=limit, count=int(is_disputed.sum()), to_review=int((gain >= MIN_GAIN).sum()),
        candidates=len(candidates), ids=tuple(panel.instances[i] for i in best), gain=gain[best],
        answers=panel.answers_per_instance[best],
        agreed=find_agreed_labels(panel, disputes.supported, best),
        score=table(values_at(score, row, label)), chosen=table(values_at(reason, row, label) > 0),
        support=table(disputes.support[cells]), against=table(disputes.against[cells]),
    ).truncate()  # fmt: skip


def _first_with_ties(rows: IntArray, gain: FloatArray, limit: int) -> IntArray:
    """Return the first `limit` rows, and all that tie with the last: ids decide between those."""
    if len(rows) <= limit:
        return rows
    return np.asarray(rows[gain[rows] >= np.partition(gain[rows], -limit)[-limit]])


def find_agreed_labels(panel: Panel, supported: Sparse, instances: IntArray) -> IntArray:
    """Return the most specific label that all answers support and none denies, -1 for none."""
    panel = drop_gold(panel)
    support = supported[instances]
    row = row_indices(support)
    unanimous = np.flatnonzero(support.data == panel.answers_per_instance[instances][row])
    row, label = row[unanimous], support.indices[unanimous].astype(np.int64)
    denied, _ = find_deniers(panel, instances[row], label)
    row, label = np.delete(row, denied), np.delete(label, denied)
    order = np.lexsort((-label, panel.taxonomy.depth[label], row))
    agreed = np.full(len(instances), -1, dtype=np.int64)
    # The last entry of a row stays: the deepest label, and of several the first.
    agreed[row[order]] = label[order]
    return agreed
