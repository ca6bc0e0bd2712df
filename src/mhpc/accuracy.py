"""How accurate the rest is: the label sets of a result that nobody reviewed."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mhpc.data.accuracy import Accuracy, ShareEstimate
from mhpc.data.decision import FittedRule
from mhpc.data.index import Index, draw_order
from mhpc.data.panel import Panel, drop_gold
from mhpc.data.scores import Consolidation, instance_blocks, select_instances
from mhpc.data.votes import EncodedTruth
from mhpc.methods.registry import make_method
from mhpc.metrics.accuracy import (
    answers_needed,
    are_right,
    estimate_levels,
    estimate_share,
    predict_right,
)
from mhpc.metrics.label_sets import compare_label_sets
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.rules.base import apply_rule
from mhpc.steps import add_known, fit_and_score, fit_rule
from mhpc.system.display import Progress, silent

FOLDS = 5
"""Parts of the gold labels that are held out in turn."""

CURVE_POINTS = 40
"""Points of a curve, at most."""


class DecidedSets(NamedTuple):
    """The label sets of instances, (N, K), and the probabilities that they are right, (N,)."""

    chosen: Sparse
    predicted: FloatArray


def predict_sets(scores: Consolidation, chosen: Sparse) -> DecidedSets:
    """Return the label sets of a result with the probabilities that they are right."""
    predicted = [
        predict_right(scores.score[rows], chosen[rows], scores.taxonomy)
        for rows in instance_blocks(scores)
    ]
    return DecidedSets(chosen, np.concatenate([np.zeros(0), *predicted]))


def estimate_others(
    decided: DecidedSets,
    scores: Consolidation,
    truth: EncodedTruth,
    *,
    gold: IntArray | None = None,
    max_points: int = CURVE_POINTS,
) -> Accuracy:
    """Estimate how accurate the label sets of instances are whose labels are not known.

    Parameters
    ----------
    decided : DecidedSets
        The label sets of all instances; those of instances with gold labels must be decided
        without them, by `decide_held_out`.
    scores : Consolidation
        The scores.
    truth : EncodedTruth
        The true labels of some instances.
    gold : int array, optional
        The instances with gold labels, which are known as well.
    max_points : int
        The largest number of points of the curve.
    """
    is_random = truth.is_random
    if is_random is None:
        is_random = np.ones(len(truth.rows), dtype=bool)
    rest = np.ones(len(scores.instances), dtype=bool)
    rest[truth.rows] = False
    if gold is not None:
        rest[gold] = False
    sample = _shuffle(truth, np.flatnonzero(is_random), scores.instances)
    sets = compare_label_sets(decided.chosen, sample, scores.taxonomy)
    right, predicted = are_right(sets), decided.predicted[sample.rows]
    curve = _estimate_curve(right, predicted, decided.predicted, rest, sample.rows, max_points)
    estimate = curve[-1] if curve else ShareEstimate(np.nan, 0.0, 1.0, 0, int(rest.sum()))
    return Accuracy(
        **vars(estimate),
        levels=estimate_levels(sets, others=estimate.others)
        if len(right) and estimate.others
        else (),
        needed=answers_needed(estimate),
        left_out=int((~is_random).sum()),
        is_assumed=truth.is_random is None,
        curve=curve,
    )


def _shuffle(truth: EncodedTruth, which: IntArray, instances: Index) -> EncodedTruth:
    """Return the truth of some of its instances in random order, the same in every run."""
    ids = instances.select(truth.rows[which])
    order = which[draw_order(ids)]
    return EncodedTruth(truth.rows[order], truth.specific[order], truth.closed[order])


def _estimate_curve(
    right: BoolArray,
    predicted: FloatArray,
    all_predicted: FloatArray,
    rest: BoolArray,
    rows: IntArray,
    max_points: int,
) -> tuple[ShareEstimate, ...]:
    """Return the estimates after some, more and all of the instances that were reviewed."""
    others = rest.copy()
    others[rows] = True
    n_others, total = int(others.sum()), float(all_predicted[others].sum())
    sizes = np.unique(np.linspace(min(1, len(right)), len(right), max_points).astype(int))
    curve = []
    for size in sizes[sizes > 0].tolist():
        left = n_others - size
        mean = (total - predicted[:size].sum()) / left if left else 0.0
        curve.append(
            estimate_share(right[:size], predicted[:size], others=left, others_predicted=mean)
        )
    return tuple(curve)


def decide_held_out(
    panel: Panel,
    scores: Consolidation,
    decided: DecidedSets,
    rule: FittedRule | None = None,
    *,
    folds: int = FOLDS,
    progress: Progress = silent,
) -> DecidedSets:
    """Return label sets in which no instance was decided by its own gold labels.

    The sets of instances with gold labels are these labels, so that comparing the two says nothing.
    Here the gold labels are held out in `folds` parts in turn: the method is fitted with those of
    the other parts, and decides on the instances of this one as on any other.

    Parameters
    ----------
    panel, scores
        The encoded votes with gold labels, and the scores of the result.
    decided : DecidedSets
        Its label sets.
    rule : FittedRule, optional
        The rule that decided on them; by default it is fitted again.
    folds : int
        In how many parts the gold labels are divided; the same ones in every run.
    progress : callable
        Called with the name of the stage, how much of it is done, and how much there is.
    """
    gold = panel.gold
    if gold is None or not len(gold.rows):
        return decided
    without = _remove_gold(panel)
    method = make_method(scores.method, dict(scores.parameters))
    order = draw_order(panel.instances.select(gold.rows))
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % folds
    rows, parts = [], []
    for number in range(min(folds, len(order))):
        progress("fitting without some gold labels", number, folds)
        kept, held = np.flatnonzero(fold != number), gold.rows[fold == number]
        others = EncodedTruth(gold.rows[kept], gold.specific[kept], gold.closed[kept])
        training = add_known(without, gold=others if len(kept) else None)
        fitted = fit_and_score(method, training)
        fold_rule = fit_rule(None, fitted, training) if rule is None else rule
        held_scores = select_instances(fitted, held)
        parts.append(predict_sets(held_scores, apply_rule(fold_rule, held_scores).reason))
        rows.append(held)
    return _replace_sets(decided, np.concatenate(rows), parts)


def _remove_gold(panel: Panel) -> Panel:
    """Return the panel as it was before gold labels were added as its last source."""
    sources = Index(panel.sources.ids[:-1])
    scope = None if panel.scope is None else panel.scope[: len(sources)]
    return replace(drop_gold(panel), sources=sources, scope=scope, gold=None)


def _replace_sets(decided: DecidedSets, rows: IntArray, parts: list[DecidedSets]) -> DecidedSets:
    predicted = decided.predicted.copy()
    predicted[rows] = np.concatenate([part.predicted for part in parts])
    kept = np.setdiff1d(np.arange(len(predicted)), rows)
    stacked = sparse.vstack([decided.chosen[kept], *(part.chosen for part in parts)], format="csr")
    order = np.argsort(np.concatenate([kept, rows]))
    return DecidedSets(stacked[order], predicted)
