"""Ranking metrics beside scikit-learn's: the same numbers, not later.

python -m benchmarks.speed.metrics
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import metrics as sklearn_metrics

import mhpc
from benchmarks.data import cellcycle
from benchmarks.environment import interleave, met_or_missed, ratio, write_result
from mhpc.encoding.gold import encode_truth
from mhpc.metrics.ranking import coverage_error, micro_auc, ranking_loss
from mhpc.numerics.arrays import Matrix, Sparse, dense

REPEATS = 5
AGREEMENT = 1e-12
"""Largest difference allowed from scikit-learn's value."""


@dataclass(frozen=True)
class Pair:
    """One metric, here and there."""

    name: str
    ours: Callable[[Sparse, Matrix], float]
    theirs: Callable[..., float]


PAIRS = (
    Pair("ranking loss", ranking_loss, sklearn_metrics.label_ranking_loss),
    Pair("coverage error", coverage_error, sklearn_metrics.coverage_error),
    Pair("micro-AUC", micro_auc, partial(sklearn_metrics.roc_auc_score, average="micro")),
)


@dataclass(frozen=True, eq=False)
class Case:
    """Scores to measure, in the form in which they come."""

    name: str
    truth: Sparse
    scores: Matrix


def main() -> None:
    """Time, compare, print and write."""
    print(
        f"{'scores':38} {'metric':14} {'ours':>8} {'sklearn':>8} {'sklearn / ours':>22}"
        f" {'difference':>10}"
    )
    rows = [compare(case, pair) for case in cases() for pair in PAIRS]
    write_result("speed_metrics", {"agreement": AGREEMENT, "rows": rows})


def cases() -> Iterator[Case]:
    """Yield a method's dense scores, an average's sparse ones, and many random ones."""
    data, origin = cellcycle(4, seed=0)
    panel = mhpc.encode(data.votes, data.taxonomy)
    truth = encode_truth(data.truth, panel.taxonomy, panel.instances).specific
    yield Case(f"mhpc, {origin}", truth, mhpc.MHPC(max_iter=0).consolidate(panel).specific)
    yield Case(f"sa, {origin}", truth, mhpc.SA().consolidate(panel).specific)
    yield random_case(10_000, 500)


def random_case(instances: int, labels: int) -> Case:
    """Draw scores in twentieths, so that ties are as common as among votes."""
    rng = np.random.default_rng(0)
    shape = (instances, labels)
    scores = sparse.random_array(shape, density=0.05, format="csr", rng=rng)
    scores.data = np.ceil(20 * scores.data) / 20
    truth = sparse.random_array(shape, density=3.2 / labels, format="csr", rng=rng)
    truth.data[:] = 1.0
    return Case(f"random, {instances} x {labels}", truth, scores)


def compare(case: Case, pair: Pair) -> dict[str, Any]:
    """Measure both, each on the form that it takes, and print a line.

    scikit-learn takes dense arrays; making them is not counted.
    """
    ours = partial(pair.ours, case.truth, case.scores)
    theirs = partial(pair.theirs, dense(case.truth), dense(case.scores))
    difference = abs(ours() - theirs())
    seconds = interleave({"ours": ours, "sklearn": theirs}, repeats=REPEATS)
    faster = ratio(seconds["sklearn"], seconds["ours"])
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    print(
        f"{case.name:38} {pair.name:14} {middle['ours']:8.4f} {middle['sklearn']:8.4f} "
        f"{faster!s:>22} {difference:10.1e}  "
        f"{met_or_missed(faster.median >= 1 and difference <= AGREEMENT)}"
    )
    return {
        "scores": case.name,
        "metric": pair.name,
        "seconds": seconds,
        "faster": asdict(faster),
        "difference": difference,
    }


if __name__ == "__main__":
    main()
