"""Racing: candidates are compared on as few instances as it takes to tell them apart.

All candidates are cross-validated on a sample of the instances. Those that are clearly worse than
the best drop out, and the others go on with a sample twice as large (Maron, Moore: Hoeffding Races,
NIPS 1993). The race ends if the best is clear, if the sample cannot grow, or if the difference
depends on the held-out sources more than on the instances: that is chance too, of which more
instances say nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mhpc.data.comparison import CandidateScore
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.scorecard import View
from mhpc.data.size import measure_size
from mhpc.methods.base import BaseMethod, Method
from mhpc.methods.memory import check_memory, estimate_memory
from mhpc.numerics.arrays import FloatArray
from mhpc.selection.cross_validation import (
    MAX_CELLS,
    STAGE,
    VIEWS,
    Fold,
    FoldScore,
    ignore_non_convergence,
    make_folds,
    score_candidates,
    summarize,
)
from mhpc.system.display import Progress, silent
from mhpc.system.memory import memory_budget, memory_limit, use_memory_budget
from mhpc.system.parallel import thread_count

MIN_INSTANCES = 500
"""Instances that all candidates are compared on, if there are so many."""

MIN_SAMPLE = 100
"""Instances that are compared at least, however many labels there are."""

MAX_ERRORS = 3.0
"""Standard errors of the paired difference beyond which a candidate is clearly worse."""


@dataclass(frozen=True)
class Difference:
    """By how much the loss of a candidate is higher than that of another one, with two errors.

    Attributes
    ----------
    mean : float
        The mean difference over the folds.
    by_instances : float
        Its standard error if other instances had been drawn; more instances make it smaller.
    by_folds : float
        Its standard error if other sources had been held out as well; nan with one fold.
    """

    mean: float
    by_instances: float
    by_folds: float

    @property
    def is_clear(self) -> bool:
        """Whether other instances would hardly change which of the two is better."""
        return self.mean > MAX_ERRORS * self.by_instances

    @property
    def needs_instances(self) -> bool:
        """Whether the drawing of instances is at least half of the variance."""
        return not self.by_instances**2 <= self.by_folds**2 / 2


@dataclass(frozen=True, eq=False)
class Lap:
    """The candidates on one sample.

    Attributes
    ----------
    folds : sequence of Fold
        The folds of the sample.
    scores : mapping of str to sequence of FoldScore
        The scores of every candidate on each fold.
    """

    folds: Sequence[Fold]
    scores: Mapping[str, Sequence[FoldScore]]

    def find_contenders(self) -> frozenset[str]:
        """Return the candidates that should be measured on more instances.

        They are the best one of each view, and those of which more instances could show that they
        are better; nobody if there are none of these.
        """
        leaders = {view: self.find_leader(view) for view in VIEWS}
        undecided = set[str]()
        for view, leader in leaders.items():
            for name in self.scores.keys() - {leader}:
                difference = self.compare(name, leader, view)
                if not difference.is_clear and difference.needs_instances:
                    undecided.add(name)
        return frozenset(undecided | set(leaders.values())) if undecided else frozenset()

    def find_leader(self, view: View) -> str:
        """Return the candidate with the lowest loss, the first of several equal ones."""
        return min(self.scores, key=lambda name: self._losses(name, view).mean())

    def compare(self, name: str, other: str, view: View) -> Difference:
        """Return the paired difference of two candidates.

        Answers about the same instance are not independent, so that deviations are summed over
        them before they are squared.
        """
        difference = self._losses(name, view) - self._losses(other, view)
        deviation, n_folds = np.zeros(len(self.folds[0].train.instances)), len(self.folds)
        scores = zip(self.scores[name], self.scores[other], strict=True)
        for fold, (own, others), mean in zip(self.folds, scores, difference, strict=True):
            excess = own.losses[view] - others.losses[view] - mean
            weight = np.where(np.isnan(excess), 0.0, fold.weight)
            share = weight / max(weight.sum(), np.finfo(float).tiny) / n_folds
            deviation += np.bincount(
                fold.test.instance, share * np.nan_to_num(excess), minlength=len(deviation)
            )
        by_folds = difference.std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.nan
        return Difference(
            float(difference.mean()), float(np.sqrt((deviation**2).sum())), float(by_folds)
        )

    def _losses(self, name: str, view: View) -> FloatArray:
        return np.array([score.means[view] for score in self.scores[name]])


def race(
    panel: Panel,
    candidates: Mapping[str, Method],
    *,
    n_folds: int = 4,
    seed: int = 0,
    jobs: int | None = None,
    min_instances: int = MIN_INSTANCES,
    max_cells: int = MAX_CELLS,
    progress: Progress = silent,
    report: Callable[[CandidateScore], None] = lambda score: None,
) -> tuple[CandidateScore, ...]:
    """Cross-validate candidates on growing samples, and return the last score of each.

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
    jobs : int, optional
        How many folds are worked on at the same time, at most; by default one per core. The result
        is the same for any number.
    min_instances : int
        Instances that all candidates are compared on, if there are so many.
    max_cells : int
        Instances x labels of the largest sample.
    progress : callable
        Called with the percentage of the work on a sample that is done.
    report : callable
        Called with every score as soon as it is known: once per candidate and sample.

    Returns
    -------
    tuple of CandidateScore
        In the order of the candidates; empty if no answer can be held out.
    """
    sizes = sample_sizes(
        len(panel.instances), len(panel.taxonomy), min_instances=min_instances, max_cells=max_cells
    )
    largest = SinglePartition(SinglePartition(panel).sample(sizes[-1]))
    jobs = _limit_jobs(candidates.values(), largest, jobs)
    # What is free depends on what else is being fitted, and `auto` leaves out what needs more.
    budget = memory_budget()
    latest: dict[str, CandidateScore] = {}
    racing, expected = dict(candidates), dict[str, float]()
    for n in sizes:
        folds = make_folds(
            SinglePartition(largest.sample(n)), n_folds=n_folds, seed=seed, max_cells=max_cells
        )
        if not folds:
            continue
        scores: dict[str, tuple[FoldScore, ...]] = {}
        with ignore_non_convergence(), use_memory_budget(budget):
            for name, of_folds in score_candidates(
                racing, folds, jobs=jobs, expected=expected,
                progress=progress, stage=f"{STAGE} on {n:,} instances",
            ):  # fmt: skip
                scores[name] = of_folds
                latest[name] = summarize(name, racing[name], folds, of_folds)
                report(latest[name])
        contenders = Lap(folds, {name: scores[name] for name in racing}).find_contenders()
        if not contenders:
            break
        racing = {name: method for name, method in racing.items() if name in contenders}
        expected = {name: latest[name].seconds / len(folds) for name in racing}
    return tuple(latest[name] for name in candidates if name in latest)


def sample_sizes(
    n_instances: int,
    n_labels: int,
    *,
    min_instances: int = MIN_INSTANCES,
    max_cells: int = MAX_CELLS,
) -> Sequence[int]:
    """Return the sizes of the samples: the largest one, halved as long as it is large enough.

    Examples
    --------
    >>> sample_sizes(10_000, 500), sample_sizes(807, 6), sample_sizes(5_000, 7_680)
    ([500, 1000, 2000, 4000, 8000], [807], [520])
    """
    sizes = [min(n_instances, max(MIN_SAMPLE, max_cells // max(n_labels, 1)))]
    while sizes[0] >= 2 * max(min_instances, 1):
        sizes.insert(0, sizes[0] // 2)
    return sizes


def _limit_jobs(methods: Iterable[Method], largest: SinglePartition, jobs: int | None) -> int:
    """Return how many methods may be fitted at once, since each of them needs memory."""
    size, needed = measure_size(largest), 1
    for method in methods:
        check_memory(method, largest)
        if isinstance(method, BaseMethod):
            needed = max(needed, estimate_memory(method, size))
    return max(1, min(jobs or thread_count(), memory_limit() // needed))
