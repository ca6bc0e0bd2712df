"""The paper's algorithm, from top to bottom, in the paper's letters.

========================  =====================================================================
equations                 function
========================  =====================================================================
all, plainly              `reference_mhpc`: dense, slow and short; the tested twin of the rest
8 to 10: support S        `label_support`, `clopper_pearson_lower`
7: similarity W           `similarity`
3: normalised Laplacian   `degrees`, `closed_form_matrix`
6: closed form            `closed_form_matrix`, `DenseSmoother.solve`
11 to 13: two phases      `iterate_mhpc`
1 and 2: the cost         `consensus_cost`
========================  =====================================================================

Y_bar: mean label matrix. Y: consolidated label matrix. X: what similarity is estimated on, Y
itself in the paper. S: support of the labels. W: similarity. D: degrees. L: Laplacian.

One thing makes the fast path differ from the reference. Equal instances have similarity 1 to
each other and the same row of W, so that their solution is the same: they become one vertex of
the graph, and `counts` says how many instances it stands for. That is exact, and it avoids the
distance between equal rows, of which cancellation would leave 1e-8 instead of 0.
"""

import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.special import betaincinv

from mhpc.data.panel import Average, Panel, PanelPartitions, VotesKind
from mhpc.data.scores import Step
from mhpc.numerics.arrays import FloatArray, dense, ratio
from mhpc.numerics.cholesky import (
    BLOCK_ROWS,
    fill_lower_gram,
    solve_positive_definite,
)
from mhpc.numerics.neighbors import MIN_SIGMA, estimate_sigma
from mhpc.numerics.sparse import row_blocks
from mhpc.system.blas import single_threaded_blas
from mhpc.system.display import Progress, silent
from mhpc.system.parallel import parallel_map

Anchor: TypeAlias = Literal["previous", "mean"]

MAX_LAM = 1e8
"""Larger values of lambda count as this one. The larger lambda is, the worse the matrix is
conditioned: here rounding errors are 1e-8 of the solution, and joined instances are that close."""

MAX_DIRECT = 768
"""Vertices up to which products and factors are not divided into blocks for threads."""

STRIP_ROWS = 128
"""Rows of W that are worked on at once: few enough to stay in the processor's cache."""


# ---- The whole algorithm, plainly -------------------------------------------------------------


def reference_mhpc(
    panel: Panel,
    *,
    lam: float = 10.0,
    sigma: float = 0.3,
    alpha: float = 0.05,
    votes: VotesKind = "raw",
    graph: VotesKind | None = None,
    average: Average = "answers",
    anchor: Anchor = "mean",
    max_iter: int = 0,
) -> list[FloatArray]:
    """Return Y after every solve, computed as the paper's text reads; every instance is answered.

    For readers and tests: it stores M x N x K votes and inverts an N x N matrix. `mhpc.MHPC` with
    the same parameters gives the same numbers.
    """
    from scipy.spatial.distance import cdist

    by_source = {kind: source_matrices(panel, kind) for kind in ("raw", "augmented")}
    answers = panel.answers_per_instance[:, None] if average == "answers" else len(panel.sources)
    Y_bar = by_source[votes].sum(axis=0) / answers
    X_bar = by_source[graph or votes].sum(axis=0) / answers
    C = by_source["augmented"].sum(axis=(0, 1))  # eq. 8
    trials = len(panel.instance)
    S = np.nan_to_num(betaincinv(C, trials - C + 1, alpha / 2))  # eqs. 9 and 10
    Y, X, solutions = Y_bar, X_bar, []
    for _ in range(max_iter + 1):
        W = np.exp(-cdist(X, X, "euclidean", w=S) / sigma)  # eqs. 7 and 12
        D, D_root = np.diag(W.sum(axis=1)), np.diag(W.sum(axis=1) ** -0.5)
        L = D_root @ (D - W) @ D_root  # eq. 3
        inverse = np.linalg.inv(np.eye(len(W)) + lam * L)
        Y = inverse @ (Y_bar if anchor == "mean" else Y)  # eqs. 6 and 13
        X = Y if graph is None else inverse @ (X_bar if anchor == "mean" else X)
        solutions.append(Y)
    return solutions


def source_matrices(panel: Panel, votes: VotesKind) -> FloatArray:
    """Return the label matrix of every source, (M, N, K), the paper's input; 0: no vote."""
    matrices = np.zeros((len(panel.sources), len(panel.instances), len(panel.taxonomy)))
    matrices[panel.source, panel.instance] = dense(panel.votes(votes))
    return matrices


# ---- Equations 8 to 10: the support of labels ------------------------------------------------


def label_support(partitions: PanelPartitions, *, alpha: float) -> FloatArray:
    """Return the support S of every label (eqs. 8 to 10), (K,).

    The paper writes Beta(C_k, N - C_k + 1) with C_k counted over all sources, which has no
    quantile once C_k exceeds N. The trials are therefore the augmented label vectors that were
    counted: one per answer of a source that can give the label.
    """
    occurrences, trials = partitions.sum(count_occurrences)
    return clopper_pearson_lower(occurrences, trials, alpha=alpha)


def count_occurrences(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return C, how often each label occurs (eq. 8), and the trials, (K,) each."""
    return panel.occurrences, panel.answers_per_label


def clopper_pearson_lower(
    occurrences: FloatArray, trials: FloatArray, *, alpha: float
) -> FloatArray:
    """Return the lower Clopper-Pearson bound S_k = B(alpha/2; C_k, n_k - C_k + 1) (eq. 10).

    Parameters
    ----------
    occurrences : float array, (K,)
        C_k, how often a label occurs (eq. 8); fractional if votes have scores.
    trials : float array, (K,)
        n_k, how many answers could contain the label.
    alpha : float
        Significance level (eq. 9).

    Returns
    -------
    float array, (K,)
        0 for a label that never occurs.

    Examples
    --------
    >>> clopper_pearson_lower(np.array([0.0, 5.0]), np.array([10.0, 10.0]), alpha=0.05).round(3)
    array([0.   , 0.187])
    """
    occurs = occurrences > 0
    # The placeholder 1 keeps the quantile defined for labels that never occur.
    C = np.where(occurs, occurrences, 1.0)
    return np.where(occurs, betaincinv(C, np.maximum(trials - C, 0.0) + 1.0, alpha / 2), 0.0)


# ---- Equation 7: similarity --------------------------------------------------------------------


def similarity(
    X: FloatArray,
    S: FloatArray,
    *,
    sigma: float,
    block_rows: int = BLOCK_ROWS,
    strip_rows: int = STRIP_ROWS,
    max_direct: int = MAX_DIRECT,
) -> FloatArray:
    """Return W_ij = exp(-d_ij / sigma), d the Euclidean distance weighted by S (eq. 7).

    Parameters
    ----------
    X : float array, (V, K)
        Label vectors. They should be distinct, since the distance of equal rows is only accurate
        to the root of the machine precision.
    S : float array, (K,)
        Weights of the labels, not negative.
    sigma : float
        The distance at which similarity has fallen to 1/e.
    block_rows : int
        Rows that a thread computes; always the same, so that the sums are too.
    strip_rows : int
        Rows of a block that are worked on at once.
    max_direct : int
        Rows up to which there is one block.

    Returns
    -------
    float array, (V, V), C order
        W in the lower triangle, with W_ii = 1; the cells above the diagonal have no meaning.
        Costs V * V * K / 2 multiplications and V * V / 2 exponentials.
    """
    X = weight_columns(X, S)
    norms, scale = np.einsum("ij,ij->i", X, X), -1.0 / max(sigma, MIN_SIGMA)
    W = np.zeros((len(X), len(X)))

    def fill(rows: slice) -> None:
        fill_lower_gram(W, X, rows, scale=-2.0)
        for first in range(rows.start, rows.stop, strip_rows):
            last = min(first + strip_rows, rows.stop)
            strip = W[first:last, :last]
            strip += norms[first:last, None]
            strip += norms[:last]
            np.maximum(strip, 0.0, out=strip)
            np.sqrt(strip, out=strip)
            strip *= scale
            np.exp(strip, out=strip)

    if len(X) <= max_direct:
        fill(slice(0, len(X)))
    else:
        # Threads of BLAS would compete with these. The last rows are the longest, and come first.
        with single_threaded_blas():
            for _ in parallel_map(fill, list(row_blocks(len(X), 1, block_rows))[::-1]):
                pass
    np.fill_diagonal(W, 1.0)
    return W


def weight_columns(X: FloatArray, S: FloatArray) -> FloatArray:
    """Return X scaled so that its Euclidean distances are those of X weighted by S."""
    weighted = S > 0
    if not weighted.all():
        X, S = X[:, weighted], S[weighted]
    return np.ascontiguousarray(X * np.sqrt(S))


# ---- Equations 3 and 6: the normalised Laplacian and the closed form --------------------------


def degrees(W: FloatArray, counts: FloatArray) -> FloatArray:
    """Return D_ii = sum_j n_j W_ij, (V,), from the lower triangle of W and its diagonal."""
    # BLAS counts columns first: the lower triangle of W is the upper one of its transpose.
    return np.asarray(dsymv(1.0, W.T, counts, lower=0))


def closed_form_matrix(
    W: FloatArray,
    counts: FloatArray,
    *,
    lam: float,
    degree: FloatArray | None = None,
    strip_rows: int = STRIP_ROWS,
) -> FloatArray:
    """Return I + lambda L (eq. 6) with L = D^-1/2 (D - W) D^-1/2 (eq. 3), in the place of W.

    A vertex that stands for n equal instances has the unknown sqrt(n) Y, which keeps the matrix
    symmetric.

    Parameters
    ----------
    W : float array, (V, V), C order
        Similarities in the lower triangle; overwritten.
    counts : float array, (V,)
        n, how many instances each vertex stands for.
    lam : float
        lambda, at most `MAX_LAM`.
    degree : float array, (V,), optional
        What `degrees` returns.
    strip_rows : int
        How many rows are worked on at once.

    Notes
    -----
    An isolated vertex (degree 0) has a zero row in L and keeps its own value.
    """
    D, lam = degrees(W, counts) if degree is None else degree, min(lam, MAX_LAM)
    joined = D > 0
    scale = np.zeros(len(W))
    scale[joined] = np.sqrt(counts[joined] / D[joined])
    for block in row_blocks(len(W), 1, strip_rows):
        strip = W[block, : block.stop]
        strip *= scale[block, None]
        strip *= -lam * scale[: block.stop]
    W[np.diag_indices_from(W)] += 1.0 + lam * joined
    return W


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of one solve, and what it takes to add an instance to it.

    Attributes
    ----------
    values : float array, (V, columns)
        The solution.
    degree : float array, (V,)
        D of the graph it was solved on.
    sigma : float
        The sigma of that graph, if it was estimated or chosen here.
    steps : int
        The largest number of conjugate gradient steps of a column; 0: a Cholesky factor.
    residual : float
        The largest residual of a column, relative to its right-hand side.
    converged : bool
        Whether every column was solved.
    """

    values: FloatArray
    degree: FloatArray
    sigma: float = np.nan
    steps: int = 0
    residual: float = 0.0
    converged: bool = True


class Smoother(Protocol):
    """One solve: the similarity of label vectors, and the closed form on its graph."""

    def solve(
        self, X: FloatArray, S: FloatArray, B: FloatArray, counts: FloatArray, evidence: FloatArray
    ) -> Solution:
        """Solve (diag(n) + lambda L) Y = diag(n) B on the graph of X (eq. 6, where n is 1).

        Parameters
        ----------
        X : float array, (V, K)
            What similarity is estimated on.
        S : float array, (K,)
            Weights of the labels in the distance.
        B : float array, (V, columns)
            Right-hand sides.
        counts : float array, (V,)
            How many instances each vertex stands for.
        evidence : float array, (V,)
            n, how strongly each vertex holds on to its own value; 1 in the paper.
        """


@dataclass(frozen=True)
class DenseSmoother:
    """A solve on the paper's graph, in which every vertex is joined to every other one.

    Attributes
    ----------
    lam : float
        lambda of eq. 1, the strength of the smoothing.
    sigma : float or None
        sigma of eq. 7; None: the mean distance to the nearest vertices.
    """

    lam: float
    sigma: float | None

    def solve(
        self, X: FloatArray, S: FloatArray, B: FloatArray, counts: FloatArray, evidence: FloatArray
    ) -> Solution:
        """Solve by a Cholesky factor: V^3 / 3 multiplications and V * V of memory."""
        sigma = estimate_sigma(weight_columns(X, S)) if self.sigma is None else self.sigma
        if not len(X):
            return Solution(B, np.zeros(0), sigma)
        # Threads of BLAS that wait for work would take cores from those that work on blocks.
        with single_threaded_blas() if len(X) > MAX_DIRECT else nullcontext():
            # The only V x V matrix: W, then I + lambda L, then its factor.
            W = similarity(X, S, sigma=sigma)
            degree, root = degrees(W, counts), np.sqrt(counts)[:, None]
            A = closed_form_matrix(W, counts, lam=self.lam, degree=degree)
            A[np.diag_indices_from(A)] += evidence - 1.0
            right = evidence[:, None] * (B * root)
            values = solve_positive_definite(A, right, max_direct=MAX_DIRECT) / root
        return Solution(values, degree, sigma)


# ---- Equations 11 to 13: the two phases ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Iterate:
    """The state after a solve.

    Attributes
    ----------
    solution : Solution
        Of Y, or of Y and X side by side where X is not Y.
    graph : float array, (V, K)
        X, what the similarity of this solve was estimated on.
    step : Step
        What the solve changed.
    """

    solution: Solution
    graph: FloatArray
    step: Step


def iterate_mhpc(
    Y_bar: FloatArray,
    X_bar: FloatArray | None,
    S: FloatArray,
    *,
    smoother: Smoother,
    anchor: Anchor,
    tol: float,
    max_iter: int,
    counts: FloatArray,
    evidence: FloatArray,
    disagreement: float = 0.0,
    progress: Progress = silent,
) -> Iterator[Iterate]:
    """Estimate similarity from the latest solution (eq. 12) and solve again (eq. 13), in turn.

    Parameters
    ----------
    Y_bar : float array, (V, K)
        Mean answers of distinct vertices.
    X_bar : float array, (V, K), or None
        What similarity is estimated on if that is not `Y_bar`; it is smoothed as well.
    S : float array, (K,)
        Weight of each label in the distance.
    smoother : Smoother
        The graph, and how it is solved.
    anchor : "previous" or "mean"
        The right-hand side of each solve: the previous solution, as the paper writes (which
        smooths what is smoothed already), or Y_bar (which converges).
    tol : float
        Stop once the relative change ``|Y - Y_previous| / |Y_previous|`` is no larger.
    max_iter : int
        Iterations after the first solve.
    counts : float array, (V,)
        How many instances each vertex stands for.
    evidence : float array, (V,)
        How strongly each vertex holds on to its own value; 1 in the paper.
    disagreement : float
        The constant part of the cost: the scatter of the votes around Y_bar.
    progress : callable
        Called after every solve.

    Yields
    ------
    Iterate
        After every solve; the last one is the result.
    """
    K = Y_bar.shape[1]
    start = np.asfortranarray(Y_bar if X_bar is None else np.hstack([Y_bar, X_bar]))
    compared = slice(0, K) if X_bar is None else slice(K, None)
    spread_of_votes = _norm(_center(start[:, :K], counts), counts)
    latest = start
    progress("solving", 0, max_iter + 1)
    for iteration in range(max_iter + 1):
        began = time.perf_counter()
        B, graph = start if anchor == "mean" else latest, latest[:, compared]
        solution = smoother.solve(graph, S, B, counts, evidence)
        previous, Y = latest[:, :K], solution.values[:, :K]
        step = Step(
            iteration=iteration,
            change=ratio(_norm(Y - previous, counts), _norm(previous, counts)),
            objective=disagreement
            + consensus_cost(Y, B[:, :K], start[:, :K], weight=counts * evidence),
            spread=ratio(_norm(_center(Y, counts), counts), spread_of_votes),
            seconds=time.perf_counter() - began,
        )
        latest = solution.values
        progress("solving", iteration + 1, max_iter + 1)
        yield Iterate(solution, graph, step)
        if step.change <= tol:
            return


def consensus_cost(Y: FloatArray, B: FloatArray, Y_bar: FloatArray, *, weight: FloatArray) -> float:
    """Return |Y - Y_bar|^2 + lambda tr(Y' L Y), the cost of eq. 2 less a constant.

    Y solves (n + lambda L) Y = n B, so that lambda L Y is n (B - Y) and the trace needs no
    product with L. `weight` is n times the number of instances of each vertex.
    """
    return _norm(Y - Y_bar, weight) ** 2 + float(weight @ np.einsum("ij,ij->i", Y, B - Y))


def _norm(rows: FloatArray, weight: FloatArray) -> float:
    """Return the Frobenius norm, with every row counted as often as it occurs."""
    return float(np.sqrt(weight @ np.einsum("ij,ij->i", rows, rows)))


def _center(Y: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(Y - np.einsum("i,ij->j", weight, Y) / max(float(weight.sum()), 1.0))
