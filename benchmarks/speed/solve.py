"""Four dense solves, compared with the plain reference implementation and with bare products.

python -m benchmarks.speed.solve
python -m benchmarks.speed.solve --instances 10000

With --instances, as many generated instances are fitted, and compared with bare products alone: the
reference would take hours.
"""

import argparse
import statistics
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dgemm

import mhpc
from benchmarks.data import cellcycle
from benchmarks.environment import Ratio, interleave, met_or_missed, ratio, write_result
from benchmarks.speed.generate import generate
from mhpc.data.panel import Panel, SinglePartition
from mhpc.errors import ConvergenceWarning
from mhpc.methods.mhpc.algorithm import reference_mhpc
from mhpc.numerics.arrays import FloatArray, dense

SOURCES, SOLVES, REPEATS = 4, 4, 7
LAM, SIGMA = 10.0, 0.3

FAST, REFERENCE = "mhpc", "reference_mhpc"
BARE, BARE_ONE_BLAS = "bare products and factors", "the same, scipy's BLAS alone"

TIMES_FASTER = 5.0
"""How many times faster than the reference the fast implementation should be."""
TIMES_BARE = 2.0
"""How many times longer than bare products and factors it may take."""
LARGE_SOLVES, LARGE_REPEATS = 2, 3
TIMES_BARE_LARGE = 1.3
"""How many times longer than bare products and factors it may take with 10,000 instances."""
PAUSE = 0.3
"""Seconds before every run, for threads of the previous one to fall asleep."""
AGREEMENT = 1e-8
"""The largest difference allowed between its scores and those of the reference."""


def main() -> None:
    """Measure the paper's data, or as many generated instances as are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, help="generate and fit so many instances")
    instances = parser.parse_args().instances
    # With tol = 0 every iteration is done, and none can converge.
    warnings.simplefilter("ignore", ConvergenceWarning)
    if instances is None:
        measure_paper()
    else:
        measure_generated(instances)


def measure_generated(instances: int) -> None:
    """Time the fit of generated instances and bare products and factors of the same size."""
    with tempfile.TemporaryDirectory() as name:
        generate(Path(name), instances=instances)
        votes, taxonomy = Path(name, "votes.parquet"), Path(name, "taxonomy.csv")
        panel = mhpc.encode(mhpc.read_votes(votes), mhpc.read_taxonomy(taxonomy))
    method = mhpc.MHPC(lam=LAM, sigma=SIGMA, tol=0, max_iter=LARGE_SOLVES - 1)
    fitted = method.fit(SinglePartition(panel), max_exact=instances)
    distinct = fitted.extension.solved
    A = distinct @ distinct.T + len(distinct) * np.eye(len(distinct))
    functions: dict[str, Callable[[], object]] = {
        FAST: lambda: method.fit(SinglePartition(panel), max_exact=instances),
        BARE_ONE_BLAS: partial(
            _bare, lambda: dgemm(1.0, distinct.T, distinct.T, trans_a=1), A, distinct, LARGE_SOLVES
        ),
    }
    seconds = interleave(functions, repeats=LARGE_REPEATS, pause=PAUSE)
    times = ratio(seconds[FAST], seconds[BARE_ONE_BLAS])
    print(f"{LARGE_SOLVES} solves of {distinct.shape}, {panel}\n")
    for name, each in seconds.items():
        print(f"  {name:33} {statistics.median(each):6.2f} ({min(each):.2f} .. {max(each):.2f})")
    met = met_or_missed(times.median <= TIMES_BARE_LARGE)
    print(f"  {'mhpc / bare':33} {times!s:>24}  <= {TIMES_BARE_LARGE:g} {met}")
    result = {"shape": distinct.shape, "seconds": seconds, "ratio": asdict(times)}
    write_result("speed_solve_large", {**result, "target": TIMES_BARE_LARGE})


def measure_paper() -> None:
    """Time both, compare their scores, print and write the figures."""
    data, origin = cellcycle(SOURCES, seed=0)
    panel = mhpc.encode(data.votes, data.taxonomy)
    fast, reference = implementations(panel)
    difference = float(np.abs(fast() - reference()).max())
    functions = {FAST: fast, REFERENCE: reference, **lower_bounds(panel)}
    seconds = interleave(functions, repeats=REPEATS, pause=PAUSE)
    ratios = {
        "reference / mhpc": ratio(seconds[REFERENCE], seconds[FAST]),
        "mhpc / bare": ratio(seconds[FAST], seconds[BARE]),
        "mhpc / bare, scipy's BLAS alone": ratio(seconds[FAST], seconds[BARE_ONE_BLAS]),
    }
    print(f"{SOLVES} solves, {panel}: {origin}\n")
    report(seconds, ratios, difference)
    result = {"data": origin, "seconds": seconds, "difference": difference}
    result["ratios"] = {name: asdict(times) for name, times in ratios.items()}
    result["targets"] = {"faster": TIMES_FASTER, "bare": TIMES_BARE, "difference": AGREEMENT}
    write_result("speed_solve", result)


def implementations(panel: Panel) -> tuple[Callable[[], FloatArray], Callable[[], FloatArray]]:
    """Return the fast and the reference implementation, with the same parameters."""
    method = mhpc.MHPC(lam=LAM, sigma=SIGMA, tol=0, max_iter=SOLVES - 1)
    return (
        lambda: dense(method.consolidate(panel).score),
        lambda: reference_mhpc(panel, lam=LAM, sigma=SIGMA, max_iter=SOLVES - 1)[-1],
    )


def lower_bounds(panel: Panel) -> dict[str, Callable[[], None]]:
    """Return the products and factors that every dense solver needs, by two libraries.

    NumPy and SciPy have a BLAS each, and the threads of the one that was just used wait on the
    cores that the other needs: using both is the usual way, using one is faster.
    """
    X = dense(panel.mean("raw", "answers"))
    A = X @ X.T + len(X) * np.eye(len(X))  # any positive definite matrix
    return {
        BARE: partial(_bare, lambda: X @ X.T, A, X),
        BARE_ONE_BLAS: partial(_bare, lambda: dgemm(1.0, X.T, X.T, trans_a=1), A, X),
    }


def _bare(
    product: Callable[[], object], A: FloatArray, B: FloatArray, solves: int = SOLVES
) -> None:
    for _ in range(solves):
        product()
        cho_solve(cho_factor(A, check_finite=False), B, check_finite=False)


def report(
    seconds: Mapping[str, list[float]], ratios: Mapping[str, Ratio], difference: float
) -> None:
    """Print times, ratios and whether the targets are met."""
    faster, bare, one_blas = ratios.values()
    targets = (
        f">= {TIMES_FASTER:g} {met_or_missed(faster.median >= TIMES_FASTER)}",
        f"<= {TIMES_BARE:g} {met_or_missed(bare.median <= TIMES_BARE)}",
        f"<= {TIMES_BARE:g} {met_or_missed(one_blas.median <= TIMES_BARE)}",
    )
    print(f"seconds, median of {REPEATS} (least .. most)")
    for name, times in seconds.items():
        spread = f"({min(times):.2f} .. {max(times):.2f})"
        print(f"  {name:33} {statistics.median(times):5.2f} {spread}")
    print("ratio, median of rounds (least .. most), and target")
    for (name, each), target in zip(ratios.items(), targets, strict=True):
        print(f"  {name:33} {each!s:>24}  {target}")
    agreement = f"<= {AGREEMENT:g} {met_or_missed(difference <= AGREEMENT)}"
    print(f"  {'largest difference of scores':33} {difference:24.1e}  {agreement}")


if __name__ == "__main__":
    main()
