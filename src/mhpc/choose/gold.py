"""Calibration on answers or, where enough is known, on the truth; and what that is worth."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mhpc.choose.calibrate import Calibration, Heard, calibrate
from mhpc.choose.judge import Court, Trial, mean_of
from mhpc.core.arrays import BoolArray, dense
from mhpc.core.choice import GoldGain

ENOUGH = 20
"""So many known instances tell more of the truth than any number of answers."""

_BINS = 10


def calibrated(
    court: Court, members: Sequence[Sequence[Trial]]
) -> tuple[Calibration, GoldGain | None]:
    """Return how scores are to be read, and what gold was worth in that, if there is enough."""
    parts = [_heard(court, members, at) for at in range(len(court.folds))]
    answers = [part for at, part in enumerate(parts) if at != court.gold] or parts
    told = calibrate(answers)
    if court.gold is None or len(parts[court.gold].instance) < ENOUGH:
        return told, None
    known = parts[court.gold]
    return calibrate([known]), GoldGain(len(known.instance), _error(told, known), _crossed(known))


def _heard(court: Court, members: Sequence[Sequence[Trial]], at: int) -> Heard:
    hidden = court.folds[at].hidden
    scope = None if hidden.scope is None else hidden.scope[hidden.source]
    scores = mean_of([tried[at].score for tried in members])
    weight = np.ones(len(hidden.source)) if at == court.gold else court.weight[at]
    return Heard(scores, hidden.instance, hidden.augmented, weight, scope)


def _crossed(known: Heard) -> float:
    """Return the error on either half of what is known, calibrated on the other."""
    first = np.arange(len(known.instance)) % 2 == 0
    halves = (_some(known, first), _some(known, ~first))
    errors = [_error(calibrate([other]), half) for half, other in (halves, halves[::-1])]
    return float(np.mean(errors))


def _some(known: Heard, rows: BoolArray) -> Heard:
    return replace(
        known,
        instance=known.instance[rows],
        said=known.said[rows],
        weight=known.weight[rows],
        scope=None if known.scope is None else known.scope[rows],
    )


def _error(calibration: Calibration, known: Heard) -> float:
    """Return the mean distance between score and share of true labels, over bins of scores."""
    scores = dense(calibration(known.scores)[known.instance])
    true = dense(known.said)
    told = scores > 0
    if not told.any():
        return 0.0
    bin_ = np.minimum((scores[told] * _BINS).astype(int), _BINS - 1)
    count = np.bincount(bin_, minlength=_BINS)
    gap = np.bincount(bin_, scores[told] - true[told], minlength=_BINS)
    return float(np.abs(gap).sum() / count.sum())
