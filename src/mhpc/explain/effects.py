"""Effects: what every answer does to the scores of its instance."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray, dense
from mhpc.core.index import Index
from mhpc.core.panel import Panel
from mhpc.core.parts import part_of, spans
from mhpc.core.views import Views

MOST = 60
"""Answers of an instance whose effects are found; the effects of further ones are not known."""


def effects(views: Callable[[Panel], Views], panel: Panel, instances: IntArray) -> FloatArray:
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
        A row for every answer of ``panel.part(instances)``, in order; nan beyond `MOST` of one
        instance.
    """
    part = panel.part(instances)
    nth = _nth(part)
    lacking, dropped = _without_each(part, nth)
    found = np.full((len(part.instance), len(part.taxonomy)), np.nan)
    found[dropped] = dense_score(views, part)[part.instance[dropped]] - dense_score(views, lacking)
    return found


def dense_score(views: Callable[[Panel], Views], panel: Panel) -> FloatArray:
    """Return the scores of a panel's instances, made some at a time."""
    shape = (len(panel.instances), len(panel.taxonomy))
    blocks = [dense(views(part_of(panel, span)).score) for span in spans(*shape)]
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
