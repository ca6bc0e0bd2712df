"""Any answers on any hierarchy: every method gives numbers, and all solvers the same ones.

python -m stress.numerics [--seconds 40] [--seed 0]

Panels are drawn until the time is up: up to 30 labels with several parents, up to 9 sources, sets
and scores down to the least that a number can be, scopes or none. Whatever a method gives, its
label sets, what is told of sources and what one more opinion is worth must be finite, and sets
closed. Then graphs of 300 vertices that are nearly disconnected, isolated, chained, or weighted
from 1e-12 to 1 are solved by a factor and by conjugate gradients.
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
from mhpc.methods.mhpc import knn as local
from mhpc.methods.mhpc.knn import local_similarity, solution_of
from mhpc.numerics.arrays import FloatArray, Sparse
from tests.contracts.test_numerics import METHODS, assert_sound
from tests.fixtures.build import Row, votes_of

SCORES = (1.0, 1.0, 1.0, 0.5, 0.1, 0.0, 1e-9, 1e-160, 1e-320, 5e-324)
LAMBDAS = (0.0, 10.0, 1e4, 1e8, 1e300)


def main() -> None:
    """Draw, consolidate, solve, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tried, failed = consolidated(given.seconds, np.random.default_rng(given.seed))
    print(
        f"{tried['panels']} panels drawn, {tried['runs']} consolidations by {len(METHODS)} methods "
        f"and variants: {len(failed)} not sound"
    )
    print(*failed[:10], sep="\n", end="\n" if failed else "")
    for name, differences in solved(np.random.default_rng(given.seed)):
        settled = [each for each in differences if each is not None]
        unsettled = [
            f"{lam:g}" for lam, each in zip(LAMBDAS, differences, strict=True) if each is None
        ]
        told = f"; steps say that they do not settle at lambda = {', '.join(unsettled)}"
        print(
            f"{name}: a factor and steps differ by {max(settled):.1e} of the largest value"
            f"{told if unsettled else ''}"
        )
    if failed:
        raise SystemExit(1)


def consolidated(seconds: float, rng: np.random.Generator) -> tuple[Counter[str], list[str]]:
    """Consolidate what is drawn until the time is up; return how much that was and what failed."""
    until, tried, failed = time.monotonic() + seconds, Counter[str](), list[str]()
    while time.monotonic() < until:
        tried["panels"] += 1
        taxonomy = _taxonomy(rng)
        rows, scope = _rows(rng, taxonomy), "all" if rng.random() < 0.6 else "used"
        for name, method in METHODS.items():
            # The chosen one is one of the others, and choosing takes as long as all of them.
            if name == "auto" and tried["panels"] % 5:
                continue
            tried["runs"] += 1
            why = _unsound(method, rows, taxonomy, scope)
            failed += [f"{name}: {why} on {rows}, {scope}"] if why else []
    return tried, failed


def _unsound(method: Method, rows: list[Row], taxonomy: Taxonomy, scope: str) -> str:
    """Say what is wrong with what a method concludes; nothing, mostly."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            votes = votes_of(rows, scope=_scope(scope))
            assert_sound(mhpc.consolidate(votes, taxonomy, method=method))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be counted
            return f"{type(error).__name__} {error}".replace("\n", " ")
    return ""


def _scope(name: str) -> Scope:
    return "all" if name == "all" else "used"


def _taxonomy(rng: np.random.Generator) -> Taxonomy:
    labels = [f"k{k}" for k in range(rng.integers(1, 31))]
    several = int(rng.integers(1, 4))
    edges = [
        (labels[k], labels[above])
        for k in range(1, len(labels))
        for above in rng.choice(k, size=min(k, int(rng.integers(0, several + 1))), replace=False)
    ]
    return build_taxonomy(labels, edges)


def _rows(rng: np.random.Generator, taxonomy: Taxonomy) -> list[Row]:
    scored, asked, most = rng.random() < 0.4, rng.random(), int(rng.integers(1, 5))
    rows: list[Row] = [("x0", "s0", None)]
    for i in range(1, int(rng.integers(2, 20))):
        for s in range(int(rng.integers(1, 10))):
            if rng.random() > asked:
                continue
            said = rng.choice(len(taxonomy), size=min(len(taxonomy), int(rng.integers(most + 1))))
            score = rng.choice(SCORES, size=len(said)) if scored else np.ones(len(said))
            rows += [
                (f"x{i}", f"s{s}", taxonomy.labels[k], float(x))
                for k, x in zip(said, score, strict=True)
            ] or [(f"x{i}", f"s{s}", None)]
    return list({row[:3]: row for row in rows}.values())


def solved(rng: np.random.Generator) -> Iterator[tuple[str, list[float | None]]]:
    """Give how far the two ways to solve differ on every kind of graph, for every lambda."""
    for name, W in _graphs(rng):
        V = W.shape[0]
        counts = 10.0 ** rng.integers(0, 4, V)
        B = (rng.random((V, 4)) < 0.3) * np.sqrt(counts)[:, None]
        yield name, [_difference(W, B, counts, lam) for lam in LAMBDAS]


def _difference(W: Sparse, B: FloatArray, counts: FloatArray, lam: float) -> float | None:
    """Return how far they differ; None where steps do not settle, which they say."""
    found, usual = [], local._FACTORED
    for most in (len(counts), 0):
        local._FACTORED = most
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.append(solution_of(W, B, counts=counts, evidence=np.ones(len(B)), lam=lam))
    local._FACTORED = usual
    if not found[1].settled:
        return None
    return float(np.abs(found[0].values - found[1].values).max() / np.abs(B).max())


def _graphs(rng: np.random.Generator, vertices: int = 300) -> Iterator[tuple[str, Sparse]]:
    X = rng.random((vertices, 3))
    near = local_similarity(X, neighbours=10, sigma=0.3)
    yield "nearest neighbours", near
    two = np.vstack([X, X + 5.0])
    yield "nearly disconnected", local_similarity(two, neighbours=vertices + 2, sigma=0.3)
    alone = sparse.diags_array((np.arange(vertices) >= 5).astype(float), format="csr")
    rest = sparse.diags_array((np.arange(vertices) < 5).astype(float), format="csr")
    yield "isolated vertices", (alone @ near @ alone + rest).tocsr()
    side = np.full(vertices - 1, 0.9)
    chain = sparse.diags_array([side, np.ones(vertices), side], offsets=[-1, 0, 1])
    yield "a chain", chain.tocsr()
    spread = 10.0 ** rng.uniform(-12, 0, (vertices, vertices))
    spread = np.maximum(spread, spread.T)
    np.fill_diagonal(spread, 1.0)
    yield "weights from 1e-12 to 1", sparse.csr_array(spread)


if __name__ == "__main__":
    main()
