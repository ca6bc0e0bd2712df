"""Random panels: every method gives finite numbers, and all solvers the same ones.

python -m stress.numerics [--seconds 40] [--seed 0]

Panels are generated until the time is up: up to 30 labels with several parents, up to 9 sources,
label sets and scores down to denormal numbers, with and without scopes. The scores of every method,
its source profiles and expected gains must be finite, and its label sets closed under ancestors.
Then graphs of 300 vertices that are nearly disconnected, isolated, chained or weighted from 1e-12
to 1 are solved by Cholesky and by conjugate gradients.
"""

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy import sparse

import mhpc
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Scope
from mhpc.errors import ConvergenceWarning
from mhpc.methods.base import Method
from mhpc.methods.mhpc.knn import local_graph, solve_on_graph
from mhpc.numerics.arrays import FloatArray, Sparse
from tests.contracts.test_numerics import METHODS, assert_sound
from tests.fixtures.build import Row, votes_of

SCORES = (1.0, 1.0, 1.0, 0.5, 0.1, 0.0, 1e-9, 1e-160, 1e-320, 5e-324)
LAMBDAS = (0.0, 10.0, 1e4, 1e8, 1e300)


def main() -> None:
    """Consolidate random panels, compare the solvers, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts, failed = consolidate_random_panels(options.seconds, np.random.default_rng(options.seed))
    print(
        f"{counts['panels']} panels, {counts['runs']} consolidations by {len(METHODS)} methods "
        f"and variants: {len(failed)} with problems"
    )
    print(*failed[:10], sep="\n", end="\n" if failed else "")
    for name, differences in compare_solvers(np.random.default_rng(options.seed)):
        converged = [difference for difference in differences if difference is not None]
        not_converged = [
            f"{lam:g}"
            for lam, difference in zip(LAMBDAS, differences, strict=True)
            if difference is None
        ]
        note = f"; conjugate gradients report no convergence at lambda = {', '.join(not_converged)}"
        print(
            f"{name}: Cholesky and conjugate gradients differ by {max(converged):.1e} of "
            f"the largest value"
            f"{note if not_converged else ''}"
        )
    if failed:
        raise SystemExit(1)


def consolidate_random_panels(
    seconds: float, rng: np.random.Generator
) -> tuple[Counter[str], list[str]]:
    """Consolidate random panels until the time is up; return counts and failures."""
    end, counts, failed = time.monotonic() + seconds, Counter[str](), list[str]()
    while time.monotonic() < end:
        counts["panels"] += 1
        taxonomy = _taxonomy(rng)
        rows, scope = _rows(rng, taxonomy), "all" if rng.random() < 0.6 else "used"
        for name, method in METHODS.items():
            # auto selects one of the others, which takes as long as all of them.
            if name == "auto" and counts["panels"] % 5:
                continue
            counts["runs"] += 1
            why = _find_problem(method, rows, taxonomy, scope)
            failed += [f"{name}: {why} on {rows}, {scope}"] if why else []
    return counts, failed


def _find_problem(method: Method, rows: list[Row], taxonomy: Taxonomy, scope: str) -> str:
    """Return what is wrong with the result of a method, or an empty string."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            votes = votes_of(rows, scope=_scope(scope))
            assert_sound(mhpc.consolidate(votes, taxonomy, method=method))
        except Exception as error:  # noqa: BLE001 - every error counts
            return f"{type(error).__name__} {error}".replace("\n", " ")
    return ""


def _scope(name: str) -> Scope:
    return "all" if name == "all" else "used"


def _taxonomy(rng: np.random.Generator) -> Taxonomy:
    labels = [f"k{k}" for k in range(rng.integers(1, 31))]
    max_parents = int(rng.integers(1, 4))
    edges = [
        (labels[k], labels[parent])
        for k in range(1, len(labels))
        for parent in rng.choice(
            k, size=min(k, int(rng.integers(0, max_parents + 1))), replace=False
        )
    ]
    return build_taxonomy(labels, edges)


def _rows(rng: np.random.Generator, taxonomy: Taxonomy) -> list[Row]:
    scored, asked, max_labels = rng.random() < 0.4, rng.random(), int(rng.integers(1, 5))
    rows: list[Row] = [("x0", "s0", None)]
    for i in range(1, int(rng.integers(2, 20))):
        for s in range(int(rng.integers(1, 10))):
            if rng.random() > asked:
                continue
            labels = rng.choice(
                len(taxonomy), size=min(len(taxonomy), int(rng.integers(max_labels + 1)))
            )
            score = rng.choice(SCORES, size=len(labels)) if scored else np.ones(len(labels))
            rows += [
                (f"x{i}", f"s{s}", taxonomy.labels[k], float(x))
                for k, x in zip(labels, score, strict=True)
            ] or [(f"x{i}", f"s{s}", None)]
    return list({row[:3]: row for row in rows}.values())


def compare_solvers(rng: np.random.Generator) -> Iterator[tuple[str, list[float | None]]]:
    """Yield how far the two solvers differ on every kind of graph, for every lambda."""
    for name, W in _graphs(rng):
        V = W.shape[0]
        counts = 10.0 ** rng.integers(0, 4, V)
        B = (rng.random((V, 4)) < 0.3) * np.sqrt(counts)[:, None]
        yield name, [_difference(W, B, counts, lam) for lam in LAMBDAS]


def _difference(W: Sparse, B: FloatArray, counts: FloatArray, lam: float) -> float | None:
    """Return how far the solvers differ; None if conjugate gradients do not converge."""
    ones = np.ones(len(B))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solutions = [
            solve_on_graph(W, B, counts=counts, evidence=ones, lam=lam, max_factored=limit)
            for limit in (len(counts), 0)
        ]
    if not solutions[1].converged:
        return None
    return float(np.abs(solutions[0].values - solutions[1].values).max() / np.abs(B).max())


def _graphs(rng: np.random.Generator, vertices: int = 300) -> Iterator[tuple[str, Sparse]]:
    X = rng.random((vertices, 3))
    knn, _ = local_graph(X, n_neighbors=10, sigma=0.3)
    yield "nearest neighbours", knn
    two = np.vstack([X, X + 5.0])
    yield "nearly disconnected", local_graph(two, n_neighbors=vertices + 2, sigma=0.3)[0]
    kept = sparse.diags_array((np.arange(vertices) >= 5).astype(float), format="csr")
    isolated = sparse.diags_array((np.arange(vertices) < 5).astype(float), format="csr")
    yield "isolated vertices", (kept @ knn @ kept + isolated).tocsr()
    side = np.full(vertices - 1, 0.9)
    chain = sparse.diags_array([side, np.ones(vertices), side], offsets=[-1, 0, 1])
    yield "a chain", chain.tocsr()
    spread = 10.0 ** rng.uniform(-12, 0, (vertices, vertices))
    spread = np.maximum(spread, spread.T)
    np.fill_diagonal(spread, 1.0)
    yield "weights from 1e-12 to 1", sparse.csr_array(spread)


if __name__ == "__main__":
    main()
