"""Every method on every set whose truth is known.

python -m benchmarks.quality.methods [SET ...]
"""

import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import mhpc
from benchmarks.data import NO_DATA, cellcycle, data_folder, read_set
from benchmarks.environment import write_result
from mhpc.data.panel import Panel
from mhpc.data.scorecard import View
from mhpc.data.votes import EncodedTruth
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import encode_truth
from mhpc.errors import TooLargeError
from mhpc.methods.base import Method
from mhpc.methods.registry import METHODS, make_method
from mhpc.metrics.scorecard import METRICS, score
from mhpc.selection.cross_validation import cross_validate

SOURCES = (1, 4, 10)
SEEDS = range(5)
SETS = ("cellcycle_models", "gasch1_models", "chexpert", "dog", "birthplaces")
VIEWS: tuple[View, ...] = ("closed", "specific")
SHOWN = tuple(
    metric for metric in METRICS if metric.name in ("ranking_loss", "micro_auc", "coverage_error")
)
PATIENCE = 90.0
"""Seconds after which a method is stopped on a set."""


class OutOfPatienceError(Exception):
    """A method takes too long to be compared here."""


def main(wanted: list[str]) -> None:
    """Measure, print the ranking losses and write everything."""
    warnings.simplefilter("ignore", mhpc.MhpcWarning)
    chosen = methods()
    runs = [
        run
        for name, data in sets()
        if not wanted or any(name.startswith(each) for each in wanted)
        for run in measure(name, data, chosen)
    ]
    rows = summarise(runs)
    for view in VIEWS:
        print(f"\nLog-rank loss of held-out answers, {view} view: cross-validation without truth\n")
        print_table([row for row in rows if row["view"] == view], list(chosen), "log_rank_loss")
        print(f"\nRanking loss, {view} view (mean ± sd where votes are simulated)\n")
        print_table([row for row in rows if row["view"] == view], list(chosen))
    print("\nSeconds\n")
    print_table([row for row in rows if row["view"] == "closed"], list(chosen), "seconds", digits=2)
    parameters = {name: repr(method) for name, method in chosen.items()}
    write_result("quality_methods", {"methods": parameters, "rows": rows, "runs": runs})


def methods() -> dict[str, Method]:
    """Return the registered methods with their defaults, and averaging of augmented votes."""
    chosen: dict[str, Method] = {name: make_method(name) for name in METHODS}
    return chosen | {"sa augmented": mhpc.SA(votes="augmented")}


def sets() -> Iterator[tuple[str, Dataset]]:
    """Yield the bundled example, and, where the data are available, generated and real votes."""
    yield "garden", mhpc.load_garden()
    folder = data_folder()
    if folder is None:
        print(f"Left out, since {NO_DATA}: cellcycle, {', '.join(SETS)}")
        return
    for sources in SOURCES:
        for seed in SEEDS:
            yield f"cellcycle, M = {sources}", cellcycle(sources, seed=seed)[0]
    for name in SETS:
        yield name, read_set(folder / name)


def measure(name: str, data: Dataset, chosen: Mapping[str, Method]) -> Iterator[dict[str, Any]]:
    """Yield a record for every method and view."""
    panel = mhpc.encode(data.votes, data.taxonomy, unknown="drop")
    truth = encode_truth(data.truth, panel.taxonomy, panel.instances, unknown="drop")
    for label, method in chosen.items():
        try:
            losses = cross_validation_loss(method, panel)
            yield from (
                {
                    "set": name,
                    "method": label,
                    "log_rank_loss": losses.get(result["view"]),
                    **result,
                }
                for result in outcome(method, panel, truth)
            )
        except (OutOfPatienceError, TooLargeError) as error:
            print(f"Left out: {label} on {name}: {error}")


def cross_validation_loss(method: Method, panel: Panel) -> dict[str, float]:
    """Return the cross-validation loss in both views; auto has none of its own."""
    if method.name == "auto":
        return {}
    began = time.perf_counter()

    def watch(stage: str, done: int, most: int) -> None:
        if time.perf_counter() - began > PATIENCE:
            raise OutOfPatienceError(f"over {PATIENCE:g} s, at {stage} {done} of {most}")

    result = cross_validate(panel, {method.name: method}, progress=watch)
    return {view: result[0].loss(view) for view in VIEWS} if result else {}


def outcome(method: Method, panel: Panel, truth: EncodedTruth) -> Iterator[dict[str, Any]]:
    """Consolidate once and score in both views."""
    began = time.perf_counter()

    def watch(stage: str, done: int, most: int) -> None:
        if time.perf_counter() - began > PATIENCE:
            raise OutOfPatienceError(f"over {PATIENCE:g} s, at {stage} {done} of {most}")

    result = method.consolidate(panel, progress=watch)
    seconds = time.perf_counter() - began
    for view in VIEWS:
        card = score(result, truth, view=view, metrics=SHOWN)
        yield {"view": view, "seconds": seconds, **{each.metric: each.value for each in card}}


def summarise(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean and standard deviation of every figure over the runs that differ in seed."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault((run["set"], run["method"], run["view"]), []).append(run)
    return [
        {
            **dict(zip(("set", "method", "view"), key, strict=True)),
            "runs": len(group),
            **{name: _mean_and_sd([run[name] for run in group]) for name in _figures()},
        }
        for key, group in groups.items()
    ]


def print_table(
    rows: list[dict[str, Any]],
    columns: list[str],
    figure: str = "ranking_loss",
    *,
    digits: int = 4,
) -> None:
    """Print Markdown: one row per set, one column per method."""
    cells = {(row["set"], row["method"]): row[figure] for row in rows}
    print(f"| set | {' | '.join(columns)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for name in dict.fromkeys(row["set"] for row in rows):
        shown = [_cell(cells.get((name, each)), digits) for each in columns]
        print(f"| {name} | {' | '.join(shown)} |")


def _figures() -> list[str]:
    return ["seconds", "log_rank_loss", *(metric.name for metric in SHOWN)]


def _mean_and_sd(runs: list[float | None]) -> dict[str, float | None]:
    values = [value for value in runs if value is not None]
    if not values:
        return {"mean": None, "sd": None}
    sd = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "sd": sd}


def _cell(figure: dict[str, float | None] | None, digits: int) -> str:
    values = [value for value in (figure or {}).values() if value is not None]
    return " ± ".join(f"{value:.{digits}f}" for value in values) or "-"


if __name__ == "__main__":
    main(sys.argv[1:])
