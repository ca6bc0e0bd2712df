"""Score without an answer: by the fitted model, or refitted."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.panel import Panel, dense_blocks, panel_block
from mhpc.data.scores import Consolidation, Scores, instance_blocks
from mhpc.errors import ConvergenceWarning
from mhpc.methods.base import Method
from mhpc.methods.registry import make_method
from mhpc.numerics.arrays import Block, FloatArray, IntArray, dense
from mhpc.numerics.sparse import values_at
from mhpc.result import Result
from mhpc.selection.candidates import make_candidates
from mhpc.selection.cross_validation import mean_scores

MOST = 60
"""Answers of an instance whose effects are found; the effects of further ones are not known."""


def effects(views: Callable[[Panel], Scores], panel: Panel, instances: IntArray) -> FloatArray:
    """Return score less score without the answer, for all answers of some instances, (a, K).

    Nothing is learnt anew: `views` concludes on an instance from its answers alone by what was
    learnt, this answer among it, from all. An instance whose only answer is taken away has score 0
    for every label.

    Parameters
    ----------
    views : callable
        Returns what is concluded of a panel's instances.
    panel : Panel
        All answers.
    instances : int array
        Rising positions.

    Returns
    -------
    float array, (a, K)
        A row for every answer of ``panel.select_instances(instances)``, in order; nan beyond `MOST` of one
        instance.
    """
    part = panel.select_instances(instances)
    nth = _nth(part)
    lacking, dropped = _without_each(part, nth)
    found = np.full((len(part.instance), len(part.taxonomy)), np.nan)
    found[dropped] = dense_score(views, part)[part.instance[dropped]] - dense_score(views, lacking)
    return found


def dense_score(views: Callable[[Panel], Scores], panel: Panel) -> FloatArray:
    """Return the scores of a panel's instances, made some at a time."""
    shape = (len(panel.instances), len(panel.taxonomy))
    blocks = [dense(views(panel_block(panel, span)).score) for span in dense_blocks(*shape)]
    return np.concatenate(blocks) if blocks else np.zeros(shape)


def _nth(panel: Panel) -> IntArray:
    """Return which answer of its instance each is, counted from 0."""
    first = np.searchsorted(panel.instance, panel.instance, side="left")
    return np.asarray(np.arange(len(panel.instance)) - first)


def _without_each(panel: Panel, nth: IntArray) -> tuple[Panel, IntArray]:
    """Return a panel with an instance for each answer, which lacks it, and what each lacks."""
    dropped = np.flatnonzero(nth < MOST)
    size = panel.answers_per_instance[panel.instance[dropped]]
    first = np.searchsorted(panel.instance, panel.instance[dropped], side="left")
    copy = np.repeat(np.arange(len(dropped)), size)
    within = np.arange(len(copy)) - np.repeat(np.cumsum(size) - size, size)
    answer = first[copy] + within
    kept = answer != dropped[copy]
    copy, answer = copy[kept], answer[kept]
    lacking = replace(
        panel,
        instances=Index(tuple(map(str, range(len(dropped))))),
        instance=copy,
        source=panel.source[answer],
        raw=panel.raw[answer],
        augmented=panel.augmented[answer],
        weight=None if panel.weight is None else panel.weight[answer],
        # What is known stays what it is, whoever else is heard.
        gold=None,
    )
    return lacking, dropped


_AGAIN = 12
"""Answers of an instance whose effects are found by consolidating anew; the others' are not."""

_ANSWERS = 100_000
"""Answers up to which it is done anew."""

_KEPT = "by what was learnt of all answers, this one among them; nothing is learnt anew"
_ANEW = "by consolidating anew without the answer, and without one answer of others at a time"
_TOO_MANY = "not known: the method keeps nothing, and there are too many answers to do it anew"


def effects_in(result: Result, instances: IntArray) -> tuple[FloatArray | None, str]:
    """Return what every answer of some instances does to their scores, and how that was found.

    An effect is the score less the score without the answer. By a method that keeps what it learnt,
    the instance is scored with and without it by that. One that needs all instances at
    once, as one-truth, consolidates them again without the first answer of each of the instances
    asked for, then without the second, and so on; what it learns of sources so changes a
    little too. What is known by gold stays, whoever is heard.

    Returns
    -------
    float array, (a, K), or None
        A row for every answer of the part of the panel with these instances; nan where it is not
        known.
    """
    fitted = result.consolidation.fitted() if result.consolidation.fitted else None
    if fitted is not None:
        found = effects(fitted.predict, result.panel, instances)
        return _unless_known(found, result, instances), _KEPT
    if len(result.panel.instance) > _ANSWERS:
        return None, _TOO_MANY
    found = _anew(result, instances, _members(result.consolidation))
    return _unless_known(found, result, instances), _ANEW


def _unless_known(found: FloatArray, result: Result, instances: IntArray) -> FloatArray:
    """Return the effects; none on instances whose labels are known, whoever says what."""
    gold, panel = result.panel.gold, result.panel
    if gold is not None:
        asked = panel.instance[np.isin(panel.instance, instances)]
        found[np.isin(asked, gold.rows)] = 0.0
    return found


def _members(consolidation: Consolidation) -> list[Method]:
    """Return the methods whose mean the scores are, before they are calibrated."""
    choice = consolidation.selection
    if choice is None:
        return [make_method(consolidation.method, dict(consolidation.parameters))]
    made: dict[str, Method] = {
        **make_candidates(one_truth=False),
        **make_candidates(one_truth=True),
    }
    # A run of another version may have tried others.
    for each in choice.candidates:
        made[each.name] = make_method(each.method, dict(each.parameters))
    return [made[name] for name in choice.closed]


def _anew(result: Result, instances: IntArray, members: Sequence[Method]) -> FloatArray:
    panel = result.panel
    nth = np.arange(len(panel.instance)) - np.searchsorted(panel.instance, panel.instance)
    asked = np.isin(panel.instance, instances)
    rows = np.flatnonzero(asked)
    whose = np.searchsorted(instances, panel.instance[rows])
    before = _scores(panel, members)
    calibrated = _calibration(before, result.consolidation)
    full = calibrated(dense(before[instances]))
    found = np.full((len(rows), len(panel.taxonomy)), np.nan)
    for n in range(min(_AGAIN, int(nth[rows].max(initial=-1)) + 1)):
        some = np.flatnonzero(nth[rows] == n)
        left = np.ones(len(nth), dtype=bool)
        left[rows[some]] = False
        without = calibrated(dense(_scores(panel.select_answers(left), members)[instances]))
        found[some] = (full - without)[whose[some]]
    return found


def _scores(panel: Panel, members: Sequence[Method]) -> Block:
    with warnings.catch_warnings():
        # What does not settle was told of when the result was made.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [each.consolidate(panel).score for each in members]
    return mean_scores(found)


def _calibration(before: Block, result: Consolidation) -> Callable[[FloatArray], FloatArray]:
    """Return what makes of the members' scores those of the result, read off the result itself."""
    if result.selection is None:
        return lambda scores: scores
    pairs = []
    for span in instance_blocks(result):
        cells = sparse.coo_array(before[span])
        after = values_at(result.score[span], cells.row.astype(np.int64), cells.col)
        # Of a run that was read again, scores that it left out are 0.
        there = (cells.data > 0) & (after > 0)
        pairs.append(np.stack([cells.data[there], after[there]]))
    x, y = np.unique(np.concatenate([[[0.0], [0.0]], *pairs], axis=1), axis=1)
    return lambda scores: np.interp(scores, x, y)
