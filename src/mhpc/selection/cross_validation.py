"""Cross-validation over sources: how well methods predict answers that they were not given.

From top to bottom: which answers are held out (`make_folds`), how a prediction of them is scored
(`log_rank_loss`), how a candidate does on one fold (`score_fold`), and how several candidates
compare (`score_candidates`, `cross_validate`).
"""

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from mhpc.data.comparison import CandidateScore
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.data.profiles import SourceDependence
from mhpc.data.scorecard import View
from mhpc.errors import ParameterError, silence_warnings
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
    ratio,
)
from mhpc.numerics.sparse import row_blocks, row_indices
from mhpc.parameters import MAX_FOLDS, check_seed, show_value
from mhpc.system.caching import cached_property
from mhpc.system.display import PER_CENT, Progress, silent
from mhpc.system.parallel import thread_map

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

    def losses(self, view: View, predictions: Matrix) -> FloatArray:
        """Return `log_rank_loss` of every held-out answer."""
        return log_rank_loss(predictions, self.test.instance, self.targets[view], scope=self.scope)

    def average(self, losses: FloatArray) -> float:
        """Return the weighted mean of the losses of the held-out answers."""
        has_labels = ~np.isnan(losses)
        if not has_labels.any():
            return 0.0
        return float(np.average(losses[has_labels], weights=self.weight[has_labels]))

    def loss(self, view: View, predictions: Matrix) -> float:
        """Return the weighted mean of `log_rank_loss` over the held-out answers."""
        return self.average(self.losses(view, predictions))


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
    check_seed(seed)
    if not 2 <= n_folds <= MAX_FOLDS:
        raise ParameterError(
            f"folds = {show_value(n_folds)} is not allowed; give an integer from 2 to {MAX_FOLDS}"
        )
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
        losses[rows] = _log_rank_loss(scores, instance[rows], answers[rows].tocsr(), in_scope)
    return losses


def _log_rank_loss(
    scores: Matrix, instance: IntArray, answers: Sparse, in_scope: BoolArray | None
) -> FloatArray:
    """Return the losses of a block of answers, each with at least one label."""
    n_answers, K = answers.shape
    answer = row_indices(answers)
    if in_scope is None:
        # Answers about the same instance share its ranking.
        instances, row = np.unique(instance, return_inverse=True)
        ranked, n_labels = dense(scores[instances]), np.full(n_answers, float(K))
    else:
        # What is out of scope is below every other label, where it does not change their ranks.
        row, n_labels = np.arange(n_answers), in_scope.sum(axis=1).astype(float)
        ranked = np.where(in_scope, dense(scores[instance]), -np.inf)
    rank = mean_ranks(ranked, row[answer], answers.indices)
    loss = np.log1p(rank) / np.log1p(np.maximum(n_labels[answer], 1.0))
    total = np.bincount(answer, answers.data * np.minimum(loss, 1.0), minlength=n_answers)
    return np.asarray(total / np.bincount(answer, answers.data, minlength=n_answers))


def mean_ranks(scores: FloatArray, row: IntArray, column: IntArray) -> FloatArray:
    """Return the rank of some cells in their rows, (P,), 0 being the highest score of a row.

    Equal scores share their mean rank. Every row is sorted once, however many cells it has.

    Parameters
    ----------
    scores : float array, (R, K)
        The rows.
    row, column : int arrays, (P,)
        The cells.
    """
    value, ascending = scores[row, column], np.sort(scores, axis=1)
    n_lower = _count_before(ascending, row, value, np.less)
    n_lower_or_equal = _count_before(ascending, row, value, np.less_equal)
    n_higher, n_equal = scores.shape[1] - n_lower_or_equal, n_lower_or_equal - n_lower
    return np.asarray(n_higher + (n_equal - 1) / 2)


def _count_before(
    ascending: FloatArray, row: IntArray, value: FloatArray, is_before: np.ufunc
) -> IntArray:
    """Return how many scores of its row come before each value: binary searches side by side."""
    K = ascending.shape[1]
    cells, start = ascending.ravel(), row * np.int64(K)
    low, high = np.zeros(len(row), dtype=np.int64), np.full(len(row), K, dtype=np.int64)
    for _ in range(K.bit_length()):
        middle = (low + high) // 2
        # A search that has ended stays where it is.
        searching = low < high
        before = is_before(cells[start + np.minimum(middle, K - 1)], value) & searching
        low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
    return low


@dataclass(frozen=True, eq=False)
class FoldScore:
    """How a candidate did on one fold.

    Attributes
    ----------
    losses : mapping of view to float array
        The loss of every held-out answer; nan for answers without labels.
    means : mapping of view to float
        The weighted means of these losses.
    seconds : float
        How long fitting and predicting took.
    """

    losses: Mapping[View, FloatArray]
    means: Mapping[View, float]
    seconds: float


def score_fold(task: tuple[Method, Fold]) -> FoldScore:
    """Fit a method to the training answers and score its predictions of the held-out ones."""
    method, fold = task
    start = time.perf_counter()
    consolidation = method.consolidate(fold.train)
    predictions = {view: consolidation.predict_answers(view) for view in VIEWS}
    seconds = time.perf_counter() - start
    losses = {view: fold.losses(view, predictions[view]) for view in VIEWS}
    means = {view: fold.average(losses[view]) for view in VIEWS}
    return FoldScore(losses, means, seconds)


def score_candidates(
    candidates: Mapping[str, Method],
    folds: Sequence[Fold],
    *,
    jobs: int = 1,
    expected: Mapping[str, float] = MappingProxyType({}),
    progress: Progress = silent,
    stage: str = STAGE,
) -> Iterator[tuple[str, tuple[FoldScore, ...]]]:
    """Yield the name of every candidate with its scores on all folds, as soon as they are known.

    The first fold comes first for all candidates. It shows what each of them costs, so that the
    progress counts work and not candidates.

    Parameters
    ----------
    candidates : mapping of str to method
        Methods with their parameters, by name.
    folds : sequence of Fold
        What they are scored on. All that is computed once per fold is shared by the candidates.
    jobs : int
        The number of folds that are worked on at the same time, each in its own thread.
    expected : mapping of str to float
        Seconds that candidates needed on other folds, if they are known.
    progress : callable
        Called with the percentage of the work that is done.
    stage : str
        The name of the work in progress reports.
    """
    tasks = [(name, 0) for name in candidates]
    tasks += [(name, number) for name in candidates for number in range(1, len(folds))]
    scores: dict[str, dict[int, FoldScore]] = {name: {} for name in candidates}
    share = 0.0
    progress(stage, 0, PER_CENT)
    work = [(candidates[name], folds[number]) for name, number in tasks]
    for position, score in thread_map(score_fold, work, threads=jobs):
        name, number = tasks[position]
        scores[name][number] = score
        seconds = {each: [one.seconds for one in of.values()] for each, of in scores.items()}
        # When a candidate turns out to take longer than expected, the share stays as it is.
        share = max(share, estimate_share_done(seconds, len(folds), expected))
        progress(stage, int(PER_CENT * share), PER_CENT)
        if len(scores[name]) == len(folds):
            yield name, tuple(scores[name][number] for number in range(len(folds)))


def estimate_share_done(
    seconds: Mapping[str, Sequence[float]], n_folds: int, expected: Mapping[str, float]
) -> float:
    """Return the share of the work that is done, from 0 to 1.

    A fold that is not finished takes as long as the other folds of the candidate. Before its first
    one, it takes what it took on another sample, in proportion to what the others took; if that is
    not known either, as long as the mean of the others.

    Parameters
    ----------
    seconds : mapping of str to sequence of float
        How long the finished folds of every candidate took.
    n_folds : int
        The number of folds.
    expected : mapping of str to float
        Seconds per fold on another sample; may be empty.

    Examples
    --------
    >>> estimate_share_done({"sa": [1.0, 1.0], "mhpc": [9.0]}, 2, {})
    0.55
    """
    measured = {name: statistics.fmean(times) for name, times in seconds.items() if times}
    if not measured:
        return 0.0
    mean = statistics.fmean(measured.values())
    both = [name for name in measured if name in expected]
    growth = ratio(sum(measured[name] for name in both), sum(expected[name] for name in both))
    done = left = 0.0
    for name, times in seconds.items():
        usual = growth * expected[name] if name in expected and growth else mean
        done += sum(times)
        left += (n_folds - len(times)) * measured.get(name, usual)
    return ratio(done, done + left)


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
        How many folds are worked on at the same time; the result is the same for any number.
    progress : callable
        Called after every candidate and fold.

    Returns
    -------
    tuple of CandidateScore
        In the order of the candidates; empty if no answer can be held out.
    """
    folds = make_folds(SinglePartition(panel), n_folds=n_folds, seed=seed)
    if not folds:
        return ()
    with ignore_non_convergence():
        scores = dict(score_candidates(candidates, folds, jobs=jobs, progress=progress))
    return tuple(
        summarize(name, method, folds, scores[name]) for name, method in candidates.items()
    )


@contextmanager
def ignore_non_convergence() -> Iterator[None]:
    """Ignore warnings: non-convergence is reported when a method is fitted to all answers.

    Filters are shared by all threads, and are therefore set by the one that starts the others.
    """
    with silence_warnings():
        yield


def summarize(
    name: str, method: Method, folds: Sequence[Fold], scores: Sequence[FoldScore]
) -> CandidateScore:
    """Return the mean losses of a candidate on each fold."""
    specific, closed = (tuple(score.means[view] for score in scores) for view in VIEWS)
    return CandidateScore(
        name=name,
        method=method.name,
        parameters=getattr(method, "model_dump", dict)(),
        specific=specific,
        closed=closed,
        instances=len(folds[0].train.instances),
        seconds=sum(score.seconds for score in scores),
    )
