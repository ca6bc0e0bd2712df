"""The exact solver: all instances in one graph, iterated, as in the paper."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.scores import Step
from mhpc.methods.mhpc.algorithm import DenseSmoother, Iterate, Smoother, iterate_mhpc
from mhpc.methods.mhpc.fitted import (
    Extension,
    FittedMHPC,
    GraphInput,
    GraphSettings,
    InstanceRows,
    Vertices,
    distinct_vertices,
)
from mhpc.methods.mhpc.knn import KnnSmoother
from mhpc.numerics.arrays import FloatArray, IntArray, dense
from mhpc.numerics.neighbors import Landmarks
from mhpc.system.display import Progress, silent


def fit_exact(
    panel: Panel, support: FloatArray, settings: GraphSettings, *, progress: Progress = silent
) -> FittedMHPC:
    """Solve until the iteration ends; the parameters are those of `iterate_exact`."""
    graph = _read_graph(panel, support, settings)
    trace: tuple[Step, ...] = ()
    for iterate in graph.iterate(progress):
        trace = (*trace, iterate.step)
    return graph.fitted(iterate, trace)


def iterate_exact(
    panel: Panel, support: FloatArray, settings: GraphSettings, *, progress: Progress = silent
) -> Iterator[FittedMHPC]:
    """Yield the fitted model after every solve; the last one is the result.

    Parameters
    ----------
    panel : Panel
        All answers.
    support : float array, (K,)
        Weight of each label in the distance.
    settings : GraphSettings
        The parameters of the method.
    progress : callable
        Called after every solve.
    """
    graph = _read_graph(panel, support, settings)
    trace: tuple[Step, ...] = ()
    for iterate in graph.iterate(progress):
        trace = (*trace, iterate.step)
        yield graph.fitted(iterate, trace)


def make_smoother(lam: float, sigma: float | None, n_neighbors: int | None = None) -> Smoother:
    """Return the solver of the dense graph, as in the paper, or of the nearest neighbours'."""
    if n_neighbors is None:
        return DenseSmoother(lam, sigma)
    return KnnSmoother(lam, sigma, n_neighbors)


@dataclass(frozen=True, eq=False)
class _ExactGraph:
    """The vertices of a panel, and everything that is the same in all iterations."""

    settings: GraphSettings
    inputs: GraphInput
    used: IntArray
    vertices: Vertices
    disagreement: float
    popularity: FloatArray
    total: float

    def iterate(self, progress: Progress) -> Iterator[Iterate]:
        settings, K = self.settings, len(self.used)
        values = dense(self.vertices.rows.values)
        return iterate_mhpc(
            values[:, :K],
            values[:, K:] if self.inputs.smooth_compared else None,
            self.inputs.support[self.used],
            smoother=make_smoother(settings.lam, settings.sigma, settings.n_neighbors),
            anchor=settings.anchor,
            tol=settings.tol,
            max_iter=settings.max_iter,
            counts=self.vertices.counts,
            evidence=self.vertices.rows.evidence,
            disagreement=self.disagreement,
            progress=progress,
        )

    def fitted(self, iterate: Iterate, trace: tuple[Step, ...]) -> FittedMHPC:
        settings, solution = self.settings, iterate.solution
        scale = np.sqrt(self.inputs.support[self.used])
        extension = Extension(
            landmarks=Landmarks(sparse.csr_array(iterate.graph * scale)),
            solved=np.ascontiguousarray(solution.values),
            counts=self.vertices.counts,
            degree=solution.degree,
            digests=self.vertices.digests,
            n_neighbors=settings.n_neighbors,
            sigma=solution.sigma,
            lam=settings.lam,
            anchor=settings.anchor,
            iterations=len(trace) - 1,
            scale=scale,
        )
        return FittedMHPC(
            inputs=self.inputs,
            used=self.used,
            extension=extension,
            both_views=settings.both_views,
            popularity=self.popularity,
            total=self.total,
            fill_strength=settings.fill_strength,
            trace=trace,
            # A single solve that was asked for (max_iter=0) is a closed form: it is complete.
            converged=settings.max_iter == 0 or iterate.step.change <= settings.tol,
        )


def _read_graph(panel: Panel, support: FloatArray, settings: GraphSettings) -> _ExactGraph:
    inputs = settings.read(SinglePartition(panel), support, exact=True)
    panel = inputs.weigh(panel)
    answered = np.flatnonzero(panel.answers_per_instance > 0)
    used = np.flatnonzero(panel.occurrences > 0)
    rows = inputs.rows(panel, answered, used)
    by_sources = settings.average == "all-sources"
    return _ExactGraph(
        settings=settings,
        inputs=inputs,
        used=used,
        vertices=distinct_vertices(rows),
        disagreement=_disagreement(panel, rows, answered, len(used), settings),
        popularity=panel.popularity,
        total=float(len(answered) if by_sources else panel.evidence[answered].sum()),
    )


def _disagreement(
    panel: Panel, rows: InstanceRows, answered: IntArray, n_used: int, settings: GraphSettings
) -> float:
    """Return the first term of eq. 1 at Y = Y_bar: mean squares less squared means."""
    votes, Y_bar = panel.votes(settings.smoothed), rows.values[:, :n_used]
    squares = panel.average_answers(votes.multiply(votes).tocsr(), settings.average)[answered]
    scatter = np.asarray(squares.sum(axis=1) - Y_bar.multiply(Y_bar).sum(axis=1)).ravel()
    return float(rows.evidence @ scatter)
