"""Auto: the method, its parameters and a blend, chosen by foretelling hidden answers."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition, Size, WithScope
from mhpc.data.scorecard import View
from mhpc.data.scores import Consolidation, Scores
from mhpc.data.selection import CandidateScore, Selection
from mhpc.methods.base import DENSE_SCORE_BYTES, BaseMethod, FittedMethod
from mhpc.methods.mhpc import MAX_EXACT
from mhpc.methods.source_weights import infer_scope
from mhpc.numerics.arrays import FloatArray, Matrix, Sparse
from mhpc.parameters import registered
from mhpc.selection.calibration import Calibration, calibrated
from mhpc.selection.candidates import candidates_for, candidates_in, one_truth_in, unjudged
from mhpc.selection.cross_validation import (
    MAX_CELLS,
    VIEWS,
    CrossValidation,
    FoldScore,
    make_folds,
    mean_scores,
    successive_halving,
    summarize,
)
from mhpc.system.checkpoints import checkpointed_steps
from mhpc.system.display import Progress, silent

_TRIALS = 45
"""Matrices of so many numbers as are judged, which trials keep meanwhile."""


class Auto(BaseMethod):
    """What foretells hidden answers best, on its own or blended with others.

    Sources are hidden in turn, with their kin; every candidate consolidates the rest, and is
    judged by how surprising the hidden answers are to what it foretells. After the first fold the
    better half goes on. For each view the candidate is taken that is not worse than the
    best by more than a standard error of their difference, the preferred one if there are
    several; others are added to its mean as long as each makes hidden answers less surprising by
    two. `score` is calibrated: the share of fresh, competent sources that would affirm the label,
    or, where enough instances are known, the share of instances that have it. With one source
    nothing can be hidden, and nothing is judged or calibrated. What does not fit is not tried.

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
        summarize = self._judge(SinglePartition(panel, progress))
        panel = panel if summarize.scope is None else replace(panel, scope=summarize.scope)
        found = {
            name: method.consolidate(panel, progress=progress)
            for name, method in summarize.chosen.items()
        }
        choice = summarize.choice
        return self.make_consolidation(
            panel,
            summarize.calibrated(mean_scores([found[name].score for name in choice.closed])),
            mean_scores([found[name].specific for name in choice.specific]),
            fitted=partial(self._learnt, summarize, found),
            **_facts(summarize, found),
        )

    def estimate_memory(self, size: Size) -> int:
        """Return what trials on a sample take together, and what the largest candidate takes."""
        largest = max(
            method.estimate_memory(size) for method in candidates_for(one_truth=False).values()
        )
        return (
            8 * _TRIALS * min(size.cells, MAX_CELLS)
            + largest
            + min(2 * 8 * size.cells, DENSE_SCORE_BYTES)
        )

    def needs_all(self, instances: int) -> bool:
        """Tell whether candidates could do better with all instances at once: if they are few."""
        return instances <= MAX_EXACT

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Choose among those that learn, and let what was chosen do so."""
        summarize = self._judge(parts, that_learn=True)
        parts = parts if summarize.scope is None else WithScope(parts, summarize.scope)
        return self._blended(
            summarize,
            {name: method.fit_checkpointed(parts) for name, method in summarize.chosen.items()},
        )

    def fit_checkpointed(self, parts: PanelPartitions) -> FittedMethod:
        """Return what `fit` learns, whose own stages are kept one by one."""
        return self.fit(parts)

    def _learnt(
        self, summarize: "_Selection", found: Mapping[str, Consolidation]
    ) -> FittedMethod | None:
        members = {name: each.fitted() for name, each in found.items() if each.fitted is not None}
        return self._blended(summarize, members) if len(members) == len(found) else None

    def _blended(
        self, summarize: "_Selection", members: Mapping[str, FittedMethod]
    ) -> FittedMethod:
        return FittedAuto(summarize=summarize, members=members, **_facts(summarize, members))

    def _judge(self, parts: PanelPartitions, *, that_learn: bool = False) -> "_Selection":
        judging = partial(self._judged, parts, that_learn)
        return checkpointed_steps("judging", judging)

    def _judged(self, parts: PanelPartitions, that_learn: bool) -> "_Selection":
        began = time.perf_counter()
        one_truth, scope = one_truth_in(parts), infer_scope(parts)
        candidates, notes = candidates_in(parts.taxonomy, one_truth, that_learn=that_learn)
        court = make_folds(
            parts if scope is None else WithScope(parts, scope), count=self.folds, seed=self.seed
        )
        if not court.folds:
            name = unjudged(one_truth, candidates)
            reason = "no answer can be hidden and foretold from another, so that nothing was judged"
            choice = Selection((), (name,), (name,), 0, reason, time.perf_counter() - began)
            return _Selection({name: candidates[name]}, choice, None, scope, one_truth, notes)
        trials = successive_halving(candidates, court, parts.progress)
        taken = {view: _blend(trials, court, view, self.blend) for view in VIEWS}
        calibration, gain = calibrated(court, [trials[name] for name in taken["closed"]])
        choice = Selection(
            candidates=_ranked(candidates, trials),
            specific=taken["specific"],
            closed=taken["closed"],
            folds=len(court.folds),
            reason="as little surprised by hidden answers as any, within chance, in "
            f"{len(court.folds)} folds",
            seconds=time.perf_counter() - began,
            gold=gain,
        )
        names = dict.fromkeys((*taken["specific"], *taken["closed"]))
        chosen = {name: candidates[name] for name in names}
        return _Selection(chosen, choice, calibration, scope, one_truth, notes)


@registered("auto.selection")
@dataclass(frozen=True, eq=False)
class _Selection:
    """What the judge found: whom to take, how scores are to be read, who can speak of what."""

    chosen: Mapping[str, BaseMethod]
    choice: Selection
    calibration: Calibration | None
    scope: Sparse | None
    one_truth: bool
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> float:
        return 0.5 if self.calibration is None else self.calibration.at(0.5)

    def calibrated(self, score: Matrix) -> Matrix:
        return score if self.calibration is None else self.calibration(score)


@registered("auto.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedAuto(FittedMethod):
    """The mean of what the chosen ones conclude."""

    summarize: _Selection
    members: Mapping[str, FittedMethod]

    def predict(self, panel: Panel) -> Scores:
        scope, choice = self.summarize.scope, self.summarize.choice
        panel = panel if scope is None else replace(panel, scope=scope)
        found = {name: member.predict(panel) for name, member in self.members.items()}
        score = mean_scores([found[name].score for name in choice.closed])
        return Scores(
            self.summarize.calibrated(score),
            mean_scores([found[name].specific for name in choice.specific]),
        )


def _facts(
    summarize: _Selection, members: Mapping[str, FittedMethod] | Mapping[str, Consolidation]
) -> dict[str, Any]:
    """Return what there is to tell of a blend, be it learnt or concluded."""
    told = [*summarize.notes, *(note for each in members.values() for note in each.notes)]
    return {
        "trace": members[summarize.choice.closed[0]].trace,
        "converged": all(each.converged for each in members.values()),
        "threshold": summarize.level,
        "is_probability": summarize.calibration is not None
        or all(members[name].is_probability for name in summarize.choice.closed),
        "one_truth": summarize.one_truth,
        "selection": summarize.choice,
        "notes": tuple(dict.fromkeys(told)),
    }


def _blend(
    trials: Mapping[str, Sequence[FoldScore]], court: CrossValidation, view: View, most: int
) -> tuple[str, ...]:
    """Return the best candidate, and those that make it better in the mean."""
    folds = range(len(court.folds))
    finalists = [name for name, found in trials.items() if len(found) == len(folds)]

    def losses(names: Sequence[str]) -> FloatArray:
        return np.array(
            [
                court.loss(
                    at, view, mean_scores([trials[name][at].predictions[view] for name in names])
                )
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
    candidates: Mapping[str, BaseMethod], trials: Mapping[str, Sequence[FoldScore]]
) -> tuple[CandidateScore, ...]:
    judged = [summarize(name, candidates[name], found) for name, found in trials.items()]
    return tuple(sorted(judged, key=lambda each: (-len(each.closed), each.loss("closed"))))
