"""How well the accuracy of the rest is estimated from a few random reviews, on real sets.

python -m benchmarks.quality.review_accuracy [--sets NAME …] [--draws 2000]

Each set is consolidated by the default method. Then k of its instances with a known truth are drawn
at random many times, and the share of right label sets among the others is estimated from them: by
the plain estimate and by the prediction-powered one, which is the one that mhpc has. What is
printed is how often the 95 % interval contains the true share (coverage), how wide it is on
average, and how many times as many answers the plain interval would need for the same width. The
coverage of the intervals of levels, which are plain, is a mean over levels.
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import mhpc
from benchmarks.data import NO_DATA, data_folder, read_set
from benchmarks.environment import write_result
from mhpc.accuracy import predict_sets
from mhpc.data.accuracy import ShareEstimate
from mhpc.datasets.garden import Dataset, load_garden
from mhpc.encoding.gold import encode_truth
from mhpc.metrics.accuracy import are_right, estimate_share
from mhpc.metrics.label_sets import compare_label_sets
from mhpc.numerics.arrays import BoolArray, FloatArray

SETS = (
    "chexpert", "dog", "ecg_kin", "taxa_its", "imclef07a_models", "diatoms_models", "sleep_dodh",
    "ec_tools",
)  # fmt: skip
SIZES = (20, 50, 100, 200)
DRAWS = 2000
NOMINAL = 0.95
MAX_LOSS = 0.01
"""How far below the nominal coverage an estimate may be on average."""


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    rows = []
    print(f"{'set':18}{'right':>6}{'k':>5}   coverage: plain powered levels   width: plain powered")
    for name, data in _read_sets(options.sets):
        rows += measure(name, data, draws=options.draws)
    summary = summarize(rows)
    for row in summary:
        print(_format_row({"set": "mean of sets", **row}))
    print("\n".join(describe(summary)))
    write_result("quality_review_accuracy", {"draws": options.draws, "rows": rows})


def _read_sets(names: Sequence[str]) -> Iterator[tuple[str, Dataset]]:
    yield "garden", load_garden()
    folder = data_folder()
    if folder is None:
        print(f"Only the bundled example: {NO_DATA}")
        return
    for name in names:
        yield name, read_set(folder / name)


def measure(name: str, data: Dataset, *, draws: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return one row per number of reviews, with the figures of both estimates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = mhpc.consolidate(data.votes, data.taxonomy, unknown="drop")
        panel = result.panel
        truth = encode_truth(data.truth, panel.taxonomy, panel.instances, unknown="drop")
    decided = predict_sets(result.consolidation, result.decision.reason)
    sets = compare_label_sets(decided.chosen, truth, panel.taxonomy)
    right, predicted = are_right(sets), decided.predicted[truth.rows]
    levels = []
    for labels in panel.taxonomy.levels:
        given, true = (part[:, labels].tocsr() for part in (sets.given, sets.true))
        has_any = (np.diff(given.indptr) > 0) | (np.diff(true.indptr) > 0)
        is_right = np.asarray(abs(given - true).sum(axis=1)).ravel() == 0
        levels.append((has_any, is_right))
    rows = []
    for k in SIZES:
        if 2 * k > len(right):
            continue
        rng = np.random.default_rng(seed)
        figures = [_draw(right, predicted, levels, k, rng) for _ in range(draws)]
        means = np.nanmean(np.array(figures), axis=0).tolist()
        names = ("plain_coverage", "plain_width", "coverage", "width", "level_coverage")
        figure = dict(zip(names, means, strict=True))
        rows.append({"set": name, "right": float(right.mean()), "k": k, **figure})
        print(_format_row(rows[-1]), flush=True)
    return rows


def _draw(
    right: BoolArray,
    predicted: FloatArray,
    levels: Sequence[tuple[BoolArray, BoolArray]],
    k: int,
    rng: np.random.Generator,
) -> list[float]:
    """Return coverage and width of the plain estimate, of the other, and coverage of levels."""
    is_drawn = np.zeros(len(right), dtype=bool)
    is_drawn[rng.choice(len(right), k, replace=False)] = True
    figures = []
    for f in (np.zeros(len(right)), predicted):
        estimate = _estimate(right, f, is_drawn)
        figures += [_covers(estimate, right[~is_drawn]), estimate.high - estimate.low]
    covered = [
        _covers(_estimate(is_right[has_any], np.zeros(has_any.sum()), is_drawn[has_any]),
                is_right[has_any & ~is_drawn])
        for has_any, is_right in levels
        if (has_any & is_drawn).any() and (has_any & ~is_drawn).any()
    ]  # fmt: skip
    return [*figures, float(np.mean(covered)) if covered else np.nan]


def _estimate(right: BoolArray, predicted: FloatArray, is_drawn: BoolArray) -> ShareEstimate:
    others = ~is_drawn
    return estimate_share(
        right[is_drawn], predicted[is_drawn], others=int(others.sum()),
        others_predicted=float(predicted[others].mean()),
    )  # fmt: skip


def _covers(estimate: ShareEstimate, others: BoolArray) -> float:
    slack = 1e-9
    return float(estimate.low - slack <= others.mean() <= estimate.high + slack)


def summarize(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the means over sets for every number of reviews."""
    names = [name for name in rows[0] if name not in ("set", "k")]
    summary = []
    for k in dict.fromkeys(row["k"] for row in rows):
        chosen = [row for row in rows if row["k"] == k]
        means = {name: float(np.mean([row[name] for row in chosen])) for name in names}
        ratios = [row["width"] / row["plain_width"] for row in chosen]
        summary.append({"k": k, "sets": len(chosen), **means, "ratio": float(np.mean(ratios))})
    return summary


def describe(summary: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the findings in sentences."""
    for row in summary:
        yield (
            f"{row['k']} reviews: the prediction-powered interval is {1 - row['ratio']:.0%} "
            f"narrower, as that of {row['ratio'] ** -2:.2f} times as many answers"
        )
    coverage = float(np.mean([row["coverage"] for row in summary]))
    met = "met" if coverage >= NOMINAL - MAX_LOSS else "MISSED"
    yield f"Its mean coverage is {coverage:.1%} (wanted: {NOMINAL - MAX_LOSS:.0%}, {met})"


def _format_row(row: dict[str, Any]) -> str:
    return (
        f"{row['set']:18}{row['right']:6.3f}{row['k']:5}   {row['plain_coverage']:15.1%} "
        f"{row['coverage']:7.1%} {row['level_coverage']:6.1%}   {row['plain_width']:12.3f} "
        f"{row['width']:7.3f}"
    )


if __name__ == "__main__":
    main()
