"""Profiles of sources: how accurate, vague and wrong each one is, and where it errs most.

The proportions of accurate, vague and wrong labels are means over answers, and their intervals
count answers. The labels of one answer are not independent: who mistakes a photograph of a bear
gives several wrong labels at once. If labels were counted, one such answer with fifty labels could
make an otherwise perfect source the least reliable one, and a few long answers would get an
interval as narrow as that of many short ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from mhpc.data.decision import Decision
from mhpc.data.denials import Abstentions, Denials
from mhpc.data.disagreement import MAX_RANKED
from mhpc.data.exclusive import find_exclusive_conflicts
from mhpc.data.hierarchy import has_child
from mhpc.data.index import Index
from mhpc.data.panel import Panel, PanelPartitions, drop_gold, panel_block
from mhpc.data.profiles import Proportion, SourceDependence, SourceProfile, SourceRelation, Weakness
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.summary import RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.explanation.disagreement import (
    AnswerLabels,
    Disputes,
    collect_labels,
    compute_gains,
    find_disputes,
    find_even_score,
    rank_disagreements,
)
from mhpc.methods.source_dependence import estimate_dependence
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.proportions import wilson_interval
from mhpc.numerics.sparse import are_cells, cell_numbers, count_cells, row_indices, values_at

MAX_WEAKNESSES = 5
"""Subtrees that a profile lists."""

_COPY, _CORRELATED = 0.95, 0.5
"""The dependence from which on a source is a near-duplicate, and above which it is correlated: more
of what reliability leaves open is shared than its own."""


def profile_sources(
    partitions: PanelPartitions, template: Panel, counts: RunCounts
) -> tuple[SourceProfile, ...]:
    """Return the profile of every source.

    Parameters
    ----------
    partitions : PanelPartitions
        All answers.
    template : Panel
        A panel of the same run, which tells whether there is gold.
    counts : RunCounts
        The counts of all instances.
    """
    dependence = estimate_dependence(partitions)
    profiles = make_profiles(counts, partitions.sources, dependence, partitions.taxonomy)
    # Gold is encoded as the last source; it is not a source to profile.
    return profiles if template.gold is None else profiles[:-1]


def make_profiles(
    counts: RunCounts, sources: Index, dependence: SourceDependence, taxonomy: Taxonomy
) -> tuple[SourceProfile, ...]:
    """Return the profile of every source, in the order of the index."""
    answers, votes, depths, labelled, wrong, vague, same, abstentions, denials = counts.by_source
    rejected = np.asarray(counts.rejected.sum(axis=1)).ravel()
    mean_depth = np.full(len(votes), np.nan)
    np.divide(depths, votes, out=mean_depth, where=votes > 0)
    independence = dependence.independence
    nearest, strength = dependence.nearest
    weaknesses = find_weaknesses(counts.given, counts.rejected, taxonomy)
    return tuple(
        SourceProfile(
            source=source,
            answers=int(answers[m]),
            coverage=float(answers[m] / counts.instances),
            mean_depth=float(mean_depth[m]),
            accurate=estimate_proportion(labelled[m] - wrong[m] - vague[m], labelled[m]),
            vague=estimate_proportion(vague[m], labelled[m]),
            wrong=estimate_proportion(wrong[m], labelled[m]),
            independence=float(independence[m]),
            nearest_source=sources[nearest[m]] if strength[m] > 0 else "",
            dependence=float(strength[m]),
            relation=_classify_dependence(float(strength[m])),
            weaknesses=weaknesses[m],
            same_set=float(same[m] / answers[m]) if answers[m] else np.nan,
            abstentions=int(abstentions[m]),
            denials=int(denials[m]),
            rejected=int(rejected[m]),
        )
        for m, source in enumerate(sources)
    )


def _classify_dependence(dependence: float) -> SourceRelation | None:
    if dependence >= _COPY:
        return "near-duplicate"
    return "correlated" if dependence > _CORRELATED else None


def estimate_proportion(part: float, whole: float) -> Proportion:
    """Return part / whole with its 95 % interval; nan if whole is 0.

    `part` may be a sum of shares: their variance is at most that of as many yes and no with the
    same mean, so that the interval is wide enough.
    """
    if whole <= 0:
        return Proportion(np.nan, np.nan, np.nan)
    # A sum of shares such as 1/3 may be off by its rounding.
    part = min(max(float(np.round(part, 9)), 0.0), whole)
    low, high = wilson_interval(np.array([part]), np.array([whole]))
    return Proportion(float(part / whole), float(low[0]), float(high[0]))


def find_weaknesses(
    given: Sparse, rejected: Sparse, taxonomy: Taxonomy, *, limit: int = MAX_WEAKNESSES
) -> tuple[tuple[Weakness, ...], ...]:
    """Find, for every source, the subtrees in which it is less reliable than elsewhere.

    They are ranked by a lower bound on the number of rejected labels in excess of what its overall
    proportion of rejected labels would give: given x (lower end of the interval of rejected /
    given in the subtree - rejected / given overall). Neither a subtree that merely has many labels
    nor one mistake out of one comes first. No subtree listed is within another.

    Parameters
    ----------
    given, rejected : csr_array, (M, K)
        The most specific labels that each source gave, and those that are not in the result.
    taxonomy : Taxonomy
        The labels.
    limit : int
        The number of subtrees to return per source.
    """
    given_below, rejected_below = (
        (counts @ taxonomy.closure_of(counts.indices)).tocsr() for counts in (given, rejected)
    )
    totals = zip(*(np.asarray(c.sum(axis=1)).ravel() for c in (given, rejected)), strict=True)
    weaknesses: list[tuple[Weakness, ...]] = []
    for source, (total_given, total_rejected) in enumerate(totals):
        if not total_rejected:
            weaknesses.append(())
            continue
        label, wrong = _row_entries(rejected_below, source)
        given_label, given_count = _row_entries(given_below, source)
        # Every rejected label was given, so that all are found.
        count = given_count[np.searchsorted(given_label, label)]
        rate = total_rejected / total_given
        weaknesses.append(_rank_subtrees(label, count, wrong, rate, taxonomy, limit))
    return tuple(weaknesses)


def _row_entries(matrix: Sparse, row: int) -> tuple[IntArray, FloatArray]:
    """Return the labels of a row, in order, and their values."""
    entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
    label = matrix.indices[entries].astype(np.int64)
    order = np.argsort(label)
    return label[order], matrix.data[entries][order]


def _rank_subtrees(
    label: IntArray,
    given: FloatArray,
    wrong: FloatArray,
    rate: float,
    taxonomy: Taxonomy,
    limit: int,
) -> tuple[Weakness, ...]:
    excess = given * (wilson_interval(wrong, given)[0] - rate)
    selected: list[int] = []
    # In a chain of labels with the same errors the deepest is the most informative.
    order = np.lexsort((label, -taxonomy.depth[label], -excess))
    order = order[excess[order] > 0]
    while len(order) and len(selected) < limit:
        selected.append(int(order[0]))
        order = order[~_are_related(label[order], int(label[order[0]]), taxonomy)]
    return tuple(
        Weakness(taxonomy.labels[label[position]], int(given[position]), int(wrong[position]))
        for position in selected
    )


def _are_related(labels: IntArray, other: int, taxonomy: Taxonomy) -> BoolArray:
    """Mark the labels that are another one, or an ancestor or a descendant of it."""
    below = taxonomy.closure_of(labels, among=np.array([other]))
    is_below = values_at(below, labels, np.full(len(labels), other)) > 0
    return np.isin(labels, taxonomy.ancestors_of(other)) | is_below


def count_run(
    panel: Panel, consolidation: Consolidation, decision: Decision, *, limit: int = MAX_RANKED
) -> RunCounts:
    """Count the answers of a result, and how far its label sets confirm them, in blocks."""
    even_score = find_even_score(decision.parameters)
    return add_counts(
        count_block(
            panel_block(panel, span),
            consolidation.score[span],
            decision.reason[span],
            even_score=even_score,
            gain=None if decision.gain is None else decision.gain[span],
            limit=limit,
        )
        for span in instance_blocks(consolidation)
    )


def add_counts(blocks: Iterable[RunCounts]) -> RunCounts:
    """Add the counts of blocks in pairs, then in pairs of these: rankings may be long."""
    sums: list[tuple[int, RunCounts]] = []
    for counts in blocks:
        size = 1
        while sums and sums[-1][0] == size:
            size, counts = 2 * size, sums.pop()[1] + counts
        sums.append((size, counts))
    return reduce(lambda later, earlier: earlier + later, (part for _, part in reversed(sums)))


def count_block(
    panel: Panel,
    score: Block,
    reason: Sparse,
    *,
    even_score: float = 0.5,
    gain: FloatArray | None = None,
    limit: int = MAX_RANKED,
) -> RunCounts:
    """Count answers, confirmed and disputed labels of some instances; as `examine_block`."""
    return examine_block(panel, score, reason, even_score=even_score, gain=gain, limit=limit).counts


@dataclass(frozen=True, eq=False)
class ExaminedBlock:
    """What the answers and label sets of some instances show.

    Attributes
    ----------
    counts : RunCounts
        Counts that can be added to those of other blocks.
    is_deepest : bool array, (nnz,)
        Which labels of the label sets have no child in their set.
    gain : float array, (N,)
        The expected gain of a review.
    agrees : bool array, (A,)
        Whether the labels of each answer are all in the label set.
    """

    counts: RunCounts
    is_deepest: BoolArray
    gain: FloatArray
    agrees: BoolArray


def examine_block(
    panel: Panel,
    score: Block,
    reason: Sparse,
    *,
    even_score: float = 0.5,
    gain: FloatArray | None = None,
    limit: int = MAX_RANKED,
) -> ExaminedBlock:
    """Compare the answers to some instances with each other, and with the label sets.

    Parameters
    ----------
    panel : Panel
        Some instances.
    score : array or csr_array, (N, K)
        Their scores.
    reason : csr_array, (N, K)
        Their label sets, as in `Decision`.
    even_score : float
        The score at which a label is as likely to apply as not, as `find_even_score` returns it.
    gain : float array, (N,), optional
        The expected gain of a review, if it is known already.
    limit : int
        The number of instances to review to keep.
    """
    labels = collect_labels(panel)
    disputes = find_disputes(panel, labels)
    if gain is None:
        gain = compute_gains(score, reason, panel.taxonomy, even_score=even_score)
    set_sizes = np.diff(reason.indptr)
    # A label set has the ancestors of its labels, so that a label is refined if it has a child.
    is_refined = has_child(reason, panel.taxonomy)
    confirmed = _compare_with_sets(panel, labels, reason, is_refined)
    given, rejected, by_source = _count_by_source(panel, labels, confirmed)
    counts = RunCounts(
        instances=len(panel.instances),
        chosen=int(set_sizes.sum()),
        without_label=int((set_sizes == 0).sum()),
        by_source=by_source,
        by_label=_count_by_label(panel, disputes, reason),
        given=given,
        rejected=rejected,
        disagreements=rank_disagreements(panel, disputes, gain, score, reason, limit=limit),
        exclusive=find_exclusive_conflicts(reason, panel.taxonomy, panel.instances),
    )
    return ExaminedBlock(counts, ~is_refined, gain, confirmed.agrees)


@dataclass(frozen=True, eq=False)
class _Confirmed:
    """How far label sets confirm the E most specific labels of A answers.

    Attributes
    ----------
    rejected, refined : bool arrays, (E,)
        The labels that are not in the set; and those below which it has another one.
    agrees, is_same : bool arrays, (A,)
        Whether all labels of an answer are in the set; and whether they are all of its most
        specific ones. An answer without labels agrees with an empty set.
    """

    rejected: BoolArray
    refined: BoolArray
    agrees: BoolArray
    is_same: BoolArray


def _compare_with_sets(
    panel: Panel, labels: AnswerLabels, reason: Sparse, is_refined: BoolArray
) -> _Confirmed:
    N, K = reason.shape
    answer = row_indices(labels.deepest)
    cell = panel.instance[answer] * np.int64(K) + labels.deepest.indices
    chosen = cell_numbers(reason)
    rejected = ~are_cells(cell, chosen, N * K)
    refined = are_cells(cell, chosen[is_refined], N * K)
    n_rejected, n_accurate = (
        np.bincount(answer[mask], minlength=len(panel.instance))
        for mask in (rejected, ~rejected & ~refined)
    )
    given = np.diff(labels.deepest.indptr)
    decided = np.bincount(row_indices(reason)[~is_refined], minlength=N)[panel.instance]
    agrees = (n_rejected == 0) & ((given > 0) | (decided == 0))
    return _Confirmed(rejected, refined, agrees, (n_accurate == given) & (given == decided))


def _count_by_source(
    panel: Panel, labels: AnswerLabels, confirmed: _Confirmed
) -> tuple[Sparse, Sparse, FloatArray]:
    """Return `given`, `rejected` and `by_source` of `RunCounts`."""
    shape = M, _ = len(panel.sources), len(panel.taxonomy)
    label = labels.deepest.indices.astype(np.int64)
    answer, given_labels = row_indices(labels.deepest), np.diff(labels.deepest.indptr)
    source = panel.source[answer]
    rejected, refined = confirmed.rejected, confirmed.refined
    share = 1.0 / given_labels[answer]
    votes = np.diff(panel.raw.indptr).astype(float)
    depths = np.asarray(panel.raw.astype(bool) @ panel.taxonomy.depth.astype(float))
    counts = [
        *(np.bincount(panel.source, values, minlength=M) for values in (None, votes, depths)),
        np.bincount(panel.source[given_labels > 0], minlength=M),
        *(np.bincount(source[mask], share[mask], minlength=M) for mask in (rejected, refined)),
        np.bincount(panel.source[confirmed.is_same], minlength=M),
        *(_count_sources(part, M) for part in (panel.abstained, panel.denials)),
    ]
    return (
        count_cells(source, label, shape=shape),
        count_cells(source[rejected], label[rejected], shape=shape),
        np.stack(counts).astype(float),
    )


def _count_sources(part: Abstentions | Denials | None, n_sources: int) -> IntArray:
    source = np.zeros(0, dtype=np.int64) if part is None else part.source
    return np.bincount(source, minlength=n_sources)


def _count_by_label(panel: Panel, disputes: Disputes, reason: Sparse) -> FloatArray:
    K = len(panel.taxonomy)
    given = drop_gold(panel).raw.indices
    labels = (given, disputes.supported.indices, reason.indices, disputes.label)
    return np.stack([np.bincount(label, minlength=K) for label in labels]).astype(float)
