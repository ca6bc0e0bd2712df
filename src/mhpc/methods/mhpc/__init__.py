"""MHPC, MPCU: parameters and the choice of solver."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field

from mhpc.data.panel import Average, Panel, PanelPartitions, SinglePartition, Size, VotesKind
from mhpc.data.scores import Consolidation, Step
from mhpc.errors import ConvergenceWarning, ParameterError, TooLargeError
from mhpc.methods.base import PAPER, BaseMethod, predict_scores
from mhpc.methods.mhpc.algorithm import (
    Anchor,
    DenseSmoother,
    Iterate,
    Smoother,
    iterate_mhpc,
    support_in,
)
from mhpc.methods.mhpc.knn import KnnSmoother
from mhpc.methods.mhpc.landmarks import (
    AnswerView,
    FittedLandmarks,
    distinct_in,
    mean_of_used,
    smooth_landmarks,
    spread_out,
)
from mhpc.methods.source_weights import SourceWeighting, apply_weights, learn_source_weights
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.numerics.neighbors import REACH
from mhpc.system.display import Progress, silent
from mhpc.system.memory import format_size, memory_budget

_FACTORED = 3000
"""Landmarks up to which a graph of them is solved by a dense factor."""


def exact_memory(instances: int, labels: int, distinct: int, *, dense: bool) -> int:
    """Return what a graph of all instances takes; a dense one joins all that are distinct."""
    return 8 * (6 * instances * labels + (distinct**2 if dense else 0))


def landmark_memory(size: Size, landmarks: int, views: int) -> int:
    """Return what a graph of landmarks takes, in one view or in both."""
    landmarks = min(size.instances, landmarks)
    return 8 * (3 * views * landmarks * size.labels + min(landmarks, _FACTORED) ** 2)


def too_large(instances: int, labels: int, needed: int, *, dense: bool) -> TooLargeError:
    """Return the refusal of a graph of all instances, with what would do."""
    graph = "a dense graph" if dense else "an exact graph"
    return TooLargeError(
        f"{graph} of {instances:,} instances and {labels:,} labels needs about {format_size(needed)}, "
        f"and {format_size(memory_budget())} may be used; give --set solver=graph, raise --memory, or "
        "use --method sa"
    )


Solver: TypeAlias = Literal["auto", "exact", "graph"]

MAX_EXACT = 10_000
"""Distinct instances up to which `auto` is exact."""


class Smoothing(BaseMethod):
    """Parameters of the consensus cost (equations 1 to 6) and of the two-phase iteration."""

    lam: Annotated[float, Field(ge=0)] = 10.0
    """lambda of equation 1: how strongly similar instances are drawn together. 0 is averaging;
    more than 1e8 counts as 1e8, where all that are joined are alike but for rounding."""

    sigma: Annotated[float, Field(gt=0)] | None = 0.3
    """sigma of equation 7: the distance at which similarity has fallen to 1/e. The paper gives
    none; 0.3 is what gives its figures. Near 0 all keep their means, which is averaging; where it
    is large all are equally alike. none: the mean distance to the 15 nearest instances."""

    votes: VotesKind | Literal["each"] = "raw"
    """What is smoothed: the labels as said, as the paper does, or with all their ancestors; each:
    as said for `specific`, with ancestors for `score`."""

    graph: VotesKind | None = None
    """What similarity is estimated on; none: the same as `votes`, as in the paper. With ancestors
    where `votes` are `each`, and then not raw."""

    n_neighbors: Annotated[int, Field(ge=1)] | None = None
    """Join every instance to so many nearest ones; none: to all, as in the paper."""

    anchor_weight: Literal["none", "answers"] = "none"
    """Let an instance hold on to its answers alike however many there are, as in the paper, or by
    their number, so that smoothing gives way as evidence grows."""

    source_weights: SourceWeighting = "equal"
    """Count all sources alike, as the paper does, or by skill, kin sharing a voice."""

    fill_strength: Annotated[float, Field(ge=0)] = 0.0
    """How many answers it is worth that labels below one that was said are as popular as
    elsewhere; 0: nothing is filled in, as in the paper. Needs votes with ancestors."""

    average: Average = "answers"
    """Divide by the answers an instance got, or by the number of sources as the paper does."""

    anchor: Anchor = "mean"
    """What every solve starts from: the mean answer, which settles, or the previous result,
    as the paper has it, which smooths again and again."""

    tol: Annotated[float, Field(ge=0)] = 1e-4
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=0)] = 30
    """Iterations at most after the first solve; 0 is the first closed-form solve alone."""

    solver: Solver = "auto"
    """exact: all instances in one graph, iterated. graph: `landmarks` of them, each joined to its
    `n_neighbors` nearest (15 unless given), solved once whatever `max_iter` is; every other
    instance is joined to its nearest landmarks. auto: exact up to 10,000 distinct instances that
    fit in memory, else graph."""

    landmarks: Annotated[int, Field(ge=1)] = 50_000
    """Of how many instances the graph is made at most, where it is not exact."""

    def needs_all(self, instances: int) -> bool:
        """Tell whether the solver is exact, as far as the number of instances says."""
        return self.solver == "exact" or (self.solver == "auto" and instances <= MAX_EXACT)

    def estimate_memory(self, size: Size) -> int:
        """Return what a graph of all instances takes or, where there are too many, of landmarks."""
        exact = self._exact_memory(size.instances, size.labels, size.instances)
        if self.solver == "exact" or (self.needs_all(size.instances) and exact <= memory_budget()):
            return exact
        return landmark_memory(size, self.landmarks, views=2 if self.votes == "each" else 1)

    def weights(self, parts: PanelPartitions) -> FloatArray:
        """Return the weight of every label in the distance of eq. 7, (K,)."""
        raise NotImplementedError

    def fit(self, parts: PanelPartitions) -> FittedLandmarks:
        """Solve on landmarks, whatever `solver` is, which any instance can then be joined to."""
        self._check_combination()
        return smooth_landmarks(
            parts, self._reading(parts), landmarks=self.landmarks, lam=self.lam, fill=self.fill_strength,
            neighbours=self.n_neighbors or REACH, sigma=self.sigma,
        )  # fmt: skip

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the smoothed mean answers."""
        self._check_combination()
        solver, notes = self._chosen(panel)
        if solver == "exact":
            # What is learnt for new instances is another solve, made only if it is asked for.
            learnt = partial(self.fit, SinglePartition(panel))
            return replace(self._exact(panel, progress), notes=notes, fitted=learnt)
        fitted = self.fit_checkpointed(SinglePartition(panel, progress))
        fitted = replace(fitted, notes=(*notes, *fitted.notes))
        return predict_scores(self, fitted, panel, progress=progress)

    def _chosen(self, panel: Panel) -> tuple[Solver, tuple[str, ...]]:
        """Return the solver, and why where that was not asked for."""
        if self.solver != "auto":
            return self.solver, ()
        distinct = self._distinct(panel)
        needed, budget = self._needed(panel, distinct), memory_budget()
        if distinct > MAX_EXACT:
            solver, why = "graph", f"{distinct:,} distinct instances are more than {MAX_EXACT:,}"
        elif needed > budget:
            solver, why = "graph", f"{format_size(needed)} are more than may be used"
        else:
            solver, why = "exact", f"{distinct:,} instances are no more than {MAX_EXACT:,}"
        return solver, (f"solver: {solver}, since {why}",)  # type: ignore[return-value]

    def _distinct(self, panel: Panel) -> int:
        """Return how many instances differ, or that there are few enough."""
        answered = int((panel.answers_per_instance > 0).sum())
        if answered <= MAX_EXACT:
            return answered
        # Weights only tell more apart.
        unweighted = AnswerView(self.smoothed, self.compared, self.average, self.anchor_weight)
        distinct = distinct_in(panel, unweighted)
        if distinct > MAX_EXACT or self.source_weights == "equal":
            return distinct
        return distinct_in(panel, self._reading(SinglePartition(panel)))

    def _exact(self, panel: Panel, progress: Progress) -> Consolidation:
        for latest in self.iterate(panel, progress=progress):
            found = latest
        if not found.converged:
            warnings.warn(
                f"{self.name} stopped after {self.max_iter} iterations with a relative change of "
                f"{found.trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter, or "
                "look at the spread in the trace if instances are becoming alike",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found

    def iterate(self, panel: Panel, *, progress: Progress = silent) -> Iterator[Consolidation]:
        """Give what would be concluded after each exact iteration; the last one is the result."""
        self._check_combination()
        self._check_memory(panel)
        reading = self._reading(SinglePartition(panel))
        panel = apply_weights(panel, reading.heard)
        answered = np.flatnonzero(panel.answers_per_instance > 0)
        used = np.flatnonzero(panel.occurrences > 0)
        Y_bar = mean_of_used(panel, self.smoothed, self.average, answered, used)
        alongside = None
        if self.compared != self.smoothed or self.votes == "each":
            alongside = mean_of_used(panel, self.compared, self.average, answered, used)
        held = panel.evidence[answered] if self.anchor_weight == "answers" else None
        trace: tuple[Step, ...] = ()
        for iterate in iterate_mhpc(
            Y_bar, alongside, reading.weights[used], anchor=self.anchor, tol=self.tol,
            smoother=make_smoother(self.lam, self.sigma, self.n_neighbors), evidence=held,
            max_iter=self.max_iter, progress=progress,
            disagreement=self._disagreement(panel, Y_bar, held, answered),
        ):  # fmt: skip
            trace = (*trace, iterate.step)
            # A single solve asked for (max_iter=0) is a closed form: nothing is to settle.
            converged = self.max_iter == 0 or iterate.step.change <= self.tol
            score, specific = self._views(panel, reading, iterate, answered, used)
            yield self.make_consolidation(panel, score, specific, trace=trace, converged=converged)

    @property
    def smoothed(self) -> VotesKind:
        """What is smoothed first."""
        return "raw" if self.votes == "each" else self.votes

    @property
    def compared(self) -> VotesKind:
        """What similarity is estimated on."""
        return self.graph or ("augmented" if self.votes == "each" else self.smoothed)

    def _reading(self, parts: PanelPartitions) -> AnswerView:
        return AnswerView(
            self.smoothed, self.compared, self.average, self.anchor_weight, each=self.votes == "each",
            heard=learn_source_weights(parts, self.source_weights), weights=self.weights(parts),
        )  # fmt: skip

    def _check_combination(self) -> None:
        if self.fill_strength and self.votes == "raw":
            raise ParameterError(
                f"fill = {self.fill_strength:g} is not allowed with votes = 'raw'; give votes=augmented or "
                "votes=each"
            )
        if self.votes == "each" and self.graph == "raw":
            raise ParameterError(
                "graph = 'raw' is not allowed with votes = 'each', whose score is smoothed on the "
                "graph of votes with ancestors; give graph=augmented or none"
            )

    def _disagreement(
        self, panel: Panel, Y_bar: FloatArray, held: FloatArray | None, answered: IntArray
    ) -> float:
        """Return the first term of eq. 1 at Y = Y_bar: mean squares less squared means."""
        Y = panel.votes(self.smoothed)
        squares = panel.average_answers(Y.multiply(Y).tocsr(), self.average)[answered].sum(axis=1)
        scatter = np.asarray(squares).ravel() - np.einsum("ij,ij->i", Y_bar, Y_bar)
        return float(scatter.sum() if held is None else held @ scatter)

    def _views(
        self, panel: Panel, reading: AnswerView, iterate: Iterate, rows: IntArray, used: IntArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return `score`, and `specific` where that is another number."""
        N, K = len(panel.instances), len(panel.taxonomy)
        closed = iterate.graph if self.votes == "each" else iterate.Y
        closed = spread_out(closed, np.arange(len(rows)), used, (len(rows), K))
        if self.fill_strength:
            closed = reading.filled(closed, panel, rows, panel.popularity, None, self.fill_strength)
        score = spread_out(closed, rows, np.arange(K), (N, K))
        return score, spread_out(iterate.Y, rows, used, (N, K)) if self.votes == "each" else None

    def _check_memory(self, panel: Panel) -> None:
        """Foresee the memory that exact work takes instead of meeting its end."""
        needed, budget = self._needed(panel, self._distinct(panel)), memory_budget()
        if needed > budget:
            instances = int((panel.answers_per_instance > 0).sum())
            raise too_large(instances, len(panel.taxonomy), needed, dense=self.n_neighbors is None)

    def _needed(self, panel: Panel, distinct: int) -> int:
        answered = int((panel.answers_per_instance > 0).sum())
        return self._exact_memory(answered, len(panel.taxonomy), distinct)

    def _exact_memory(self, instances: int, labels: int, distinct: int) -> int:
        return exact_memory(instances, labels, distinct, dense=self.n_neighbors is None)


def make_smoother(lam: float, sigma: float | None, neighbours: int | None = None) -> Smoother:
    """Return what solves over all instances, as the paper does, or over the nearest ones."""
    if neighbours is None:
        return DenseSmoother(lam, sigma)
    return KnnSmoother(lam, sigma, neighbours)


class MHPC(Smoothing):
    """Mean answers, smoothed over instances that are alike in well-supported labels.

    Similarity (eq. 7) weighs each label by its support (eq. 10), which ancestors gain from the
    labels below them; the consensus cost (eq. 1) is solved in closed form (eq. 6), and
    similarity and solution are estimated in turn until they settle. Costs N^2 memory and
    N^3 / 3 + 3 N^2 K multiplications an iteration, N being the distinct answered instances; beyond
    ten thousand of them see `solver`.

    Examples
    --------
    >>> MHPC(lam=1, sigma=0.1).lam
    1.0
    """

    name: ClassVar[str] = "mhpc"
    summary: ClassVar[str] = "the paper: smoothing over a graph weighted by label support"
    reference: ClassVar[str] = PAPER

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Significance level of the support's confidence bound (eq. 9)."""

    @classmethod
    def as_published(cls, **values: Any) -> Self:
        """Return the paper's own reading: raw votes, divided by M, previous result as anchor."""
        paper = {"votes": "raw", "average": "all-sources", "anchor": "previous"}
        return cls(**(paper | values))

    def weights(self, parts: PanelPartitions) -> FloatArray:
        """Return the support of the labels."""
        return support_in(parts, alpha=self.alpha)


class MPCU(Smoothing):
    """MHPC with the same weight 1 for every label: plain Euclidean distance in eq. 7.

    Shows what the support, and so the hierarchy, adds. Costs what MHPC costs.
    """

    name: ClassVar[str] = "mpc-u"
    summary: ClassVar[str] = "mhpc with a uniform support vector"
    reference: ClassVar[str] = PAPER

    def weights(self, parts: PanelPartitions) -> FloatArray:
        """Return ones."""
        return np.ones(len(parts.taxonomy))
