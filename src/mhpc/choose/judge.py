"""The judge: hide answers, consolidate the rest, see how surprising the hidden ones are."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.choose.folds import Fold, folds, gold_fold
from mhpc.choose.foretell import surprise
from mhpc.consolidate.method import Method
from mhpc.consolidate.tally import claims
from mhpc.consolidate.voices import heard, kinship_of
from mhpc.core.arrays import Block, FloatArray, Matrix, Sparse
from mhpc.core.choice import Judged
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts, Whole
from mhpc.core.progress import Progress, silent
from mhpc.core.rows import by_rows
from mhpc.core.scorecard import View
from mhpc.engine.workers import in_workers
from mhpc.errors import MhpcWarning

VIEWS: tuple[View, ...] = ("specific", "closed")

JUDGED = 4_000_000
"""Instances x labels that are judged on at most; more instances would tell little more."""


@dataclass(frozen=True, eq=False)
class Court:
    """Folds of a panel, and what is to be foretold in each; `gold` is where what is known is."""

    folds: Sequence[Fold]
    said: Sequence[Mapping[View, Sparse]]
    weight: Sequence[FloatArray]
    gold: int | None = None

    def only(self, at: int) -> "Court":
        """Return the court with one of its folds, which is what a worker needs."""
        return Court([self.folds[at]], [self.said[at]], [self.weight[at]])

    def hear(self, at: int, view: View, foretold: Matrix) -> float:
        """Return the mean surprise of a fold's hidden answers, each by its weight."""
        hidden = self.folds[at].hidden
        scope = None if hidden.scope is None else hidden.scope[hidden.source]
        values = surprise(foretold, hidden.instance, self.said[at][view], scope)
        told = ~np.isnan(values)
        return float(np.average(values[told], weights=self.weight[at][told])) if told.any() else 0.0


@dataclass(frozen=True, eq=False)
class Trial:
    """What a candidate made of one fold: what it foretells, and what it holds true."""

    foretold: Mapping[View, Matrix]
    score: Matrix
    surprise: tuple[float, float]
    seconds: float


def summon(parts: Parts, *, count: int, seed: int) -> Court:
    """Return the folds to judge on; of many instances a sample."""
    panel = parts.sample(max(100, JUDGED // max(len(parts.taxonomy), 1)))
    kin = kinship_of(panel)
    weighted = heard(panel, kin)
    found = folds(weighted, kin, count=count, seed=seed)
    known = gold_fold(weighted)
    found += known
    return Court(
        gold=len(found) - 1 if known else None,
        folds=[Fold(_unweighted(fold.rest), fold.hidden) for fold in found],
        said=[{"specific": claims(fold.hidden), "closed": fold.hidden.augmented} for fold in found],
        # A fresh competent source is to be foretold: by skill, and kin together as one.
        weight=[np.asarray(fold.hidden.weight) for fold in found],
    )


def attempt(method: Method, court: Court, at: int) -> Trial:
    """Let a method foretell the hidden answers of one fold."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        # Whether it settles is told when it is run for good.
        warnings.simplefilter("ignore", MhpcWarning)
        found = method.consolidate(court.folds[at].rest)
    foretold = {view: found.foretold(view) for view in VIEWS}
    seconds = time.perf_counter() - began
    specific, closed = (court.hear(at, view, foretold[view]) for view in VIEWS)
    return Trial(foretold, found.score, (specific, closed), seconds)


def judge(
    panel: Panel,
    candidates: Mapping[str, Method],
    *,
    count: int = 4,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress = silent,
) -> tuple[Judged, ...]:
    """Return how well every candidate foretells hidden answers; nothing where none can be hidden.

    Parameters
    ----------
    panel : Panel
        What sources said.
    candidates : mapping of str to method
        Methods with any parameters, by the names they are to have.
    count : int
        Folds at most.
    seed : int
        Which answers are hidden together.
    jobs : int
        Processes; 1 works in this one.
    progress : callable
        Told after every trial.
    """
    court = summon(Whole(panel), count=count, seed=seed)
    tasks = [
        (method, court.only(at)) for method in candidates.values() for at in range(len(court.folds))
    ]
    found: dict[int, _Outcome] = {}
    progress("judging", 0, len(tasks))
    outcomes = in_workers(_tried, tasks, jobs=jobs) if jobs > 1 else enumerate(map(_tried, tasks))
    for at, outcome in outcomes:
        found[at] = outcome
        progress("judging", len(found), len(tasks))
    folds_each = len(court.folds)
    return tuple(
        _summed(name, method, [found[n * folds_each + at] for at in range(folds_each)])
        for n, (name, method) in enumerate(candidates.items())
        if folds_each
    )


_Outcome: TypeAlias = tuple[tuple[float, float], float]
"""Surprise in both views, and seconds."""


def _tried(task: tuple[Method, Court]) -> _Outcome:
    trial = attempt(task[0], task[1], 0)
    return trial.surprise, trial.seconds


def _summed(name: str, method: Method, outcomes: Sequence[_Outcome]) -> Judged:
    specific, closed = zip(*(surprise for surprise, _ in outcomes), strict=True)
    parameters: dict[str, Any] = getattr(method, "model_dump", dict)()
    seconds = sum(seconds for _, seconds in outcomes)
    return Judged(name, method.name, parameters, specific, closed, seconds)


def verdict(name: str, method: Method, trials: Sequence[Trial]) -> Judged:
    """Sum up the trials of a candidate."""
    return _summed(name, method, [(trial.surprise, trial.seconds) for trial in trials])


def mean_of(matrices: Sequence[Matrix]) -> Matrix:
    """Return the mean of scores, sparse where all are."""
    return by_rows(_mean, *matrices)


def _mean(*matrices: Block) -> Block:
    total = matrices[0]
    for other in matrices[1:]:
        total = total + other
        if not sparse.issparse(total):
            total = np.asarray(total)
    return total / len(matrices)


def _unweighted(panel: Panel) -> Panel:
    """Leave it to each method whether it weighs answers."""
    return replace(panel, weight=None)
