"""The paper, top to bottom: support (8-10), W (7), L (3), closed form (6), iteration (11-13).

W_ij = exp(-d_ij / sigma) with d_ij the Euclidean distance weighted by the support S; W_ii = 1.

L = D^-1/2 (D - W) D^-1/2. A vertex may stand for n equal instances: they have similarity 1 to
each other and the same row of W, so the solution is the same for all of them and one unknown
is enough. Unknowns Z = sqrt(n) Y keep the reduced matrix symmetric.

Y_bar: mean label matrix. Y: consolidated label matrix. S: support. Each iteration estimates W
from the latest Y (eq. 12) and solves the closed form for a new Y (eq. 13).

C: occurrences, eq. 8. S: support, eq. 10. The paper writes Beta(C_k, N - C_k + 1) with C_k
counted over all sources, which has no quantile once C_k passes N; the trials are the
augmented label vectors that were counted, one an answer.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.special import betaincinv

from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.scores import Step
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.numerics.cholesky import lower_gram, solve_positive_definite
from mhpc.numerics.neighbors import SHORTEST, reach
from mhpc.numerics.sparse import distinct_rows
from mhpc.system.display import Progress, silent

_ROWS = 128
"""Rows of a strip: narrow enough that a strip stays in the cache from sum to exponential."""


def weight_columns(Y: FloatArray, S: FloatArray) -> FloatArray:
    """Return Y scaled so that plain Euclidean distance is the distance weighted by S."""
    used = S > 0
    return np.ascontiguousarray(Y[:, used] * np.sqrt(S[used]))


def similarity(Y: FloatArray, S: FloatArray, *, sigma: float) -> FloatArray:
    """Return W in its lower triangle; what stands above the diagonal is not meaningful.

    Parameters
    ----------
    Y : float array, (N, K)
        Label vectors; rows are expected to be distinct, since the distance of equal rows is
        only accurate to the root of the machine precision.
    S : float array, (K,)
        Weights, not negative.
    sigma : float
        Distance at which similarity has fallen to 1/e.

    Returns
    -------
    float array, (N, N), C order
        N * N * K / 2 multiplications and half as many exponentials as W has entries. The product
        is SciPy's, as the factor is: NumPy has a BLAS of its own, and the threads of two get in
        each other's way.
    """
    X = weight_columns(Y, S)
    norms = np.einsum("ij,ij->i", X, X)
    W = lower_gram(X, scale=-2.0) if X.shape[1] else np.zeros((len(X),) * 2)
    for start in range(0, len(X), _ROWS):
        stop = min(start + _ROWS, len(X))
        strip = W[start:stop, :stop]
        strip += norms[start:stop, None]
        strip += norms[:stop]
        np.maximum(strip, 0.0, out=strip)
        np.sqrt(strip, out=strip)
        strip *= -1.0 / max(sigma, SHORTEST)
        np.exp(strip, out=strip)
    np.fill_diagonal(W, 1.0)
    return W


STRONGEST = 1e8
"""The most that lambda counts as. The matrix is as ill-conditioned as lambda is large: here
rounding is 1e-8 of the solution, and whatever is joined at all is as alike as that."""


def strength(lam: float) -> float:
    """Return what lambda counts as."""
    return min(lam, STRONGEST)


def degrees(W: FloatArray, counts: FloatArray) -> FloatArray:
    """Return D_ii = sum_j n_j W_ij, from the lower triangle of W with its diagonal."""
    # BLAS counts columns first: the lower triangle of W is the upper one of its transpose.
    return np.asarray(dsymv(1.0, W.T, counts, lower=0))


def closed_form_matrix(W: FloatArray, counts: FloatArray, *, lam: float) -> FloatArray:
    """Return I + lambda L in its lower triangle, in the place of W.

    Parameters
    ----------
    W : float array, (V, V), C order
        Similarities in the lower triangle; overwritten.
    counts : float array, (V,)
        n, how many instances each vertex stands for.
    lam : float
        lambda of equation 6, at most `STRONGEST`.

    Notes
    -----
    An isolated vertex (degree 0) has a zero row in L: it keeps its own value.
    """
    D, lam = degrees(W, counts), strength(lam)
    linked = D > 0
    scale = np.zeros(len(W))
    scale[linked] = np.sqrt(counts[linked] / D[linked])
    for start in range(0, len(W), _ROWS):
        stop = min(start + _ROWS, len(W))
        strip = W[start:stop, :stop]
        strip *= scale[start:stop, None]
        strip *= -lam * scale[:stop]
    W[np.diag_indices_from(W)] += 1.0 + lam * linked
    return W


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


def iterate_mhpc(
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


def clopper_pearson_lower(
    occurrences: FloatArray, trials: FloatArray, *, alpha: float
) -> FloatArray:
    """Return the lower Clopper-Pearson bound of each share: S_k = B(alpha/2; C_k, n_k - C_k + 1).

    Parameters
    ----------
    occurrences : float array, (K,)
        C_k, how often a label occurs; fractional when answers carry scores.
    trials : float array, (K,)
        n_k, how many answers could have held it.
    alpha : float
        Significance level.

    Returns
    -------
    float array, (K,)
        0 where a label never occurs.

    Examples
    --------
    >>> clopper_pearson_lower(np.array([0.0, 5.0]), np.array([10.0, 10.0]), alpha=0.05).round(3)
    array([0.   , 0.187])
    """
    occurs = occurrences > 0
    # The placeholder 1 keeps the quantile defined where nothing occurs.
    C = np.where(occurs, occurrences, 1.0)
    return np.where(occurs, betaincinv(C, np.maximum(trials - C, 0.0) + 1.0, alpha / 2), 0.0)


def support_in(parts: PanelPartitions, *, alpha: float) -> FloatArray:
    """Return S, (K,): occurrences among augmented answers, trials one an answer in scope."""
    return clopper_pearson_lower(*parts.sum(_counts), alpha=alpha)


def _counts(panel: Panel) -> tuple[FloatArray, FloatArray]:
    return panel.occurrences, panel.answers_per_label
