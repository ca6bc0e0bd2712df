"""Auto: selects, combines and calibrates methods by cross-validation over sources."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition, Size, WithScope
from mhpc.data.scorecard import View
from mhpc.data.scores import Scores
from mhpc.data.selection import CandidateScore, Selection
from mhpc.methods.base import DENSE_SCORE_BYTES, BaseMethod, FittedMethod
from mhpc.methods.mhpc import MAX_EXACT
from mhpc.methods.scope import infer_scope
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.parameters import registered
from mhpc.selection.calibration import Calibration, calibrate_on_folds
from mhpc.selection.candidates import (
    default_candidate,
    has_one_truth,
    make_candidates,
    usable_candidates,
)
from mhpc.selection.cross_validation import (
    MAX_CELLS,
    Fold,
    FoldScore,
    candidate_score,
    make_folds,
    mean_scores,
    successive_halving,
)
from mhpc.system.checkpoints import checkpointed_steps
from mhpc.system.memory import memory_budget

_MATRICES = 45
"""Score matrices of the sampled instances that cross-validation keeps at a time, about."""


class Auto(BaseMethod):
    """The method, or the mean of several, that predicts held-out sources best.

    1. **Select.** Sources are held out in turn, together with near-duplicates. Every candidate is
       fitted to the other answers, and its loss is how low it ranks the held-out labels
       (`log_rank_loss`). The better half after the first fold is scored on the others. For each
       view the preferred candidate is selected among those that are not worse than the best by
       more than one standard error of the paired difference; others are added to the mean as long
       as each lowers the loss by more than two standard errors.
    2. **Fit** the selected candidates to all answers.
    3. **Predict** by their mean. `score` is calibrated: it is the probability that a new, competent
       source would give the label or, with enough gold labels, that the label applies.

    With one source nothing can be held out: a default method is used, and scores are not
    calibrated. Candidates that do not fit in memory are left out. A source that never uses a label
    that others use often does not count as denying it.

    The cost is one fit of every candidate, and one more per fold for those close to the best.
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "selects and combines the methods that best predict held-out sources"
    reference: ClassVar[str] = "this package: docs/methods/auto.md"

    folds: Annotated[int, Field(ge=2)] = 4
    """The number of folds of the cross-validation, at most."""

    blend: Annotated[int, Field(ge=1)] = 3
    """The number of candidates whose mean is taken, at most."""

    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random split into folds."""

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes of cross-validation on a sample and of the largest candidate."""
        candidates = make_candidates(one_truth=False).values()
        estimates = [method.estimate_memory(size) for method in candidates]
        # Candidates that do not fit are left out.
        largest = max(needed for needed in (0, *estimates) if needed <= memory_budget())
        sampled = 8 * _MATRICES * min(size.cells, MAX_CELLS)
        return sampled + largest + min(2 * 8 * size.cells, DENSE_SCORE_BYTES)

    def needs_all(self, instances: int) -> bool:
        """Tell whether there are few enough instances for candidates that need all at once."""
        return instances <= MAX_EXACT

    def fit(self, partitions: PanelPartitions) -> "FittedAuto":
        """Select among the candidates, and fit the selected ones to all answers."""
        selected = checkpointed_steps("selection", partial(self._select, partitions))
        partitions = _with_scope(partitions, selected.scope)
        members = {
            name: method.fit_checkpointed(partitions) for name, method in selected.methods.items()
        }
        calibration, selection = selected.calibration, selected.selection
        notes = [*selected.notes, *(note for member in members.values() for note in member.notes)]
        return FittedAuto(
            members=members,
            calibration=calibration,
            scope=selected.scope,
            selection=selection,
            trace=members[selection.closed[0]].trace,
            converged=all(member.converged for member in members.values()),
            threshold=0.5 if calibration is None else calibration.at(0.5),
            is_probability=calibration is not None
            or all(members[name].is_probability for name in selection.closed),
            one_truth=selected.one_truth,
            notes=tuple(dict.fromkeys(notes)),
        )

    def fit_checkpointed(self, partitions: PanelPartitions) -> "FittedAuto":
        """Fit without a checkpoint of its own: selection and members have theirs."""
        return self.fit(partitions)

    def _select(self, partitions: PanelPartitions) -> "_Selected":
        """Cross-validate the candidates, select, and calibrate the selected ones."""
        start = time.perf_counter()
        one_truth, scope = has_one_truth(partitions), infer_scope(partitions)
        candidates, notes = usable_candidates(partitions, one_truth=one_truth)
        folds = make_folds(_with_scope(partitions, scope), n_folds=self.folds, seed=self.seed)
        if folds:
            scores = successive_halving(candidates, folds, progress=partitions.progress)
            closed, specific = (
                _select_members(scores, folds, view, max_members=self.blend)
                for view in ("closed", "specific")
            )
            fold_means = [
                mean_scores([scores[name][number].score for name in closed])
                for number in range(len(folds))
            ]
            calibration, gold = calibrate_on_folds(folds, fold_means)
        else:
            scores, calibration, gold = {}, None, None
            closed = specific = (default_candidate(candidates, one_truth=one_truth),)
        by_source = all(fold.holds_out_sources for fold in folds)
        held_out: Literal["sources", "answers"] = "sources" if by_source else "answers"
        selection = Selection(
            candidates=_rank_candidates(candidates, scores),
            specific=specific,
            closed=closed,
            folds=len(folds),
            reason=_explain_selection(len(scores), len(folds), held_out),
            seconds=time.perf_counter() - start,
            gold=gold,
            held_out=held_out,
        )
        methods = {name: candidates[name] for name in dict.fromkeys((*specific, *closed))}
        return _Selected(methods, selection, calibration, scope, one_truth, notes)


@registered("auto.selection")
@dataclass(frozen=True, eq=False)
class _Selected:
    """The outcome of the selection, which a resumed run does not repeat."""

    methods: Mapping[str, BaseMethod]
    selection: Selection
    calibration: Calibration | None
    scope: Sparse | None
    one_truth: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedAuto(FittedMethod, saved_as="auto.fitted"):
    """The calibrated mean of the selected methods.

    Attributes
    ----------
    members : mapping of str to FittedMethod
        The selected methods.
    calibration : Calibration or None
        The map from mean scores to probabilities.
    scope : csr_array, (M, K), or None
        The labels that each source can give, as inferred from the answers.
    selection : Selection
        Which members are averaged in which view, and why.
    """

    members: Mapping[str, FittedMethod]
    calibration: Calibration | None
    scope: Sparse | None
    selection: Selection

    def predict(self, panel: Panel) -> Scores:
        """Return the calibrated mean scores of the members."""
        if self.scope is not None:
            panel = replace(panel, scope=self.scope)
        scores = {name: member.predict(panel) for name, member in self.members.items()}
        score = mean_scores([scores[name].score for name in self.selection.closed])
        specific = mean_scores([scores[name].specific for name in self.selection.specific])
        return Scores(score if self.calibration is None else self.calibration(score), specific)


def _with_scope(partitions: PanelPartitions, scope: Sparse | None) -> PanelPartitions:
    if scope is None:
        return partitions
    if isinstance(partitions, SinglePartition):
        # Methods that can use all instances at once see that they can.
        return replace(partitions, panel=replace(partitions.panel, scope=scope))
    return WithScope(partitions, scope)


def _select_members(
    scores: Mapping[str, Sequence[FoldScore]],
    folds: Sequence[Fold],
    view: View,
    *,
    max_members: int,
) -> tuple[str, ...]:
    """Return the selected candidate, and those whose addition to the mean lowers the loss."""

    def mean_losses(*names: str) -> FloatArray:
        """Return the loss of the mean prediction on every fold."""
        return np.array(
            [
                fold.loss(view, mean_scores([scores[name][n].predictions[view] for name in names]))
                for n, fold in enumerate(folds)
            ]
        )

    finalists = [name for name, on_folds in scores.items() if len(on_folds) == len(folds)]
    losses = {name: mean_losses(name) for name in finalists}
    best = min(losses, key=lambda name: float(losses[name].sum()))
    # Candidates are in order of preference: of those as good as the best, take the first.
    first = next(name for name in losses if not _is_lower(losses[best], losses[name], errors=1.0))
    members: tuple[str, ...] = (first,)
    lowest = losses[first]
    while len(members) < max_members and len(members) < len(finalists):
        extended = {name: mean_losses(*members, name) for name in finalists if name not in members}
        best = min(extended, key=lambda name: float(extended[name].sum()))
        if not _is_lower(extended[best], lowest, errors=2.0):
            break
        members, lowest = (*members, best), extended[best]
    return members


def _is_lower(losses: FloatArray, than: FloatArray, *, errors: float) -> bool:
    """Tell whether losses are lower by more than so many standard errors of the difference.

    Folds differ by far more than candidates do, so that only paired differences are meaningful.
    """
    gain = than - losses
    error = float(gain.std(ddof=1)) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
    return float(gain.mean()) > errors * error


def _rank_candidates(
    candidates: Mapping[str, BaseMethod], scores: Mapping[str, Sequence[FoldScore]]
) -> tuple[CandidateScore, ...]:
    """Return the candidates, those scored on all folds first, then by their loss."""
    ranked = [
        candidate_score(
            name,
            candidates[name],
            [score.losses for score in on_folds],
            sum(score.seconds for score in on_folds),
        )
        for name, on_folds in scores.items()
    ]
    return tuple(sorted(ranked, key=lambda scored: (-len(scored.closed), scored.loss("closed"))))


def _explain_selection(n_candidates: int, n_folds: int, held_out: str) -> str:
    if not n_folds:
        return "no answer could be predicted from other sources, so candidates were not compared"
    return (
        f"the best of {n_candidates} at predicting held-out {held_out} "
        f"({n_folds}-fold cross-validation)"
    )
