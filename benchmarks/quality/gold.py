"""What gold labels do to the other instances: accuracy and calibration with them minus without.

python -m benchmarks.quality.gold [SET ...] [--seeds 5] [--all] [--resamples 1000]

Of every set in MHPC_DATA and of the bundled example, 5, 20, 40 and 80 instances get gold labels:
drawn at random, once per seed, or those that `mhpc.conflicts` ranks first. Runs with gold and the
run without it are compared on the same instances, those without gold labels. Intervals are paired
bootstrap intervals over these instances. A set is worse beyond chance if its mean difference over
seeds is worse by more than two standard errors, from the bootstrap and from the seeds together.
Two large sets are left out unless they are named or `--all` is given.

Prints a table for the docs, and writes benchmarks/results/quality_gold.json.
"""

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

import mhpc
from benchmarks.data import NO_DATA, data_folder
from benchmarks.environment import write_result
from benchmarks.quality.figures import METRICS, InstanceFigures, interval, measure, resample
from benchmarks.quality.real import Case, cases
from mhpc.data.index import Index
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import BoolArray, IntArray

COUNTS = (5, 20, 40, 80)
"""Numbers of gold instances."""

SLOW = ("birthplaces", "rare_disease")
"""Sets that are left out by default: every run on them takes minutes."""

MIN_OTHERS = 50
"""Instances with a truth that must remain without gold labels."""

FIGURES: Mapping[str, float] = {
    "hierarchical_f": 1.0,
    "exact_match": 1.0,
    "calibration_error": -1.0,
}
"""The figures that are compared; those with -1 are better if they are lower."""


def main() -> None:
    """Measure all sets, print the table and write all differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help="sets whose name begins with one")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--all", action="store_true", help="slow sets as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, data in read_sets(options.sets, with_slow=options.all):
        for row in compare(name, data, seeds=options.seeds, n_resamples=options.resamples):
            rows.append(row)
            print(_format_row(row), flush=True)
    summary = summarize(rows)
    print(f"\n{render_table(summary)}")
    write_result("quality_gold", {"rows": rows, "summary": summary})


def read_sets(wanted: Sequence[str], *, with_slow: bool) -> Iterator[tuple[str, Dataset]]:
    """Yield the bundled example and, if they are there, the sets of MHPC_DATA."""

    def is_wanted(name: str) -> bool:
        if wanted:
            return name.startswith(tuple(wanted))
        return with_slow or not name.startswith(SLOW)

    if is_wanted("garden"):
        yield "garden", mhpc.load_garden()
    folder = data_folder()
    if folder is None:
        print(f"The other sets are left out: {NO_DATA}")
        return
    for case in cases(folder):
        if is_wanted(case.name):
            yield case.name, _read(case)


def _read(case: Case) -> Dataset:
    return Dataset(
        votes=mhpc.read_votes(case.folder / case.votes),
        taxonomy=mhpc.read_taxonomy(case.folder / "taxonomy.csv"),
        truth=mhpc.read_truth(case.folder / "truth.csv"),
    )


@dataclass(frozen=True, eq=False)
class Measured:
    """The figures of every instance with a truth, and the order in which to review instances."""

    instances: IntArray
    figures: InstanceFigures
    review_order: IntArray


def consolidate_with_gold(data: Dataset, gold: IntArray | None, *, top: int = 0) -> Measured:
    """Consolidate a set with gold labels for some instances of its truth, and measure all.

    Parameters
    ----------
    data : Dataset
        The set.
    gold : int array or None
        The positions of the gold instances in the truth; None for a run without gold.
    top : int
        How many instances to rank for review.
    """
    truth = None if gold is None else select_truth(data.truth, gold)
    result = mhpc.consolidate(data.votes, data.taxonomy, unknown="drop", gold=truth)
    panel = mhpc.encode(data.votes, data.taxonomy, unknown="drop")
    encoded = encode_truth(data.truth, panel.taxonomy, panel.instances, unknown="drop")
    known = [panel.instances[row] for row in encoded.rows]
    ranked = mhpc.conflicts(result, top=top).instances if top else ()
    order = data.truth.instances.locate([conflict.instance for conflict in ranked])
    return Measured(
        instances=data.truth.instances.locate(known),
        figures=measure(result.consolidation.score, result.decision.reason, encoded, panel),
        review_order=order[order >= 0],
    )


def select_truth(truth: mhpc.Truth, instances: IntArray) -> mhpc.Truth:
    """Return the truth of some instances, given by their positions."""
    position = np.full(len(truth.instances), -1)
    position[instances] = np.arange(len(instances))
    kept = position[truth.instance] >= 0
    ids = Index(tuple(truth.instances[i] for i in instances))
    return mhpc.Truth(ids, truth.labels, position[truth.instance[kept]], truth.label[kept])


def compare(name: str, data: Dataset, *, seeds: int, n_resamples: int) -> Iterator[dict[str, Any]]:
    """Yield the differences that gold makes, one row per number, strategy and seed."""
    without = consolidate_with_gold(data, None, top=len(data.truth.instances))
    for k in COUNTS:
        if len(without.instances) < k + MIN_OTHERS:
            continue
        draws = {
            ("random", seed): np.random.default_rng(seed).permutation(without.instances)[:k]
            for seed in range(seeds)
        }
        draws["conflicts", 0] = without.review_order[:k]
        for (strategy, seed), gold in draws.items():
            if len(gold) < k:
                continue
            row = {"set": name, "gold": k, "strategy": strategy, "seed": seed}
            yield row | measure_difference(
                without, consolidate_with_gold(data, np.sort(gold)), gold, n_resamples=n_resamples
            )


def measure_difference(
    without: Measured, with_gold: Measured, gold: IntArray, *, n_resamples: int
) -> dict[str, tuple[float, float, float]]:
    """Return the figures with gold minus those without, on the instances that are not gold."""
    is_other = ~np.isin(without.instances, gold)
    before, after = (_select(measured.figures, is_other) for measured in (without, with_gold))
    weights = resample(int(is_other.sum()), n_resamples)
    return {
        figure: interval(METRICS[figure](weights, after) - METRICS[figure](weights, before))
        for figure in FIGURES
    }


def _select(figures: InstanceFigures, rows: BoolArray) -> InstanceFigures:
    return InstanceFigures(
        **{field.name: getattr(figures, field.name)[rows] for field in fields(figures)}
    )


def is_worse(figure: str, difference: Sequence[float]) -> bool:
    """Return whether a figure is worse with gold and its interval excludes 0."""
    _, low, high = difference
    return high < 0 if FIGURES[figure] > 0 else low > 0


def summarize(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean over sets, the worst set, and which sets are worse beyond chance."""
    keys = dict.fromkeys((row["strategy"], row["gold"]) for row in rows)
    summary = []
    for strategy, k in sorted(keys, key=lambda key: (key[0] != "random", key[1])):
        by_set: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            if (row["strategy"], row["gold"]) == (strategy, k):
                by_set.setdefault(row["set"], []).append(row)
        entry: dict[str, Any] = {"strategy": strategy, "gold": k, "sets": len(by_set)}
        for figure, sign in FIGURES.items():
            means = {
                name: float(np.mean([row[figure][0] for row in own]))
                for name, own in by_set.items()
            }
            worst = min(means, key=lambda name: sign * means[name])
            worse = [
                name
                for name, own in by_set.items()
                if sign * means[name] < -2 * _standard_error([row[figure] for row in own])
            ]
            entry[figure] = {
                "mean": float(np.mean(list(means.values()))),
                "worst": means[worst],
                "worst_set": worst,
                "worse": worse,
            }
        summary.append(entry)
    return summary


def _standard_error(differences: Sequence[Sequence[float]]) -> float:
    """Return the standard error of the mean of differences with 95 % intervals, one per seed.

    The instances are nearly the same for all seeds, so that their part does not shrink with more
    seeds; that of the gold instances, which differ, does.
    """
    value, low, high = np.array(differences).T
    of_instances = float(np.mean((high - low) / 3.92) ** 2)
    of_seeds = float(value.var(ddof=1)) / len(value) if len(value) > 1 else 0.0
    return float(np.sqrt(of_instances + of_seeds))


def render_table(summary: Sequence[Mapping[str, Any]]) -> str:
    """Return Markdown: one row per strategy and number of gold instances."""
    lines = [
        "| gold instances | hierarchical F | worst set | exact match | worst set "
        "| calibration error | worst set | sets worse beyond chance |",
        "|---|---:|---|---:|---|---:|---|---|",
    ]
    for entry in summary:
        chosen = "at random" if entry["strategy"] == "random" else "first to review"
        cells = [f"{entry['gold']} {chosen}"]
        for figure in FIGURES:
            found = entry[figure]
            cells += [f"{found['mean']:+.3f}", f"{found['worst']:+.3f} ({found['worst_set']})"]
        counts = "/".join(str(len(entry[figure]["worse"])) for figure in FIGURES)
        lines.append("| " + " | ".join([*cells, f"{counts} of {entry['sets']}"]) + " |")
    return "\n".join(lines)


def _format_row(row: Mapping[str, Any]) -> str:
    figures = ", ".join(
        f"{figure.replace('_', ' ')} {row[figure][0]:+.4f} "
        f"({row[figure][1]:+.4f} to {row[figure][2]:+.4f})"
        f"{' worse' if is_worse(figure, row[figure]) else ''}"
        for figure in FIGURES
    )
    return f"{row['set']}: {row['gold']} {row['strategy']}, seed {row['seed']}: {figures}"


if __name__ == "__main__":
    main()
