"""MHPC, MPC-U and their local variant: the parameters, and the choice of the solver.

`algorithm` has the paper's equations. `knn` solves on a graph of nearest neighbours, `exact` fits
a panel on all its instances, `landmarks` on a sample, and `fitted` is the model that either gives.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from mhpc.data.panel import Average, Panel, PanelPartitions, SinglePartition, VotesKind
from mhpc.data.scores import Consolidation
from mhpc.data.size import Size
from mhpc.errors import ConvergenceWarning, ParameterError, warn
from mhpc.methods.base import (
    MAX_ANSWERS,
    MAX_INSTANCES,
    MAX_ITER,
    PAPER,
    BaseMethod,
    Significance,
    predict_scores,
)
from mhpc.methods.mhpc.algorithm import Anchor, label_support
from mhpc.methods.mhpc.exact import fit_exact, iterate_exact
from mhpc.methods.mhpc.fitted import AnchorWeight, FittedMHPC, GraphSettings, Solver
from mhpc.methods.mhpc.knn import MAX_FACTORED
from mhpc.methods.mhpc.landmarks import fit_landmarks, has_more_distinct
from mhpc.methods.source_weights import SourceWeighting
from mhpc.numerics.arrays import FloatArray
from mhpc.system.display import Progress, silent
from mhpc.system.memory import format_size, memory_budget

MAX_EXACT = 10_000
"""Distinct instances up to which all of them are solved in one graph."""


class Smoothing(BaseMethod):
    """The consensus cost (eqs. 1 to 6) and the two-phase iteration, with any support."""

    lam: Annotated[float, Field(ge=0)] = 10.0
    """lambda of eq. 1: how strongly similar instances are drawn together. 0 is averaging; values
    above 1e8 count as 1e8, where joined instances are equal except for rounding errors."""

    sigma: Annotated[float, Field(gt=0)] | None = 0.3
    """sigma of eq. 7: the distance at which similarity has fallen to 1/e. The paper gives no
    value; 0.3 reproduces its figures. Near 0 every instance keeps its mean answer, which is
    averaging; if it is large, all instances are equally similar. none: the mean distance to the
    15 nearest instances."""

    votes: VotesKind | Literal["each"] = "raw"
    """What is smoothed: the labels as they were given, as in the paper, or with all their
    ancestors. each: as given for `specific`, with ancestors for `score`."""

    graph: VotesKind | None = None
    """What similarity is estimated on. none: the same as `votes`, as in the paper; with ancestors
    if `votes` is `each`, where raw is not allowed."""

    average: Average = "answers"
    """Divide the sum of an instance's votes by its number of answers, or by the number of sources
    as in the paper."""

    anchor: Anchor = "mean"
    """The right-hand side of each solve: the mean answer, which converges, or the previous
    solution as in the paper, which smooths what is smoothed already."""

    tol: Annotated[float, Field(ge=0)] = 1e-4
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=0, le=MAX_ITER)] = 30
    """The largest number of iterations after the first solve; 0: one closed-form solve."""

    def support(self, partitions: PanelPartitions) -> FloatArray:
        """Return the weight of every label in the distance of eq. 7, (K,)."""
        raise NotImplementedError

    def needs_all(self, instances: int) -> bool:
        """Return whether the solver is exact, as far as the number of instances says."""
        solver = self._settings.solver
        return solver == "exact" or (solver == "auto" and instances <= MAX_EXACT)

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes of a graph of all instances or, if there are too many, of landmarks."""
        settings = self._settings
        exact = _exact_memory(settings, size.instances, size.labels, size.instances)
        if settings.solver == "exact":
            return exact
        if self.needs_all(size.instances) and exact <= memory_budget():
            return exact
        landmarks, views = min(size.instances, settings.landmarks), 1 + settings.both_views
        return 8 * (3 * views * landmarks * size.labels + min(landmarks, MAX_FACTORED) ** 2)

    def describe_memory(self, size: Size) -> str:
        """Return which graph needs the memory, and what would need less."""
        if self._settings.solver != "exact":
            return ""
        graph = "a dense graph" if self._settings.n_neighbors is None else "a graph"
        return f"for {graph} of all instances; mhpc-local with solver=graph needs less"

    def fit(self, partitions: PanelPartitions, *, max_exact: int = MAX_EXACT) -> FittedMHPC:
        """Solve on all instances or, if there are too many, on landmarks.

        Parameters
        ----------
        partitions : PanelPartitions
            All answers.
        max_exact : int
            Distinct instances up to which all of them are solved in one graph.
        """
        self._check_combination()
        settings, notes, support = self._settings, tuple[str, ...](), self.support(partitions)
        n_landmarks, is_exact = settings.landmarks, False
        if isinstance(partitions, SinglePartition) or self.needs_all(partitions.instances):
            panel = partitions.sample(partitions.instances)
            solver, notes = self._choose_solver(panel, max_exact)
            is_exact = solver == "exact"
            if is_exact and not settings.is_one_local_solve:
                fitted = fit_exact(panel, support, settings, progress=partitions.progress)
                return replace(fitted, notes=notes)
            if is_exact:
                n_landmarks = len(panel.instances)
        fitted = fit_landmarks(partitions, support, settings, n_landmarks=n_landmarks)
        return replace(fitted, notes=notes if is_exact else (*notes, *fitted.notes))

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the smoothed mean answers."""
        fitted = self.fit_used_labels(SinglePartition(panel, progress))
        if not fitted.converged and len(fitted.trace) > 1:
            warn(
                f"{self.name} stopped after {self.max_iter} iterations with a relative change of "
                f"{fitted.trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter, or "
                "look at the spread in the trace if instances are becoming equal",
                ConvergenceWarning,
                stacklevel=3,
            )
        return predict_scores(self, fitted, panel, progress=progress)

    def iterate(self, panel: Panel, *, progress: Progress = silent) -> Iterator[Consolidation]:
        """Yield the consolidation after each exact solve; the last one is the result."""
        self._check_combination()
        support = self.support(SinglePartition(panel))
        for fitted in iterate_exact(panel, support, self._settings, progress=progress):
            yield predict_scores(self, fitted, panel, progress=progress)

    @property
    def _settings(self) -> GraphSettings:
        names = {field.name for field in fields(GraphSettings)} & type(self).model_fields.keys()
        return GraphSettings(**{name: getattr(self, name) for name in names})

    def _check_combination(self) -> None:
        settings = self._settings
        if settings.fill_strength and settings.votes == "raw":
            raise ParameterError(
                f"fill_strength = {settings.fill_strength:g} is not allowed with votes = 'raw'; "
                "give votes=augmented or votes=each"
            )
        if settings.votes == "each" and settings.graph == "raw":
            raise ParameterError(
                "graph = 'raw' is not allowed with votes = 'each', whose score is smoothed on the "
                "graph of votes with ancestors; give graph=augmented or none"
            )

    def _choose_solver(self, panel: Panel, max_exact: int) -> tuple[Solver, tuple[str, ...]]:
        """Return the solver, and a note that says why if it was not given."""
        settings = self._settings
        if settings.solver != "auto":
            return settings.solver, ()
        if self._has_more_distinct(panel, max_exact):
            reason = f"there are more than {max_exact:,} distinct instances"
            return "graph", (f"The landmark solver was used: {reason}",)
        needed = self._needed_memory(panel, min(max_exact, _count_answered(panel)))
        if needed > memory_budget():
            reason = f"all instances need {format_size(needed)}, more than may be used"
            return "graph", (f"The landmark solver was used: {reason}",)
        reason = f"there are at most {max_exact:,} distinct instances"
        return "exact", (f"The exact solver was used: {reason}",)

    def _needed_memory(self, panel: Panel, distinct: int) -> int:
        return _exact_memory(self._settings, _count_answered(panel), len(panel.taxonomy), distinct)

    def _has_more_distinct(self, panel: Panel, limit: int) -> bool:
        """Return whether more instances are distinct than fit in one graph."""
        if _count_answered(panel) <= limit:
            return False
        settings, partitions = self._settings, SinglePartition(panel)
        # Source weights can only make more instances distinct.
        unweighted = replace(settings, source_weights="equal").read(
            partitions, np.ones(0), exact=False
        )
        if has_more_distinct(panel, unweighted, limit):
            return True
        if settings.source_weights == "equal":
            return False
        weighted = settings.read(partitions, self.support(partitions), exact=False)
        return has_more_distinct(panel, weighted, limit)


def _count_answered(panel: Panel) -> int:
    return int((panel.answers_per_instance > 0).sum())


def _exact_memory(settings: GraphSettings, instances: int, labels: int, distinct: int) -> int:
    """Return the bytes of a graph of all instances; a dense one has distinct x distinct cells."""
    dense_graph = distinct**2 if settings.n_neighbors is None else 0
    return 8 * (6 * instances * labels + dense_graph)


class MHPC(Smoothing):
    """The paper's method: mean answers, smoothed over instances with similar labels.

    Similarity (eq. 7) weights each label by its support (eq. 10), which ancestors gain from the
    labels below them. The consensus cost (eq. 1) is minimised in closed form (eq. 6); similarity
    and solution are estimated in turn until they converge. Costs V^2 memory and
    V^3 / 3 + 3 V^2 K multiplications per iteration, V being the number of distinct instances.
    Beyond 10,000 of them, 50,000 instances are solved once on a graph of 15 nearest neighbours,
    and all others are joined to it; `LocalMHPC` has parameters for that.

    Examples
    --------
    >>> MHPC(lam=1, sigma=0.1).lam
    1.0
    """

    name: ClassVar[str] = "mhpc"
    summary: ClassVar[str] = "the paper: smoothing over a graph weighted by label support"
    reference: ClassVar[str] = PAPER

    alpha: Significance = 0.05
    """Significance level of the support's confidence bound (eq. 9)."""

    @classmethod
    def as_published(cls, **values: Any) -> Self:
        """Return the method with every choice as the paper writes it.

        Raw votes are divided by the number of sources, and the previous solution is the anchor.
        """
        paper = {"votes": "raw", "average": "all-sources", "anchor": "previous"}
        return cls(**(paper | values))

    def support(self, partitions: PanelPartitions) -> FloatArray:
        """Return the lower Clopper-Pearson bounds of the labels' frequencies."""
        return label_support(partitions, alpha=self.alpha)


class MPCU(Smoothing):
    """MHPC with the weight 1 for every label: plain Euclidean distance in eq. 7.

    Shows what the support, and with it the hierarchy, contributes. Costs as much as MHPC.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.MPCU(lam=1)).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "mpc-u"
    summary: ClassVar[str] = "mhpc with a uniform support vector"
    reference: ClassVar[str] = PAPER

    def support(self, partitions: PanelPartitions) -> FloatArray:
        """Return ones."""
        return np.ones(len(partitions.taxonomy))


class LocalMHPC(MHPC):
    """MHPC beyond the paper: a local graph, and smoothing that gives way to evidence.

    Every instance is joined to its nearest neighbours only, and sigma is their mean distance. An
    instance holds on to its answers by their number; answers are weighted by the estimated
    reliability of their sources; labels that sources left open are filled in by their popularity.
    One solve. The defaults are those that `auto` tries; `as_mhpc` starts from the paper's instead.

    Examples
    --------
    >>> LocalMHPC(lam=50).n_neighbors
    30
    """

    name: ClassVar[str] = "mhpc-local"
    summary: ClassVar[str] = "mhpc over nearest neighbours, with source weights and filling"
    reference: ClassVar[str] = "this package: docs/methods/mhpc-local.md"

    lam: Annotated[float, Field(ge=0)] = 5.0
    """How strongly similar instances are drawn together, against one answer; 0 is averaging."""

    sigma: Annotated[float, Field(gt=0)] | None = None
    """The distance at which similarity has fallen to 1/e; none: the mean distance to the 15
    nearest instances."""

    votes: VotesKind | Literal["each"] = "each"
    """What is smoothed: the labels as they were given, or with all their ancestors. each: as given
    for `specific`, with ancestors for `score`."""

    max_iter: Annotated[int, Field(ge=0, le=MAX_ITER)] = 0
    """The largest number of iterations after the first solve; 0: one solve."""

    n_neighbors: Annotated[int, Field(ge=1, le=MAX_INSTANCES)] | None = 30
    """How many nearest instances each instance is joined to; none: all, as in the paper."""

    label_weights: Literal["uniform", "support"] = "uniform"
    """Weigh all labels equally in a distance, as MPC-U does, or by their support, as MHPC does."""

    anchor_weight: AnchorWeight = "answers"
    """answers: an instance holds on to its answers by their number, so that smoothing gives way as
    evidence grows. none: equally however many there are, as in the paper."""

    fill_strength: Annotated[float, Field(ge=0, le=MAX_ANSWERS)] = 0.3
    """How many answers the popularity of a label below its parent is worth, for the labels that
    sources left open; 0: nothing is filled in, as in the paper. Needs votes with ancestors."""

    source_weights: SourceWeighting = "learned"
    """Weigh all sources equally, as in the paper, or by estimated reliability, with correlated
    sources sharing one weight."""

    solver: Solver = "auto"
    """exact: all instances in one graph, iterated. graph: `landmarks` of them, each joined to its
    `n_neighbors` nearest (15 unless given), solved once whatever `max_iter` is; every other
    instance is joined to its nearest landmarks. auto: exact up to 10,000 distinct instances that
    fit in memory, else graph."""

    landmarks: Annotated[int, Field(ge=1, le=MAX_INSTANCES)] = 50_000
    """The largest number of instances in the graph if the solver is not exact."""

    @classmethod
    def as_mhpc(cls, **values: Any) -> Self:
        """Return the method with the defaults of `MHPC`: only `values` go beyond the paper."""
        paper = MHPC().model_dump() | {
            "n_neighbors": None, "label_weights": "support", "anchor_weight": "none",
            "fill_strength": 0.0, "source_weights": "equal",
        }  # fmt: skip
        return cls(**(paper | values))

    @classmethod
    def as_published(cls, **values: Any) -> Self:
        """Return the method with every choice as the paper writes it, except for `values`."""
        return cls.as_mhpc(**(MHPC.as_published().model_dump() | values))

    def support(self, partitions: PanelPartitions) -> FloatArray:
        """Return the weight of every label in the distance."""
        if self.label_weights == "uniform":
            return np.ones(len(partitions.taxonomy))
        return super().support(partitions)
