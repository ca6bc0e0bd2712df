"""Auto: the method, its parameters and a blend, chosen by foretelling hidden answers."""

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from mhpc.choose.calibrate import Calibration
from mhpc.choose.candidates import candidates_for, unjudged
from mhpc.choose.gold import calibrated
from mhpc.choose.judge import VIEWS, Court, Trial, attempt, mean_of, summon, verdict
from mhpc.consolidate.method import Method, MethodParameters
from mhpc.consolidate.one_truth import fits
from mhpc.consolidate.silence import within_scope
from mhpc.core.arrays import FloatArray
from mhpc.core.choice import Choice, Judged
from mhpc.core.consolidation import Consolidation
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress, silent
from mhpc.core.scorecard import View

_REACH = 1.1
"""How much worse than the best a candidate may be in the first fold and still be tried on."""


class Auto(MethodParameters):
    """What foretells hidden answers best, on its own or blended with others.

    Sources are hidden in turn, with their kin; every candidate consolidates the rest, and is
    judged by how surprising the hidden answers are to what it foretells. What is far behind in
    the first fold is given up. For each view the candidate is taken that is not worse than the
    best by more than a standard error of their difference, the preferred one if there are
    several; others are added to its mean as long as each makes hidden answers less surprising by
    two. `score` is calibrated: the share of fresh, competent sources that would affirm the label,
    or, where enough instances are known, the share of instances that have it. With one source
    nothing can be hidden, and nothing is judged or calibrated.

    Sources that never say a label which others keep saying are not held to deny it. Costs every
    candidate once, and those in reach of the best once a fold.
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "chosen and blended by how well hidden answers are foretold"
    reference: ClassVar[str] = "this package: docs/methods/auto.md"

    folds: Annotated[int, Field(ge=2)] = 4
    """How many times a part of the answers is hidden, at most."""

    blend: Annotated[int, Field(ge=1)] = 3
    """How many candidates a blend may have."""

    seed: Annotated[int, Field(ge=0)] = 0
    """Which answers are hidden together."""

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the mean of what was chosen."""
        began = time.perf_counter()
        panel = within_scope(panel)
        candidates = candidates_for(panel)
        court = summon(panel, count=self.folds, seed=self.seed)
        if not court.folds:
            return self._unjudged(panel, candidates, time.perf_counter() - began)
        trials = _tried(candidates, court, progress)
        chosen = {view: _blend(trials, court, view, self.blend) for view in VIEWS}
        members = [trials[name] for name in chosen["closed"]]
        calibration, gain = calibrated(court, members)
        choice = Choice(
            candidates=_ranked(candidates, trials),
            specific=chosen["specific"],
            closed=chosen["closed"],
            folds=len(court.folds),
            reason=f"least surprised by hidden answers in {len(court.folds)} folds",
            seconds=time.perf_counter() - began,
            gold=gain,
        )
        found = {
            name: candidates[name].consolidate(panel, progress=progress)
            for name in dict.fromkeys((*chosen["specific"], *chosen["closed"]))
        }
        return self._concluded(panel, found, choice, calibration)

    def _unjudged(
        self, panel: Panel, candidates: Mapping[str, Method], seconds: float
    ) -> Consolidation:
        name = unjudged(panel)
        reason = "no answer can be hidden and foretold from another, so that nothing was judged"
        choice = Choice((), (name,), (name,), 0, reason, seconds)
        return self._concluded(panel, {name: candidates[name].consolidate(panel)}, choice, None)

    def _concluded(
        self,
        panel: Panel,
        found: Mapping[str, Consolidation],
        choice: Choice,
        calibration: Calibration | None,
    ) -> Consolidation:
        score = mean_of([found[name].score for name in choice.closed])
        level = 0.5
        if calibration is not None:
            score, level = calibration(score), calibration.at(level)
        return self.conclude(
            panel,
            score,
            mean_of([found[name].specific for name in choice.specific]),
            trace=found[choice.closed[0]].trace,
            converged=all(each.converged for each in found.values()),
            level=level,
            one_truth=fits(panel),
            choice=choice,
        )


def _tried(
    candidates: Mapping[str, Method], court: Court, progress: Progress
) -> dict[str, list[Trial]]:
    """Try all on the first fold, and on the others those that are still in reach of the best."""
    trials: dict[str, list[Trial]] = {}
    most = len(candidates) * len(court.folds)
    for name, method in candidates.items():
        progress("judging", len(trials), most)
        trials[name] = [attempt(method, court, 0)]
    kept = [name for name in trials if _in_reach(trials, name)]
    for at in range(1, len(court.folds)):
        for done, name in enumerate(kept):
            progress("judging", len(candidates) + (at - 1) * len(kept) + done, most)
            trials[name].append(attempt(candidates[name], court, at))
    return trials


def _in_reach(trials: Mapping[str, Sequence[Trial]], name: str) -> bool:
    """Tell whether a first trial was not hopelessly worse than the best, in either view."""
    return any(
        trials[name][0].surprise[view]
        <= _REACH * min(tried[0].surprise[view] for tried in trials.values())
        for view in (0, 1)
    )


def _blend(
    trials: Mapping[str, Sequence[Trial]], court: Court, view: View, most: int
) -> tuple[str, ...]:
    """Return the best candidate, and those that make it better in the mean."""
    folds = range(len(court.folds))
    finalists = [name for name, tried in trials.items() if len(tried) == len(folds)]

    def losses(names: Sequence[str]) -> FloatArray:
        return np.array(
            [
                court.hear(at, view, mean_of([trials[name][at].foretold[view] for name in names]))
                for at in folds
            ]
        )

    alone = {name: losses((name,)) for name in finalists}
    best = min(alone, key=lambda name: float(alone[name].sum()))
    # Candidates are listed in the order of preference: of those that are as good, the first.
    first = next(name for name in alone if not _less(alone[best], alone[name], errors=1.0))
    chosen: tuple[str, ...] = (first,)
    before = alone[first]
    while len(chosen) < most:
        more = {name: losses((*chosen, name)) for name in finalists if name not in chosen}
        if not more:
            break
        best = min(more, key=lambda name: float(more[name].sum()))
        if not _less(more[best], before, errors=2.0):
            break
        chosen, before = (*chosen, best), more[best]
    return chosen


def _less(losses: FloatArray, before: FloatArray, *, errors: float) -> bool:
    """Tell whether losses fell by more than so many standard errors of the paired difference.

    Folds differ by far more than candidates do, so that only pairs can be compared.
    """
    gain = before - losses
    spread = float(gain.std(ddof=1)) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
    return float(gain.mean()) > errors * spread


def _ranked(
    candidates: Mapping[str, Method], trials: Mapping[str, Sequence[Trial]]
) -> tuple[Judged, ...]:
    judged = [verdict(name, candidates[name], tried) for name, tried in trials.items()]
    return tuple(sorted(judged, key=lambda each: (-len(each.closed), each.loss("closed"))))
