"""The two-phase iteration: similarity from the labels, labels from the similarity.

Y_bar: mean label matrix. Y: consolidated label matrix. S: support. Each iteration estimates W
from the latest Y (eq. 12) and solves the closed form for a new Y (eq. 13).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray
from mhpc.core.consolidation import Step
from mhpc.core.progress import Progress, silent
from mhpc.graph.distinct import distinct_rows
from mhpc.graph.laplacian import closed_form_matrix
from mhpc.graph.local import reach
from mhpc.graph.similarity import similarity, weight_columns
from mhpc.graph.solve import solve_positive_definite

Anchor: TypeAlias = Literal["previous", "mean"]


class Smoother(Protocol):
    """One solve: the similarity of label vectors, and the closed form over its graph."""

    def solve(
        self,
        X: FloatArray,
        S: FloatArray,
        B: FloatArray,
        *,
        counts: FloatArray,
        evidence: FloatArray,
    ) -> FloatArray:
        """Return the solution for scaled right-hand sides B on the graph of X."""
        ...


@dataclass(frozen=True, eq=False)
class Iterate:
    """Where the iteration stands: the labels after a solve, and what the solve did.

    Equal label vectors are one vertex: `labels` has a row a vertex, `vertex` says whose it is.
    """

    labels: FloatArray
    alongside: FloatArray
    vertex: IntArray
    step: Step

    @property
    def Y(self) -> FloatArray:  # noqa: N802 - the paper's letter
        """The consolidated label matrix, (N, K)."""
        return np.ascontiguousarray(self.labels)[self.vertex]

    @property
    def graph(self) -> FloatArray:
        """What similarity is estimated on, smoothed alongside; Y itself where that is the same."""
        return np.ascontiguousarray(self.alongside)[self.vertex]


def alternate(
    Y_bar: FloatArray,
    graph: FloatArray | None,
    S: FloatArray,
    *,
    smoother: "Smoother",
    anchor: Anchor,
    tol: float,
    max_iter: int,
    evidence: FloatArray | None = None,
    disagreement: float = 0.0,
    progress: Progress = silent,
) -> Iterator[Iterate]:
    """Smooth label vectors over the graph of their own similarities, solve by solve.

    Parameters
    ----------
    Y_bar : float array, (N, K)
        What is smoothed.
    graph : float array, (N, K), or None
        What similarity is estimated on when that is not `Y_bar`; it is smoothed alongside.
    S : float array, (K,)
        Weight of each column in the distance.
    smoother : Smoother
        Strength and reach of the smoothing, over all instances or the nearest.
    anchor : "previous" or "mean"
        The right-hand side of each solve: the latest result, as the paper writes (which
        smooths again what was smoothed), or Y_bar (which settles).
    tol : float
        Stop once the relative change ``|Y - Y_before| / |Y_before|`` is below it.
    max_iter : int
        Iterations after the first closed-form solve.
    evidence : float array, (N,), or None
        How much each row holds on to its own value; None: 1, as in the paper.
    disagreement : float
        The part of the objective that no Y can change: the votes' scatter around Y_bar.
    progress : callable
        Told after every solve.

    Yields
    ------
    Iterate
        After every solve; the last one is the result.
    """
    # Equal rows are one vertex with a weight, which is exact, and spares the distance between
    # them, where cancellation would leave 1e-8 instead of 0.
    K = Y_bar.shape[1]
    both = Y_bar if graph is None else np.hstack([Y_bar, graph])
    held = np.ones(len(Y_bar)) if evidence is None else evidence
    first, vertex, weight = distinct_rows(np.hstack([both, held[:, None]]))
    start, n = np.asfortranarray(both[first]), held[first]
    compared = slice(0, K) if graph is None else slice(K, None)
    root = np.sqrt(weight)[:, None]
    spread_of_votes = _norm(_centred(start[:, :K], weight), weight)

    latest = start
    progress("solving", 0, max_iter + 1)
    for iteration in range(max_iter + 1):
        began = time.perf_counter()
        B = start if anchor == "mean" else latest
        solved = smoother.solve(latest[:, compared], S, B * root, counts=weight, evidence=n) / root
        before, Y = latest[:, :K], solved[:, :K]
        step = Step(
            iteration=iteration,
            change=_ratio(_norm(Y - before, weight), _norm(before, weight)),
            objective=disagreement + _cost(Y, B[:, :K], start[:, :K], weight * n),
            spread=_ratio(_norm(_centred(Y, weight), weight), spread_of_votes),
            seconds=time.perf_counter() - began,
        )
        latest = solved
        progress("solving", iteration + 1, max_iter + 1)
        yield Iterate(Y, solved[:, compared], vertex, step)
        if step.change <= tol:
            return


@dataclass(frozen=True)
class DenseSmoother:
    """One solve over the paper's graph, in which every vertex is joined to every other.

    Attributes
    ----------
    lam : float
        Strength of the smoothing, lambda of eq. 1.
    sigma : float or None
        Scale of the similarity; None: the mean distance to the nearest vertices.
    """

    lam: float
    sigma: float | None

    def solve(
        self,
        X: FloatArray,
        S: FloatArray,
        B: FloatArray,
        *,
        counts: FloatArray,
        evidence: FloatArray,
    ) -> FloatArray:
        """Return the solution for scaled right-hand sides B on the graph of X."""
        if not len(X):
            return B
        sigma = reach(weight_columns(X, S)) if self.sigma is None else self.sigma
        # The one N x N matrix lives no longer than this.
        W = similarity(X, S, sigma=sigma)
        A = closed_form_matrix(W, counts, lam=self.lam)
        A[np.diag_indices_from(A)] += evidence - 1.0
        return solve_positive_definite(A, evidence[:, None] * B)


def _cost(Y: FloatArray, B: FloatArray, Y_bar: FloatArray, weight: FloatArray) -> float:
    """Return |Y - Y_bar|^2 + lambda tr(Y' L Y), eq. 2 less a constant.

    Y solves (n + lambda L) Y = n B, so lambda L Y is n (B - Y) and the trace needs no product
    with L; `weight` counts rows and holds n.
    """
    return _norm(Y - Y_bar, weight) ** 2 + float(weight @ np.einsum("ij,ij->i", Y, B - Y))


def _norm(rows: FloatArray, weight: FloatArray) -> float:
    """Return the Frobenius norm, every row counted as often as it occurs."""
    return float(np.sqrt(weight @ np.einsum("ij,ij->i", rows, rows)))


def _ratio(part: float, whole: float) -> float:
    """Return how large a part is, 0 where there is nothing to be part of."""
    return part / whole if whole > 0 else 0.0


def _centred(Y: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(Y - np.einsum("i,ij->j", weight, Y) / max(float(weight.sum()), 1.0))
