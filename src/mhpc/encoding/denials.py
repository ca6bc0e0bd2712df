r"""Negative votes: how "not k" lowers the scores of an instance, whatever the method.

A method sees answers that give labels. What sources deny is used afterwards, in the same way for
all methods. A source s that says "not k" answers a question of yes or no, and is right with the
probability a_s. By Bayes' rule each denial, of certainty c, divides the odds of k by those of the
source being right:

    o'_k = min(o_k, \prod_{s answered} a_s / (1 - a_s)) \prod_{s denies k} ((1 - a_s) / a_s)^{c_s}

with o = p / (1 - p) of the score p. The minimum is what all answers to the instance could amount
to if every one of them gave k. Without it, a score of 1, which a mean of votes easily reaches,
could not be contradicted.

A label that implies k keeps its share of k: the scores of k and of all its descendants are
multiplied by r_k = p'_k / p_k, one factor for each denied label among the ancestors. So no label
gets ahead of an ancestor of it. A source that denies a label and a descendant of it denies the
descendant once. Ancestors of k keep their scores: who denies "fuchsia" does not deny "flower".
What k loses is left to its parents as `specific`, by which the label applies and no child does: as
much as k lost, but no more than the score of the parent exceeds that of its best child.

How often a source is right is estimated by the scores p of the labels that it gives:

    a_s = (\sum_v w_v p_v + t a) / (\sum_v w_v + t),  within [0.5, 0.99],

over its votes v with scores w_v, with the mean a over all votes as prior and t = 10. Where scores
are no probabilities, p_v is relative to the highest score of the instance. A source without votes
for labels has a_s = a. Gold labels are the truth, which no denial changes.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from mhpc.data.decision import RULE_SAMPLE
from mhpc.data.denials import Denials, select_rows
from mhpc.data.hierarchy import expand_along, max_along
from mhpc.data.panel import Panel, dense_blocks, drop_gold, panel_rows, sample_rows
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse, by_rows, dense
from mhpc.numerics.sparse import (
    canonical,
    cell_numbers,
    incidence,
    lookup_cells,
    row_blocks,
    row_indices,
    values_at,
)

PRIOR_WEIGHT = 10.0
"""The number of votes that the mean over all sources counts for."""

MIN_ACCURACY, MAX_ACCURACY = 0.5, 0.99
"""A source is not taken to be worse than chance, nor to be always right."""

STRIP_ENTRIES = 1 << 18
"""Scores that are worked on at a time, together with the ancestors of their labels."""

_MAX_LOGIT = 30.0
"""The logarithm of the highest odds that a number below 1 can stand for with some precision."""


def estimate_accuracy(
    scores: Consolidation,
    panel: Panel,
    *,
    sample: int = RULE_SAMPLE,
    prior_weight: float = PRIOR_WEIGHT,
) -> FloatArray:
    """Estimate how often each source is right, (M,), by the scores of the labels that it gives.

    Parameters
    ----------
    scores : Consolidation
        The scores of all instances, with those of gold labels.
    panel : Panel
        The answers.
    sample : int
        How many instances are looked at; the same ones on every engine.
    prior_weight : float
        The number of votes that the mean over all sources counts for.
    """
    rows, M = sample_rows(panel, sample), len(panel.sources)
    right, total = np.zeros((2, M))
    for block in dense_blocks(len(rows), len(panel.taxonomy)):
        part = drop_gold(panel_rows(panel, rows[block]))
        answer = row_indices(part.raw)
        score = scores.score[rows[block]]
        value = values_at(score, part.instance[answer], part.raw.indices)
        if not scores.is_probability:
            highest = dense(score.max(axis=1)).ravel()[part.instance[answer]]
            value = np.divide(value, highest, out=np.zeros(len(value)), where=highest > 0)
        source, weight = part.source[answer], part.raw.data
        right += np.bincount(source, weight * np.clip(value, 0.0, 1.0), minlength=M)
        total += np.bincount(source, weight, minlength=M)
    mean = right.sum() / total.sum() if total.sum() > 0 else MIN_ACCURACY
    estimate = (right + prior_weight * mean) / (total + prior_weight)
    return np.asarray(np.clip(estimate, MIN_ACCURACY, MAX_ACCURACY))


def apply_denials(scores: Consolidation, panel: Panel, accuracy: FloatArray) -> Consolidation:
    """Lower the scores of denied labels and their descendants, on instances without gold labels.

    Parameters
    ----------
    scores : Consolidation
        The scores of the panel's instances, with those of gold labels.
    panel : Panel
        The answers and denials.
    accuracy : float array, (M,)
        How often each source is right.
    """
    denials = panel.denials
    if denials is not None and panel.gold is not None:
        denials = select_rows(denials, ~np.isin(denials.instance, panel.gold.rows))
    if denials is None or not len(denials):
        return scores
    logit = np.log(accuracy / (1.0 - accuracy))
    evidence = np.bincount(panel.instance, logit[panel.source], minlength=len(panel.instances))
    lower = partial(
        _lower_block,
        denied=_sum_denials(denials, logit, panel),
        evidence=np.minimum(evidence, _MAX_LOGIT),
        taxonomy=panel.taxonomy,
    )
    both = (scores.score, scores.specific)
    return replace(
        scores,
        score=by_rows(partial(lower, view=0), *both, positions=True),
        specific=by_rows(partial(lower, view=1), *both, positions=True),
    )


def _sum_denials(denials: Denials, logit: FloatArray, panel: Panel) -> Sparse:
    """Return by how much denials lower the log-odds of each label, (N, K)."""
    denials = select_rows(denials, ~_is_implied(denials, panel))
    weight = denials.score * logit[denials.source]
    shape = (len(panel.instances), len(panel.taxonomy))
    denied = canonical(incidence(denials.instance, denials.label, shape=shape, values=weight))
    denied.eliminate_zeros()
    return denied


def _is_implied(denials: Denials, panel: Panel) -> BoolArray:
    """Mark denials of labels of which the source denies an ancestor, no less certainly, (D,)."""
    K, D = np.int64(len(panel.taxonomy)), len(denials)
    pair = denials.instance * np.int64(len(panel.sources)) + denials.source
    # Consecutive numbers keep the numbers of cells small.
    pair = np.cumsum(np.append(0, np.diff(pair) != 0))
    entries = (np.arange(D), denials.label, np.arange(D + 1))
    number, ancestor, _ = expand_along(
        sparse.csr_array(entries, shape=(D, int(K))), panel.taxonomy.closure
    )
    proper = ancestor != denials.label[number]
    number, ancestor = number[proper], ancestor[proper]
    certainty = lookup_cells(pair[number] * K + ancestor, pair * K + denials.label, denials.score)
    implied = np.zeros(D, dtype=bool)
    implied[number[certainty >= denials.score[number]]] = True
    return implied


def _lower_block(
    positions: IntArray,
    score: Block,
    specific: Block,
    *,
    view: int,
    denied: Sparse,
    evidence: FloatArray,
    taxonomy: Taxonomy,
    strip_entries: int = STRIP_ENTRIES,
) -> Block:
    """Return one view of the rows at `positions`, 0 for `score` and 1 for `specific`."""
    denied, evidence, original = denied[positions], evidence[positions], (score, specific)[view]
    rows = np.flatnonzero(np.diff(denied.indptr))
    if not len(rows):
        return original
    cost = score.shape[1] if isinstance(score, np.ndarray) else np.diff(score.indptr)[rows]
    strips = []
    for strip in row_blocks(len(rows), cost, strip_entries):
        own = rows[strip]
        before, before_specific = (
            canonical(sparse.csr_array(matrix[own])) for matrix in (score, specific)
        )
        lowered = _lower_rows(before, before_specific, denied[own], evidence[own], taxonomy)
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
    score: Sparse, specific: Sparse, denied: Sparse, evidence: FloatArray, taxonomy: Taxonomy
) -> tuple[Sparse, Sparse]:
    """Return both views, lowered, of instances that all have denials."""
    row, label = row_indices(denied), denied.indices.astype(np.int64)
    # Scores of the paper's methods may be higher for a label than for its parent.
    before = np.clip(values_at(max_along(score, taxonomy.closure), row, label), 0.0, 1.0)
    log_ratio = denied.copy()
    log_ratio.data = _log_ratio(before, evidence[row], denied.data)
    factor, specific_factor = (
        _inherit(log_ratio, matrix, taxonomy.closure) for matrix in (score, specific)
    )
    lowered, kept = score.copy(), specific.copy()
    lowered.data = score.data * factor
    kept.data = specific.data * specific_factor
    return lowered, kept + _left_to_parents(score, lowered, kept, factor, taxonomy)


def _log_ratio(before: FloatArray, evidence: FloatArray, denied: FloatArray) -> FloatArray:
    """Return log(p' / p) of every denied label; 0 where the score is 0."""
    positive = before > 0
    p = np.where(positive, before, 0.5)
    with np.errstate(divide="ignore"):
        logit = np.log(p) - np.log1p(-p)
    log_after = -np.logaddexp(0.0, denied - np.minimum(logit, evidence))
    return np.where(positive, log_after - np.log(p), 0.0)


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
