"""Folds over sources or answers, log-rank loss, successive halving."""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.data.profiles import SourceDependence
from mhpc.data.scorecard import View
from mhpc.data.selection import CandidateScore
from mhpc.errors import MhpcWarning
from mhpc.methods.base import BaseMethod, Method
from mhpc.methods.channel.em import read_answers
from mhpc.methods.source_weights import panel_dependence, weight_answers
from mhpc.numerics.arrays import (
    Block,
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    Sparse,
    by_rows,
    dense,
)
from mhpc.parameters import registered
from mhpc.system.checkpoints import checkpointed
from mhpc.system.display import Progress, silent
from mhpc.system.parallel import process_map

FEW_SOURCES = 12
"""Up to so many sources whole sources are hidden; of more, single answers."""

DEPENDENT = 0.3
"""From this kinship on a source is taken away together with a hidden one: a copy that stays would
reward methods for repeating it."""


@dataclass(frozen=True, eq=False)
class Fold:
    """A panel without some answers, and the answers that were hidden from it."""

    train: Panel
    test: Panel


def folds(panel: Panel, kin: SourceDependence, *, count: int, seed: int) -> list[Fold]:
    """Return at most `count` ways to hide a part of the panel; none where nothing can be told.

    That is so with one source: what it says of an instance is all there is to foretell it from.
    """
    sources = np.unique(panel.source[~panel.is_gold])
    rng = np.random.default_rng(seed)
    found: list[Fold] = []
    if len(sources) > FEW_SOURCES:
        hides = _by_answer(panel, count, rng)
    else:
        hides = _by_source(panel, kin, sources, count if len(sources) > 1 else 0, rng)
    for hidden, away in hides:
        found += _fold(panel, hidden, away)
    return found


def make_gold_fold(panel: Panel) -> list[Fold]:
    """Return the fold in which what is known is hidden, if anything is known."""
    return list(_fold(panel, panel.is_gold, panel.is_gold))


def _by_answer(
    panel: Panel, count: int, rng: np.random.Generator
) -> Iterator[tuple[BoolArray, BoolArray]]:
    part = np.where(panel.is_gold, -1, rng.integers(count, size=len(panel.source)))
    for at in range(count):
        yield part == at, part == at


def _by_source(
    panel: Panel, kin: SourceDependence, sources: np.ndarray, count: int, rng: np.random.Generator
) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Give the answers to hide and those to take away with them."""
    group = rng.permutation(len(sources)) % max(1, min(count, len(sources)))
    for at in range(int(group.max()) + 1 if count else 0):
        some = sources[group == at]
        hidden = np.isin(panel.source, some)
        family = np.asarray(kin.matrix[some].max(axis=0).toarray()).ravel() > DEPENDENT
        away = hidden | family[panel.source]
        # Where all are kin, nobody would be left to foretell from.
        away &= ~panel.is_gold
        yield hidden, away if not (away | panel.is_gold).all() else hidden


def _fold(panel: Panel, hidden: BoolArray, away: BoolArray) -> Iterator[Fold]:
    """Give the fold, if any hidden answer is to an instance that others answered."""
    rest = panel.select_answers(~away)
    useful = hidden & (rest.answers_per_instance[panel.instance] > 0)
    if useful.any():
        yield Fold(rest, panel.select_answers(useful))


_CELLS = 1 << 20


def log_rank_loss(
    scores: Matrix, instance: IntArray, said: Sparse, scope: Sparse | None
) -> FloatArray:
    """Return how surprising each answer is, (A,): 0 where its labels stand first, 1 where last.

    The mean, over the labels said, of log(1 + rank) / log(1 + K), rank 0 being the top: the step
    from first to second counts more than that from 101st to 102nd, so that both who is on top
    and how deep the rest lies tell. Equal scores share their ranks. An answer without labels has
    no surprise (nan).

    Parameters
    ----------
    scores : (N, K)
        What is foretold.
    instance : int array, (A,)
        Whose answer each is.
    said : csr_array, (A, K)
        Labels with scores, which weigh them.
    scope : csr_array, (A, K), or None
        Ones at the labels that an answer could have held; ranks count among these.
    """
    K = said.shape[1]
    found = np.full(said.shape[0], np.nan)
    answered = np.flatnonzero(np.diff(said.indptr) > 0)
    step = max(1, _CELLS // K)
    for start in range(0, len(answered), step):
        rows = answered[start : start + step]
        foretold = dense(scores[instance[rows]])
        allowed = None if scope is None else dense(scope[rows]) > 0
        found[rows] = _surprise(foretold, said[rows].tocsr(), allowed)
    return found


def _surprise(foretold: FloatArray, said: Sparse, allowed: BoolArray | None) -> FloatArray:
    rows, K = foretold.shape
    owner = np.repeat(np.arange(rows), np.diff(said.indptr))
    if allowed is not None:
        # Below everything: what could not be said stands in nobody's way.
        foretold = np.where(allowed, foretold, -np.inf)
    order = np.sort(foretold, axis=1)
    value = foretold[owner, said.indices]
    above, level = np.empty(len(owner)), np.empty(len(owner))
    for row in range(rows):
        mine = slice(said.indptr[row], said.indptr[row + 1])
        right = np.searchsorted(order[row], value[mine], side="right")
        left = np.searchsorted(order[row], value[mine], side="left")
        above[mine], level[mine] = K - right, right - left
    rank = above + (level - 1) / 2
    choices = np.full(rows, float(K)) if allowed is None else allowed.sum(axis=1).astype(float)
    share = np.log1p(rank) / np.log1p(np.maximum(choices[owner], 1.0))
    total = np.bincount(owner, said.data * np.minimum(share, 1.0), minlength=rows)
    return np.asarray(total / np.bincount(owner, said.data, minlength=rows))


VIEWS: tuple[View, ...] = ("specific", "closed")

MAX_CELLS = 4_000_000
"""Instances x labels that are judged on at most; more instances would tell little more."""


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Folds of a panel, and what is to be foretold in each; `gold` is where what is known is."""

    folds: Sequence[Fold]
    targets: Sequence[Mapping[View, Sparse]]
    weight: Sequence[FloatArray]
    gold: int | None = None

    def only(self, at: int) -> "CrossValidation":
        """Return the court with one of its folds, which is what a worker needs."""
        return CrossValidation([self.folds[at]], [self.targets[at]], [self.weight[at]])

    def loss(self, at: int, view: View, foretold: Matrix) -> float:
        """Return the mean surprise of a fold's hidden answers, each by its weight."""
        hidden = self.folds[at].test
        scope = None if hidden.scope is None else hidden.scope[hidden.source]
        values = log_rank_loss(foretold, hidden.instance, self.targets[at][view], scope)
        told = ~np.isnan(values)
        return float(np.average(values[told], weights=self.weight[at][told])) if told.any() else 0.0


@registered("auto.fold-score")
@dataclass(frozen=True, eq=False)
class FoldScore:
    """What a candidate made of one fold: what it foretells, and what it holds true."""

    predictions: Mapping[View, Matrix]
    score: Matrix
    loss: tuple[float, float]
    seconds: float


def make_folds(parts: PanelPartitions, *, count: int, seed: int) -> CrossValidation:
    """Return the folds to judge on; of many instances a sample."""
    panel = parts.sample(max(100, MAX_CELLS // max(len(parts.taxonomy), 1)))
    kin = panel_dependence(panel)
    weighted = weight_answers(panel, kin)
    found = folds(weighted, kin, count=count, seed=seed)
    known = make_gold_fold(weighted)
    found += known
    return CrossValidation(
        gold=len(found) - 1 if known else None,
        folds=[Fold(_unweighted(fold.train), fold.test) for fold in found],
        targets=[
            {"specific": read_answers(fold.test), "closed": fold.test.augmented} for fold in found
        ],
        # A fresh competent source is to be foretold: by skill, and kin together as one.
        weight=[np.asarray(fold.test.weight) for fold in found],
    )


def score_fold(method: Method, court: CrossValidation, at: int) -> FoldScore:
    """Let a method foretell the hidden answers of one fold."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        # Whether it settles is told when it is run for good.
        warnings.simplefilter("ignore", MhpcWarning)
        found = method.consolidate(court.folds[at].train)
    foretold = {view: found.predict_answers(view) for view in VIEWS}
    seconds = time.perf_counter() - began
    specific, closed = (court.loss(at, view, foretold[view]) for view in VIEWS)
    return FoldScore(foretold, found.score, (specific, closed), seconds)


def cross_validate(
    panel: Panel,
    candidates: Mapping[str, Method],
    *,
    n_folds: int = 4,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress = silent,
) -> tuple[CandidateScore, ...]:
    """Return how well every candidate foretells hidden answers; nothing where none can be hidden.

    Parameters
    ----------
    panel : Panel
        What sources said.
    candidates : mapping of str to method
        Methods with any parameters, by the names they are to have.
    n_folds : int
        Folds at most.
    seed : int
        Which answers are hidden together.
    jobs : int
        Processes; 1 works in this one.
    progress : callable
        Told after every trial.
    """
    court = make_folds(SinglePartition(panel), count=n_folds, seed=seed)
    tasks = [
        (method, court.only(at)) for method in candidates.values() for at in range(len(court.folds))
    ]
    found: dict[int, _Outcome] = {}
    progress("judging", 0, len(tasks))
    outcomes = process_map(_tried, tasks, jobs=jobs) if jobs > 1 else enumerate(map(_tried, tasks))
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


def _tried(task: tuple[Method, CrossValidation]) -> _Outcome:
    trial = score_fold(task[0], task[1], 0)
    return trial.loss, trial.seconds


def _summed(name: str, method: Method, outcomes: Sequence[_Outcome]) -> CandidateScore:
    specific, closed = zip(*(log_rank_loss for log_rank_loss, _ in outcomes), strict=True)
    parameters: dict[str, Any] = getattr(method, "model_dump", dict)()
    seconds = sum(seconds for _, seconds in outcomes)
    return CandidateScore(name, method.name, parameters, specific, closed, seconds)


def summarize(name: str, method: Method, trials: Sequence[FoldScore]) -> CandidateScore:
    """Sum up the trials of a candidate."""
    return _summed(name, method, [(trial.loss, trial.seconds) for trial in trials])


def mean_scores(matrices: Sequence[Matrix]) -> Matrix:
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


_REACH = 1.1
"""How much worse than the best a candidate may be in the first fold and still be tried on."""


def successive_halving(
    candidates: Mapping[str, BaseMethod], court: CrossValidation, progress: Progress
) -> dict[str, list[FoldScore]]:
    """Try all on the first fold, and on the others the better half, if it is in reach of the best.

    So all that is tried costs about as much as every candidate twice and a half.
    """
    trials: dict[str, list[FoldScore]] = {}
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


def _trial(name: str, method: BaseMethod, court: CrossValidation, at: int) -> FoldScore:
    return checkpointed(f"{name} tried on fold {at}", partial(score_fold, method, court, at))


def _behind(trials: Mapping[str, Sequence[FoldScore]], name: str) -> float:
    """Return how many times the best's a first trial's surprise was, in the better of its views."""
    return min(
        trials[name][0].loss[view]
        / max(min(other[0].loss[view] for other in trials.values()), 1e-12)
        for view in (0, 1)
    )
