"""The effect of every answer: the score minus the score without that answer."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from mhpc.data.denials import Denials, select_rows
from mhpc.data.index import Index
from mhpc.data.panel import Panel, dense_blocks, panel_block
from mhpc.data.scores import Consolidation, Scores
from mhpc.encoding.denials import apply_denials
from mhpc.methods.fitted import FittedMethod
from mhpc.numerics.arrays import FloatArray, IntArray, Rows, dense
from mhpc.numerics.sparse import canonical, concatenate_ranges, row_indices

MAX_ANSWERS = 60
"""Answers of one instance whose effects are computed; those of further answers are not."""

_BY_MODEL = "the score minus the score without the answer, by the same fitted model"
_UNKNOWN = "not known, because the run has no model"


def compute_effects(
    panel: Panel, consolidation: Consolidation, instances: IntArray
) -> tuple[FloatArray | None, str]:
    """Compute the effects of all answers about some instances, and say how.

    The fitted model scores each instance with and without the answer. Labels known from gold do not
    depend on answers, so that effects on such instances are 0.

    Parameters
    ----------
    panel : Panel
        All answers.
    consolidation : Consolidation
        The scores to explain.
    instances : int array
        Positions of instances, in increasing order.

    Returns
    -------
    effects : float array, (a, K), or None
        One row per answer of ``panel.select_instances(instances)``; nan where it is not known.
    how : str
        How they were computed, or why they were not.
    """
    fitted = consolidation.fitted() if consolidation.fitted is not None else None
    if fitted is None:
        return None, _UNKNOWN
    predict = partial(predict_with_denials, fitted=fitted, scores=consolidation)
    effects = leave_one_out(predict, panel, instances)
    if panel.gold is not None:
        owner = panel.instance[np.isin(panel.instance, instances)]
        effects[np.isin(owner, panel.gold.rows)] = 0.0
    return effects, _BY_MODEL


def complete_scores(panel: Panel, consolidation: Consolidation) -> Consolidation:
    """Return all scores of a run that kept the highest ones only.

    The others are predicted by the fitted model when they are asked for. On instances with gold
    labels they are 0, and without a model they stay so.
    """
    fitted = consolidation.fitted() if consolidation.is_cut and consolidation.fitted else None
    if fitted is None:
        return consolidation
    known = np.zeros(0, dtype=np.int64) if panel.gold is None else panel.gold.rows

    def complete(name: Literal["score", "specific"]) -> Rows:
        def make(rows: IntArray) -> FloatArray:
            order = np.argsort(rows, kind="stable")
            part = panel.select_instances(rows[order])
            predicted = predict_with_denials(part, fitted=fitted, scores=consolidation)
            scores = np.empty((len(rows), len(panel.taxonomy)))
            scores[order] = dense(getattr(predicted, name))
            scores[np.isin(rows, known)] = 0.0
            kept = canonical(getattr(consolidation, name)[rows])
            scores[row_indices(kept), kept.indices] = kept.data
            return scores

        return Rows(consolidation.score.shape, make)

    score, specific = complete("score"), complete("specific")
    return replace(consolidation, score=score, specific=specific, is_cut=False)


def predict_with_denials(panel: Panel, *, fitted: FittedMethod, scores: Consolidation) -> Scores:
    """Predict scores, lowered by negative votes as those to explain."""
    predicted = fitted.predict(panel)
    if panel.denials is None or scores.denial_weights is None:
        return predicted
    lowered = apply_denials(
        replace(scores, score=predicted.score, specific=predicted.specific),
        replace(panel, gold=None),
        scores.denial_weights,
    )
    return Scores(lowered.score, lowered.specific)


def leave_one_out(
    predict: Callable[[Panel], Scores],
    panel: Panel,
    instances: IntArray,
    *,
    max_answers: int = MAX_ANSWERS,
) -> FloatArray:
    """Compute score minus score without the answer, for all answers about some instances, (a, K).

    An instance without its only answer has the score 0 for every label.

    Parameters
    ----------
    predict : callable
        Scores the instances of a panel from their answers.
    panel : Panel
        All answers.
    instances : int array
        Positions of instances, in increasing order.
    max_answers : int
        The number of answers per instance whose effects are computed; the others are nan.
    """
    part = panel.select_instances(instances)
    reduced, dropped = _drop_each_answer(part, max_answers)
    effects = np.full((len(part.instance), len(part.taxonomy)), np.nan)
    effects[dropped] = _predict_dense(predict, part)[part.instance[dropped]]
    effects[dropped] -= _predict_dense(predict, reduced)
    return effects


def _predict_dense(predict: Callable[[Panel], Scores], panel: Panel) -> FloatArray:
    """Return the scores of a panel's instances, predicted in blocks."""
    shape = (len(panel.instances), len(panel.taxonomy))
    blocks = [dense(predict(panel_block(panel, span)).score) for span in dense_blocks(*shape)]
    return np.concatenate(blocks) if blocks else np.zeros(shape)


def _drop_each_answer(panel: Panel, max_answers: int) -> tuple[Panel, IntArray]:
    """Return a panel with one instance per dropped answer, which lacks it, and those answers."""
    begin = np.searchsorted(panel.instance, panel.instance, side="left")
    dropped = np.flatnonzero(np.arange(len(panel.instance)) - begin < max_answers)
    return leave_out_sources(panel, panel.instance[dropped], panel.source[dropped]), dropped


def leave_out_sources(panel: Panel, instance: IntArray, source: IntArray) -> Panel:
    """Return a panel with one instance per pair: a copy without all that the source says of it.

    Parameters
    ----------
    panel : Panel
        All answers.
    instance, source : int arrays, (n,)
        Which instance to copy, and which source to leave out of the copy.
    """
    begin, end = (np.searchsorted(panel.instance, instance, side=s) for s in ("left", "right"))
    copy, answer = concatenate_ranges(begin, end - begin)
    kept = panel.source[answer] != source[copy]
    copy, answer = copy[kept], answer[kept]
    denials = panel.denials
    return replace(
        panel,
        instances=Index(tuple(map(str, range(len(instance))))),
        instance=copy,
        source=panel.source[answer],
        raw=panel.raw[answer],
        augmented=panel.augmented[answer],
        weight=None if panel.weight is None else panel.weight[answer],
        gold=None,
        abstained=None,
        denials=None if denials is None else _repeat_denials(denials, instance, source),
    )


def _repeat_denials(denials: Denials, instance: IntArray, source: IntArray) -> Denials:
    """Return the denials of the instances of some answers, each without those of its source."""
    first, last = (np.searchsorted(denials.instance, instance, side=s) for s in ("left", "right"))
    owner, number = concatenate_ranges(first, last - first)
    kept = denials.source[number] != source[owner]
    return replace(select_rows(denials, number[kept]), instance=owner[kept])
