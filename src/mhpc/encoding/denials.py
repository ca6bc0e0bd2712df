r"""Negative votes: how "not k" lowers the scores of an instance, whatever the method.

A method sees answers that give labels. What sources deny is used afterwards, in the same way for
all methods: a vote against k counts as one more answer that does not give k. With it, the share of
answers that give k falls from q to q n / (n + d), where n is the weight of the answers to the
instance, and d that of the denials. The scores of k and of all its descendants are multiplied by

    r_k = (n / (n + d_k))^b,   n = \sum_{s answered} w_s,   d_k = \sum_{s denies k} c_s w_s,

with c_s how sure source s is, and w_s = log a_s / (1 - a_s) where it is right with the probability
a_s. The exponent b is by how much the scores of this method follow the share q: 1 for a mean of
votes, about 0 for scores that hardly differ. If the votes were independent, Bayes' rule would
divide the odds of k by a_s / (1 - a_s) for each denial. But most scores are shares rather than
probabilities, and would fall by far too much (`benchmarks.quality.denials` measures the rule).

Labels below k keep their shares of k: each is multiplied by r of all denied labels above it, so
that none gets ahead of an ancestor. Ancestors of k keep their scores: who denies "fuchsia" does not
deny "flower". What k loses is left to its parents as `specific`, by which the label applies and no
child does: as much as k lost, but no more than the score of the parent exceeds its best child's.

A denial adds nothing where the method counts the answer of the source against k already: where the
answer has other labels, or none, k is in the scope of the source, and the answer does not stop at
an ancestor of k. Nor does it where the source denies an ancestor of k no less certainly. Gold
labels are the truth, which no denial changes.

What is estimated, on a sample of the instances, before denials are used:

    a_s = (\sum_v g_v z_v + t a) / (\sum_v g_v + t),   within [0.6, 0.99],

over the votes v of the source for labels, with scores g_v, where z_v is 1 if the label is in the
label set of the instance and 0 otherwise, without those for labels below which the set stops, with
the mean a over all votes as prior and t = 10; and b, by least squares of log p on log q over all
labels that are given, with b = 1 as prior, within [0, 1].
"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from mhpc.data.denials import Denials, DenialWeights, select_rows
from mhpc.data.hierarchy import deepest, expand_along, max_along
from mhpc.data.panel import Panel, dense_blocks, drop_gold, panel_block
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse, by_rows, dense
from mhpc.numerics.sparse import (
    are_cells,
    canonical,
    cell_numbers,
    incidence,
    lookup_cells,
    row_blocks,
    row_indices,
    values_at,
)

PRIOR_VOTES = 10.0
"""t, the number of votes that the mean over all sources counts for."""

PRIOR_VARIANCE = 1.0
"""The sum of squares of log q that the prior of b counts for."""

MIN_ACCURACY, MAX_ACCURACY = 0.6, 0.99
"""No source is taken to know nothing, nor to be always right."""

STRIP_ENTRIES = 1 << 18
"""Scores that are worked on at a time, together with the ancestors of their labels."""

_MIN_SCORE = 0.01
"""Scores below this are taken for as much when b is estimated: their logarithms say little."""


def weigh_denials(
    scores: Consolidation,
    label_sets: Sparse,
    panel: Panel,
    *,
    prior_votes: float = PRIOR_VOTES,
    prior_variance: float = PRIOR_VARIANCE,
) -> DenialWeights:
    """Estimate how much the denials of each source count.

    Parameters
    ----------
    scores : Consolidation
        The scores of some instances, with those of gold labels.
    label_sets : csr_array, (N, K)
        An entry where an instance has a label by these scores.
    panel : Panel
        The answers about these instances.
    prior_votes, prior_variance : float
        How much priors count for in the estimates of a and b.
    """
    panel = drop_gold(panel)
    accuracy = _estimate_accuracy(label_sets, panel, prior_votes)
    weight = np.log(accuracy / (1.0 - accuracy))
    return DenialWeights(weight, _estimate_exponent(scores, panel, weight, prior_variance))


def _estimate_accuracy(label_sets: Sparse, panel: Panel, prior_votes: float) -> FloatArray:
    """Return a, how often each source is right, (M,)."""
    right, total = np.zeros((2, len(panel.sources)))
    for block in dense_blocks(len(panel.instances), len(panel.taxonomy)):
        counts = _count_right(label_sets[block], panel_block(panel, block))
        right, total = right + counts[0], total + counts[1]
    mean = right.sum() / total.sum() if total.sum() > 0 else MIN_ACCURACY
    estimate = (right + prior_votes * mean) / (total + prior_votes)
    return np.asarray(np.clip(estimate, MIN_ACCURACY, MAX_ACCURACY))


def _count_right(label_sets: Sparse, panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return the votes for labels in the label sets, and all that are right or wrong, (M,) each."""
    M, answer, label = len(panel.sources), row_indices(panel.raw), panel.raw.indices
    row = panel.instance[answer]
    is_right = values_at(label_sets, row, label) > 0
    is_open = ~is_right & _stops_above(
        deepest(label_sets, panel.taxonomy), row, label, panel.taxonomy
    )
    votes = panel.raw.data
    right, decided = (
        np.bincount(panel.source[answer], weight, minlength=M).astype(float)
        for weight in (votes * is_right, votes * ~is_open)
    )
    return right, decided


def _stops_above(stops: Sparse, row: IntArray, label: IntArray, taxonomy: Taxonomy) -> BoolArray:
    """Return whether a row of `stops` has an ancestor of the label, for each (row, label)."""
    number, ancestor = _expand_ancestors(label, taxonomy)
    wanted = row[number] * np.int64(len(taxonomy)) + ancestor
    is_found = are_cells(wanted, cell_numbers(stops), stops.shape[0] * stops.shape[1])
    stops_above = np.zeros(len(label), dtype=bool)
    stops_above[number[is_found]] = True
    return stops_above


def _estimate_exponent(
    scores: Consolidation, panel: Panel, weight: FloatArray, prior_variance: float
) -> float:
    """Return b, over all labels that some answer gives."""
    sums = np.zeros(5)
    for block in dense_blocks(len(panel.instances), len(panel.taxonomy)):
        sums += _sum_moments(scores.score[block], panel_block(panel, block), weight)
    n, x, y, xx, xy = sums.tolist()
    n = max(n, 1.0)
    exponent = (xy - x * y / n + prior_variance) / (xx - x * x / n + prior_variance)
    return float(np.clip(exponent, 0.0, 1.0))


def _sum_moments(score: Block, panel: Panel, weight: FloatArray) -> FloatArray:
    """Return the number of labels given, and the sums of x, y, x^2 and x y, of log q and log p."""
    shape = len(panel.instances), len(panel.instance)
    given = canonical((incidence(panel.instance, shape=shape) @ panel.raw).tocsr())
    row, label = row_indices(given), given.indices.astype(np.int64)
    weighted = replace(panel, weight=weight[panel.source])
    share = values_at(weighted.mean("augmented", "answers"), row, label)
    x, y = (
        np.log(np.clip(values, _MIN_SCORE, 1.0)) for values in (share, values_at(score, row, label))
    )
    return np.array([len(x), x.sum(), y.sum(), x @ x, x @ y])


def apply_denials(scores: Consolidation, panel: Panel, weights: DenialWeights) -> Consolidation:
    """Lower the scores of denied labels and their descendants, on instances without gold labels.

    Parameters
    ----------
    scores : Consolidation
        The scores of the panel's instances, with those of gold labels.
    panel : Panel
        The answers and denials.
    weights : DenialWeights
        What `weigh_denials` returns.
    """
    if panel.denials is None:
        return scores
    log_ratio = _find_ratios(_select_new(panel.denials, panel), drop_gold(panel), weights)
    if not log_ratio.nnz:
        return scores
    lower = partial(_lower_block, log_ratio=log_ratio, taxonomy=panel.taxonomy)
    both = (scores.score, scores.specific)
    return replace(
        scores,
        score=by_rows(partial(lower, view=0), *both, positions=True),
        specific=by_rows(partial(lower, view=1), *both, positions=True),
    )


def _find_ratios(denials: Denials, panel: Panel, weights: DenialWeights) -> Sparse:
    """Return log r of every denied label, (N, K)."""
    shape = (len(panel.instances), len(panel.taxonomy))
    weight = denials.score * weights.source[denials.source]
    denied = canonical(incidence(denials.instance, denials.label, shape=shape, values=weight))
    row, label = row_indices(denied), denied.indices.astype(np.int64)
    # A label has a score because of one answer at least, if only to similar instances.
    answers = np.maximum(_weigh_answers(panel, weights, row, label), weights.source.mean())
    denied.data = -weights.exponent * np.log1p(denied.data / answers)
    denied.eliminate_zeros()
    return denied


def _weigh_answers(
    panel: Panel, weights: DenialWeights, row: IntArray, label: IntArray
) -> FloatArray:
    """Return n for each (row, label): the weight of the answers that could give the label."""
    weight = weights.source[panel.source]
    if panel.scope is None:
        total = np.bincount(panel.instance, weight, minlength=len(panel.instances))
        return np.asarray(total[row], dtype=np.float64)
    rows, position = np.unique(row, return_inverse=True)
    shape = (len(panel.instances), len(panel.sources))
    by_source = incidence(panel.instance, panel.source, shape=shape, values=weight)[rows]
    return values_at((by_source @ panel.scope).tocsr(), position, label)


def _select_new(denials: Denials, panel: Panel) -> Denials:
    """Return the denials that say something which answers and gold labels do not."""
    is_new = ~(_is_implied(denials, panel) | _is_counted(denials, panel))
    if panel.gold is not None:
        is_new &= ~np.isin(denials.instance, panel.gold.rows)
    return select_rows(denials, is_new)


def _is_implied(denials: Denials, panel: Panel) -> BoolArray:
    """Mark denials of labels of which the source denies an ancestor, no less certainly, (D,)."""
    K = np.int64(len(panel.taxonomy))
    pair = denials.instance * np.int64(len(panel.sources)) + denials.source
    # Consecutive numbers keep the numbers of cells small.
    pair = np.cumsum(np.append(0, np.diff(pair) != 0))[: len(pair)]
    number, ancestor = _expand_ancestors(denials.label, panel.taxonomy)
    certainty = lookup_cells(pair[number] * K + ancestor, pair * K + denials.label, denials.score)
    implied = np.zeros(len(denials), dtype=bool)
    implied[number[certainty >= denials.score[number]]] = True
    return implied


def _is_counted(denials: Denials, panel: Panel) -> BoolArray:
    """Mark denials of labels that the answer of the source is against already, (D,)."""
    M = np.int64(len(panel.sources))
    pair = panel.instance * M + panel.source
    denied_pair = denials.instance * M + denials.source
    answer = np.searchsorted(pair, denied_pair)
    counted = np.asarray(np.append(pair, -1)[answer] == denied_pair)
    if panel.scope is not None:
        counted &= dense(panel.scope[denials.source, denials.label]).ravel() > 0
    # An answer that stops at an ancestor of the label is not against it.
    own = np.flatnonzero(counted)
    stops = deepest(panel.augmented[answer[own]], panel.taxonomy)
    counted[own] = ~_stops_above(stops, np.arange(len(own)), denials.label[own], panel.taxonomy)
    return counted


def _expand_ancestors(label: IntArray, taxonomy: Taxonomy) -> tuple[IntArray, IntArray]:
    """Return every (position in `label`, ancestor) pair, without the label itself."""
    entries = (label, label, np.arange(len(label) + 1))
    cells = sparse.csr_array(entries, shape=(len(label), len(taxonomy)))
    number, ancestor, own = expand_along(cells, taxonomy.closure_of(label))
    proper = ancestor != own
    return number[proper], ancestor[proper]


def _lower_block(
    positions: IntArray,
    score: Block,
    specific: Block,
    *,
    view: int,
    log_ratio: Sparse,
    taxonomy: Taxonomy,
    strip_entries: int = STRIP_ENTRIES,
) -> Block:
    """Return one view of the rows at `positions`, 0 for `score` and 1 for `specific`."""
    log_ratio, original = log_ratio[positions], (score, specific)[view]
    rows = np.flatnonzero(np.diff(log_ratio.indptr))
    if not len(rows):
        return original
    cost = score.shape[1] if isinstance(score, np.ndarray) else np.diff(score.indptr)[rows]
    strips = []
    for strip in row_blocks(len(rows), cost, strip_entries):
        own = rows[strip]
        before, before_specific = (
            canonical(sparse.csr_array(matrix[own])) for matrix in (score, specific)
        )
        lowered = _lower_rows(before, before_specific, log_ratio[own], taxonomy)
        strips.append(lowered[view])
    return _put_rows(original, rows, sparse.vstack(strips, format="csr"))


def _put_rows(block: Block, rows: IntArray, values: Sparse) -> Block:
    if not sparse.issparse(block):
        changed = np.array(block)
        changed[rows] = dense(values)
        return changed
    kept = np.setdiff1d(np.arange(block.shape[0]), rows)
    stacked = sparse.vstack([block[kept], values], format="csr")
    return stacked[np.argsort(np.concatenate([kept, rows]))]


def _lower_rows(
    score: Sparse, specific: Sparse, log_ratio: Sparse, taxonomy: Taxonomy
) -> tuple[Sparse, Sparse]:
    """Return both views, lowered, of instances that all have denials."""
    factor, specific_factor = (
        _inherit(log_ratio, matrix, taxonomy.closure_of(matrix.indices))
        for matrix in (score, specific)
    )
    lowered, kept = score.copy(), specific.copy()
    lowered.data = score.data * factor
    kept.data = specific.data * specific_factor
    return lowered, kept + _left_to_parents(score, lowered, kept, factor, taxonomy)


def _inherit(log_ratio: Sparse, matrix: Sparse, closure: Sparse) -> FloatArray:
    """Return the product of the ratios of each stored label and its ancestors, (nnz,)."""
    numbered = sparse.csr_array(
        (np.arange(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    row, ancestor, entry = expand_along(numbered, closure)
    total = np.bincount(entry, values_at(log_ratio, row, ancestor), minlength=matrix.nnz)
    return np.asarray(np.exp(total))


def _left_to_parents(
    score: Sparse, lowered: Sparse, specific: Sparse, factor: FloatArray, taxonomy: Taxonomy
) -> Sparse:
    """Return what parents keep for themselves of what their children lost, (n, K)."""
    shape, n_columns = score.shape, np.int64(score.shape[1])
    numbered = sparse.csr_array((np.arange(score.nnz), score.indices, score.indptr), shape=shape)
    row, parent, child = expand_along(numbered, taxonomy.parents)
    cell = row * n_columns + parent
    # A parent without a score has nothing to keep.
    lost = score.data[child] * (lookup_cells(cell, cell_numbers(score), factor) - factor[child])
    some = lost > 0
    left = canonical(incidence(row[some], parent[some], shape=shape, values=lost[some]))
    row, label = row_indices(left), left.indices.astype(np.int64)
    best_child = max_along(lowered, taxonomy.parents)
    room = values_at(lowered, row, label)
    for taken in (best_child, specific):
        room -= values_at(taken, row, label)
    left.data = np.clip(left.data, 0.0, np.maximum(room, 0.0))
    left.eliminate_zeros()
    return left
