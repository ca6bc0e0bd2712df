"""Trials: who is tried on which folds, so that judging costs little more than it must."""

from collections.abc import Mapping, Sequence
from functools import partial

from mhpc.choose.judge import Court, Trial, attempt
from mhpc.consolidate.method import MethodParameters
from mhpc.core.progress import Progress
from mhpc.core.stages import finished

_REACH = 1.1
"""How much worse than the best a candidate may be in the first fold and still be tried on."""


def tried(
    candidates: Mapping[str, MethodParameters], court: Court, progress: Progress
) -> dict[str, list[Trial]]:
    """Try all on the first fold, and on the others the better half, if it is in reach of the best.

    So all that is tried costs about as much as every candidate twice and a half.
    """
    trials: dict[str, list[Trial]] = {}
    most = len(candidates) * len(court.folds)
    for name, method in candidates.items():
        progress("judging", len(trials), most)
        trials[name] = [_trial(name, method, court, 0)]
    behind = {name: _behind(trials, name) for name in trials}
    better = sorted(trials, key=behind.__getitem__)[: max(3, (len(trials) + 1) // 2)]
    kept = [name for name in trials if name in better and behind[name] <= _REACH]
    for at in range(1, len(court.folds)):
        for done, name in enumerate(kept):
            progress("judging", len(candidates) + (at - 1) * len(kept) + done, most)
            trials[name].append(_trial(name, candidates[name], court, at))
    return trials


def _trial(name: str, method: MethodParameters, court: Court, at: int) -> Trial:
    return finished(f"{name} tried on fold {at}", partial(attempt, method, court, at))


def _behind(trials: Mapping[str, Sequence[Trial]], name: str) -> float:
    """Return how many times the best's a first trial's surprise was, in the better of its views."""
    return min(
        trials[name][0].surprise[view]
        / max(min(other[0].surprise[view] for other in trials.values()), 1e-12)
        for view in (0, 1)
    )
