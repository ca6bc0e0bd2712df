"""Cross-validation over sources: how well methods predict answers that they were not given.

From top to bottom: which answers are held out (`make_folds`), how a prediction of them is scored
(`log_rank_loss`), how a candidate does on one fold (`score_fold`), and how several candidates
compare (`cross_validate`).
"""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mhpc.data.comparison import CandidateScore
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.data.profiles import SourceDependence
from mhpc.data.scorecard import View
from mhpc.errors import MhpcWarning
from mhpc.methods.base import Method
from mhpc.methods.channel.answers import read_answers
from mhpc.methods.source_dependence import panel_dependence
from mhpc.methods.source_weights import weight_answers
from mhpc.numerics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    Sparse,
    dense,
)
from mhpc.numerics.sparse import row_blocks, row_indices
from mhpc.system.display import Progress, silent
from mhpc.system.parallel import process_map

VIEWS: tuple[View, ...] = ("specific", "closed")

FEW_SOURCES = 12
"""Up to this many sources, whole sources are held out; of more sources, single answers."""

DEPENDENT = 0.3
"""Sources with a higher dependence on a held-out source are left out of the training answers."""

MAX_CELLS = 4_000_000
"""Instances x labels that candidates are compared on; larger panels are sampled."""

BLOCK_CELLS = 1 << 20
"""Answers x labels that are ranked at a time."""

STAGE = "cross-validating"
"""What progress reports call this work."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of the answers.

    Attributes
    ----------
    train : Panel
        The answers that candidates are fitted on.
    test : Panel
        The held-out answers, on the same axes; they count by their weights.
    is_gold : bool
        Whether the held-out answers are the gold labels.
    """

    train: Panel
    test: Panel
    is_gold: bool = False

    @cached_property
    def targets(self) -> Mapping[View, Sparse]:
        """The labels to be predicted in each view, (held-out answers, K)."""
        return {"specific": read_answers(self.test), "closed": self.test.augmented}

    @property
    def scope(self) -> Sparse | None:
        """Ones at the labels that each held-out answer could contain; None: at all labels."""
        return None if self.test.scope is None else self.test.scope[self.test.source]

    @property
    def weight(self) -> FloatArray:
        """How much each held-out answer counts."""
        weight = self.test.weight
        return np.ones(len(self.test.source)) if weight is None else weight

    @property
    def holds_out_sources(self) -> bool:
        """Whether the held-out sources have no answer in the training panel."""
        return not np.isin(self.test.source, self.train.source).any()

    def loss(self, view: View, predictions: Matrix) -> float:
        """Return the weighted mean of `log_rank_loss` over the held-out answers."""
        losses = log_rank_loss(
            predictions, self.test.instance, self.targets[view], scope=self.scope
        )
        has_labels = ~np.isnan(losses)
        if not has_labels.any():
            return 0.0
        return float(np.average(losses[has_labels], weights=self.weight[has_labels]))


def make_folds(
    partitions: PanelPartitions, *, n_folds: int, seed: int, max_cells: int = MAX_CELLS
) -> list[Fold]:
    """Split the answers into training and held-out answers, in several ways.

    Held-out answers count by the reliability of their source, correlated sources sharing one
    weight: the answers of a new, competent source are to be predicted.

    Parameters
    ----------
    partitions : PanelPartitions
        All answers; of large panels a sample of the instances is used.
    n_folds : int
        The number of folds, at most; gold labels are one more fold.
    seed : int
        Seed of the random split.
    max_cells : int
        Instances x labels of the sample, at most.

    Returns
    -------
    list of Fold
        Empty if no answer can be predicted from the answers of other sources.
    """
    panel = partitions.sample(max(100, max_cells // max(len(partitions.taxonomy), 1)))
    dependence = panel_dependence(panel)
    weighted = weight_answers(panel, dependence)
    folds = split_answers(weighted, dependence, n_folds=n_folds, seed=seed)
    folds += hold_out_gold(weighted)
    # Whether to weight the answers that it is fitted on is up to each candidate.
    return [replace(fold, train=replace(fold.train, weight=None)) for fold in folds]


def split_answers(
    panel: Panel,
    dependence: SourceDependence,
    *,
    n_folds: int,
    seed: int,
) -> list[Fold]:
    """Hold out every answer once: by source if there are few sources, else one by one."""
    sources = np.unique(panel.source[~panel.is_gold])
    rng = np.random.default_rng(seed)
    if len(sources) > FEW_SOURCES:
        splits = _split_by_answer(panel, n_folds, rng)
    else:
        splits = _split_by_source(panel, dependence, sources, n_folds, rng)
    return [
        fold for held_out, removed in splits for fold in _fold(panel, held_out, removed=removed)
    ]


def hold_out_gold(panel: Panel) -> list[Fold]:
    """Return the fold whose held-out answers are the gold labels, if there are any."""
    folds = _fold(panel, panel.is_gold, removed=panel.is_gold)
    return [replace(fold, is_gold=True) for fold in folds]


def _split_by_answer(
    panel: Panel, n_folds: int, rng: np.random.Generator
) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Give masks of the answers to hold out and of those to remove from training."""
    group = np.where(panel.is_gold, -1, rng.integers(n_folds, size=len(panel.source)))
    for number in range(n_folds):
        yield group == number, group == number


def _split_by_source(
    panel: Panel,
    dependence: SourceDependence,
    sources: IntArray,
    n_folds: int,
    rng: np.random.Generator,
) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Give masks of the answers to hold out and of those to remove from training.

    Near-duplicates of a held-out source are removed as well: a copy in the training answers would
    reward the method that repeats it.
    """
    if len(sources) < 2:
        return
    n_groups = min(n_folds, len(sources))
    group = rng.permutation(len(sources)) % n_groups
    for number in range(n_groups):
        held_out_sources = sources[group == number]
        held_out = np.isin(panel.source, held_out_sources)
        nearest = np.asarray(dependence.matrix[held_out_sources].max(axis=0).toarray()).ravel()
        removed = (held_out | (nearest > DEPENDENT)[panel.source]) & ~panel.is_gold
        # If all sources depend on each other, nothing would be left to predict from.
        nothing_left = (removed | panel.is_gold).all()
        yield held_out, held_out if nothing_left else removed


def _fold(panel: Panel, held_out: BoolArray, *, removed: BoolArray) -> Iterator[Fold]:
    """Give the fold, if any held-out answer is about an instance with training answers."""
    train = panel.select_answers(~removed)
    predictable = held_out & (train.answers_per_instance[panel.instance] > 0)
    if predictable.any():
        yield Fold(train, panel.select_answers(predictable))


def log_rank_loss(
    scores: Matrix,
    instance: IntArray,
    answers: Sparse,
    *,
    scope: Sparse | None = None,
    block_cells: int = BLOCK_CELLS,
) -> FloatArray:
    """Return the loss of every answer, (A,): 0 if its labels rank first, 1 if they rank last.

    The loss is the mean, over the labels of the answer, of ::

        log(1 + rank) / log(1 + K),    rank 0 being the highest score.

    The step from first to second place costs more than the step from 101st to 102nd, so that both
    the top of the ranking and the place of unlikely labels matter. Equal scores share their mean
    rank. The loss of an answer without labels is nan.

    Parameters
    ----------
    scores : matrix, (N, K)
        The prediction for every instance.
    instance : int array, (A,)
        The instance of each answer.
    answers : csr_array, (A, K)
        The labels of each answer, weighted by their scores.
    scope : csr_array, (A, K), optional
        Ones at the labels that an answer could contain; only these are ranked.
    block_cells : int
        Answers x labels that are ranked at a time.
    """
    losses = np.full(answers.shape[0], np.nan)
    with_labels = np.flatnonzero(np.diff(answers.indptr))
    for block in row_blocks(len(with_labels), answers.shape[1], block_cells):
        rows = with_labels[block]
        in_scope = None if scope is None else dense(scope[rows]) > 0
        losses[rows] = _log_rank_loss(
            dense(scores[instance[rows]]), answers[rows].tocsr(), in_scope
        )
    return losses


def _log_rank_loss(
    predictions: FloatArray, answers: Sparse, in_scope: BoolArray | None
) -> FloatArray:
    """Return the losses of a block of answers, each with at least one label."""
    n_answers, K = predictions.shape
    if in_scope is not None:
        # Below every other label, where it does not change the rank of any.
        predictions = np.where(in_scope, predictions, -np.inf)
    answer = row_indices(answers)
    value = predictions[answer, answers.indices]
    ascending = np.sort(predictions, axis=1)
    n_higher, n_equal = np.empty((2, len(answer)))
    for row in range(n_answers):
        labels = slice(answers.indptr[row], answers.indptr[row + 1])
        right = np.searchsorted(ascending[row], value[labels], side="right")
        left = np.searchsorted(ascending[row], value[labels], side="left")
        n_higher[labels], n_equal[labels] = K - right, right - left
    rank = n_higher + (n_equal - 1) / 2
    n_labels = np.full(n_answers, float(K)) if in_scope is None else in_scope.sum(axis=1)
    loss = np.log1p(rank) / np.log1p(np.maximum(n_labels[answer], 1.0))
    total = np.bincount(answer, answers.data * np.minimum(loss, 1.0), minlength=n_answers)
    return np.asarray(total / np.bincount(answer, answers.data, minlength=n_answers))


@dataclass(frozen=True)
class FoldScore:
    """How a candidate did on one fold.

    Attributes
    ----------
    losses : mapping of view to float
        The mean loss of the answers that it expects of a new source.
    seconds : float
        How long fitting and predicting took.
    """

    losses: Mapping[View, float]
    seconds: float


def score_fold(task: tuple[Method, Fold]) -> FoldScore:
    """Fit a method to the training answers and score its predictions of the held-out ones."""
    method, fold = task
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Non-convergence matters, and is reported, when a method is fitted to all answers.
        warnings.simplefilter("ignore", MhpcWarning)
        consolidation = method.consolidate(fold.train)
    predictions = {view: consolidation.predict_answers(view) for view in VIEWS}
    seconds = time.perf_counter() - start
    losses = {view: fold.loss(view, predictions[view]) for view in VIEWS}
    return FoldScore(losses, seconds)


def cross_validate(
    panel: Panel,
    candidates: Mapping[str, Method],
    *,
    n_folds: int = 4,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress = silent,
) -> tuple[CandidateScore, ...]:
    """Score every candidate on every fold.

    Parameters
    ----------
    panel : Panel
        The answers.
    candidates : mapping of str to method
        Methods with their parameters, by name.
    n_folds : int
        The number of folds, at most.
    seed : int
        Seed of the random split.
    jobs : int
        The number of processes; with 1 all work is done in this one.
    progress : callable
        Called after every candidate and fold.

    Returns
    -------
    tuple of CandidateScore
        In the order of the candidates; empty if no answer can be held out.
    """
    folds = make_folds(SinglePartition(panel), n_folds=n_folds, seed=seed)
    tasks = [(method, fold) for method in candidates.values() for fold in folds]
    progress(STAGE, 0, len(tasks))
    numbered = (
        process_map(score_fold, tasks, jobs=jobs) if jobs > 1 else enumerate(map(score_fold, tasks))
    )
    results: dict[int, FoldScore] = {}
    for number, result in numbered:
        results[number] = result
        progress(STAGE, len(results), len(tasks))
    if not folds:
        return ()
    return tuple(
        _candidate_score(name, method, [results[first + n] for n in range(len(folds))])
        for first, (name, method) in zip(
            range(0, len(tasks), len(folds)), candidates.items(), strict=True
        )
    )


def _candidate_score(name: str, method: Method, scores: Sequence[FoldScore]) -> CandidateScore:
    parameters: dict[str, Any] = getattr(method, "model_dump", dict)()
    specific, closed = (tuple(score.losses[view] for score in scores) for view in VIEWS)
    seconds = sum(score.seconds for score in scores)
    return CandidateScore(name, method.name, parameters, specific, closed, seconds)
