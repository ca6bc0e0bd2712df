"""What a review is worth: F after settling instances in the proposed order, and at random.

python -m benchmarks.quality.review [SET ...] [--settled 40] [--seeds 5] [--all]

Of every set in MHPC_DATA and of the bundled example, some instances are settled: their true labels
are given as gold labels. In the proposed order, they are the first of `mhpc.conflicts`, and all
votes are consolidated again after every tenth. At random, as many are drawn, and twice as many.
Figures are the hierarchical F of all instances with a truth, settled ones included; the last column
is how much the F of the instances that were not settled changes by the review in the proposed
order, with its 95 % interval. Two large sets are left out unless they are named or `--all` is
given.

Prints a table for the docs, and writes benchmarks/results/quality_review.json.
"""

import argparse
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.environment import write_result
from benchmarks.quality.figures import METRICS, interval, resample
from benchmarks.quality.gold import (
    MIN_OTHERS,
    Measured,
    consolidate_with_gold,
    measure_difference,
    read_sets,
)
from mhpc.datasets.garden import Dataset
from mhpc.numerics.arrays import IntArray

BATCH = 10
"""Instances that are settled before the next consolidation."""

RESAMPLES = 1000
"""Bootstrap samples of the instances, for intervals."""


def main() -> None:
    """Measure all sets, print the table and write all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help="sets whose name begins with one")
    parser.add_argument("--settled", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--all", action="store_true", help="slow sets as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, data in read_sets(options.sets, with_slow=options.all):
        row = measure_review(name, data, n_settled=options.settled, seeds=options.seeds)
        if row is not None:
            rows.append(row)
            print(_format_row(row), flush=True)
    print(f"\n{render_table(rows, options.settled)}")
    write_result("quality_review", {"settled": options.settled, "rows": rows})


def measure_review(
    name: str, data: Dataset, *, n_settled: int, seeds: int
) -> dict[str, Any] | None:
    """Return the F of a set after each kind of review; None if it is too small."""
    without = consolidate_with_gold(data, None, top=len(data.truth.instances))
    if len(without.instances) < 2 * n_settled + MIN_OTHERS:
        return None
    settled, reviewed = settle_in_order(data, without, n_settled)
    return {
        "set": name,
        "before": _f(without),
        "proposed": _f(reviewed),
        **{
            f"random_{n}": float(np.mean([_f(_settle_at_random(data, without, n, seed))[0]
                                          for seed in range(seeds)]))
            for n in (n_settled, 2 * n_settled)
        },
        "others": measure_difference(without, reviewed, settled, n_resamples=RESAMPLES)[
            "hierarchical_f"
        ],
    }  # fmt: skip


def settle_in_order(data: Dataset, without: Measured, n_settled: int) -> tuple[IntArray, Measured]:
    """Settle the first instances of the proposed order, which adapts to what was settled."""
    settled, current = np.zeros(0, dtype=np.int64), without
    while len(settled) < n_settled:
        order = current.review_order
        first = order[~np.isin(order, settled) & np.isin(order, without.instances)]
        if not len(first):
            break
        settled = np.append(settled, first[: min(BATCH, n_settled - len(settled))])
        current = consolidate_with_gold(data, np.sort(settled), top=len(data.truth.instances))
    return settled, current


def _settle_at_random(data: Dataset, without: Measured, n: int, seed: int) -> Measured:
    drawn = np.random.default_rng(seed).permutation(without.instances)[:n]
    return consolidate_with_gold(data, np.sort(drawn))


def _f(measured: Measured) -> tuple[float, float, float]:
    """Return the F of all instances with its 95 % interval."""
    weights = resample(len(measured.instances), RESAMPLES)
    return interval(METRICS["hierarchical_f"](weights, measured.figures))


def render_table(rows: Sequence[dict[str, Any]], n: int) -> str:
    """Return Markdown: one row per set, and the mean."""
    lines = [
        f"| set | F before | {n} settled in the proposed order | {n} at random | {2 * n} at random "
        "| change of the other instances |",
        "|---|---:|---|---:|---:|---|",
    ]
    for row in rows:
        value, low, high = row["proposed"]
        change, least, most = row["others"]
        lines.append(
            f"| {row['set']} | {row['before'][0]:.3f} | {value:.3f} ({low:.3f} to {high:.3f}) "
            f"| {row[f'random_{n}']:.3f} | {row[f'random_{2 * n}']:.3f} "
            f"| {change:+.4f} ({least:+.4f} to {most:+.4f}) |"
        )
    before, proposed, change = (
        float(np.mean([row[key][0] for row in rows])) for key in ("before", "proposed", "others")
    )
    once, twice = (float(np.mean([row[f"random_{m}"] for row in rows])) for m in (n, 2 * n))
    lines.append(
        f"| mean | {before:.3f} | {proposed:.3f} | {once:.3f} | {twice:.3f} | {change:+.4f} |"
    )
    return "\n".join(lines)


def _format_row(row: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value[0] if isinstance(value, tuple | list) else value}"
        for key, value in row.items()
    )


if __name__ == "__main__":
    main()
