"""The default method `auto` against the truth, which it never sees.

python -m benchmarks.quality.auto [SET ...]
"""

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mhpc
from benchmarks.data import NO_DATA, data_folder, read_set
from benchmarks.environment import write_result
from mhpc.data.decision import Decision
from mhpc.data.panel import Panel
from mhpc.data.votes import EncodedTruth
from mhpc.datasets.yeast import YEAST, largest_split, load_yeast
from mhpc.encoding.gold import encode_truth
from mhpc.metrics.ranking import coverage_error, micro_auc, ranking_loss
from mhpc.numerics.arrays import BoolArray, dense
from mhpc.result import Result

SEEDS = {1: 5, 4: 5, 10: 2, 20: 2, 50: 1}
"""Seeds per number of sources on cellcycle; the other sets have one."""

MODELS = ("cellcycle_models", "gasch1_models")


def main(wanted: list[str]) -> None:
    """Consolidate every set with the defaults, print and write the figures."""
    warnings.simplefilter("ignore", mhpc.MhpcWarning)
    folder = data_folder()
    if folder is None:
        print(f"Nothing to do: {NO_DATA}")
        return
    rows = []
    for name, measure in cases(folder):
        if wanted and not any(name.startswith(prefix) for prefix in wanted):
            continue
        began = time.perf_counter()
        row = {"set": name, **measure(), "seconds": time.perf_counter() - began}
        rows.append(row)
        print(_line(row), flush=True)
    means = summary(rows)
    print("\nMeans over seeds\n")
    for row in means:
        print(_line(row))
    write_result("quality_auto", {"rows": rows, "means": means})


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the means of the runs that differ in their seed alone."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["set"].split(", seed")[0], []).append(row)
    return [
        {
            **group[0],
            "set": f"{name}, {len(group)} seeds" if "seed" in group[0]["set"] else name,
            **{
                key: statistics.fmean(row[key] for row in group)
                for key, value in group[0].items()
                if isinstance(value, float)
            },
        }
        for name, group in groups.items()
    ]


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield the name of every case, and what to measure."""
    for sources, seeds in SEEDS.items():
        for set_ in YEAST:
            if set_ != "cellcycle" and sources != 4:
                continue
            for seed in range(seeds if set_ == "cellcycle" else 1):
                name = f"{set_}, M = {sources}, seed {seed}"
                yield name, partial(_yeast, folder, set_, sources, seed)
    for set_ in MODELS:
        yield f"{set_}, votes", partial(_models, folder / set_, "votes.csv")
        yield f"{set_}, scores", partial(_models, folder / set_, "scores.csv.gz")
    for scope in ("all", "used"):
        yield f"chexpert, scope {scope}", partial(_sets, folder / "chexpert", scope)
    for set_ in ("birthplaces", "dog"):
        yield set_, partial(_one_label, folder / set_)


def _yeast(folder: Path, name: str, sources: int, seed: int) -> dict[str, Any]:
    known = load_yeast(name, largest_split(name), data=folder)
    votes = mhpc.simulate(known.truth, known.taxonomy, [mhpc.Profile()] * sources, seed=seed)
    result = mhpc.consolidate(votes, known.taxonomy)
    truth = encode_truth(known.truth, result.panel.taxonomy, result.panel.instances)
    plain = dense(mhpc.SA().consolidate(result.panel).specific)
    figures = _ranking(result, truth, "specific")
    return {**figures, "averaging": ranking_loss(truth.specific, plain[truth.rows])}


def _models(folder: Path, votes: str) -> dict[str, Any]:
    taxonomy = mhpc.read_taxonomy(folder / "taxonomy.csv")
    result = mhpc.consolidate(mhpc.read_votes(folder / votes), taxonomy)
    truth = mhpc.read_truth(folder / "truth.csv")
    known = encode_truth(truth, result.panel.taxonomy, result.panel.instances, unknown="drop")
    return _ranking(result, known, "closed")


def _sets(folder: Path, scope: str) -> dict[str, Any]:
    """Return micro-F1 of the decided sets over all instances; those not in the truth have none."""
    data = read_set(folder)
    result = mhpc.consolidate(
        mhpc.read_votes(folder / "votes.csv", scope=scope),
        data.taxonomy,
    )
    true = _truth_of(result.panel, data.truth)
    decided = _decided(result.decision)
    f1 = 2 * float((decided & true).sum()) / float(decided.sum() + true.sum())
    return {"micro_f1": f1}


def _one_label(folder: Path) -> dict[str, Any]:
    """Return how often the deepest decided label is the deepest true one."""
    data = read_set(folder)
    result = mhpc.consolidate(data.votes, data.taxonomy)
    panel = result.panel
    known = encode_truth(data.truth, panel.taxonomy, panel.instances, unknown="drop")
    own = dense(result.decision.reason)[known.rows] == 1
    true = dense(known.specific) > 0
    return {"accuracy": float((own == true).all(axis=1).mean())}


def _ranking(result: Result, truth: EncodedTruth, view: Any) -> dict[str, Any]:
    true, scores = truth.view(view), result.consolidation.view(view)[truth.rows]
    return {
        "view": view,
        "ranking_loss": ranking_loss(true, scores),
        "micro_auc": micro_auc(true, scores),
        "coverage_error": coverage_error(true, scores),
    }


def _truth_of(panel: Panel, truth: mhpc.Truth) -> BoolArray:
    known = encode_truth(truth, panel.taxonomy, panel.instances, unknown="drop")
    matrix = np.zeros((len(panel.instances), len(panel.taxonomy)), dtype=bool)
    matrix[known.rows] = dense(known.closed) > 0
    return matrix


def _decided(decision: Decision) -> BoolArray:
    return np.asarray(dense(decision.reason) > 0)


def _line(row: dict[str, Any]) -> str:
    figures = {
        key: f"{value:.5f}" if key != "coverage_error" else f"{value:.2f}"
        for key, value in row.items()
        if isinstance(value, float) and key != "seconds"
    }
    shown = ", ".join(f"{key} {value}" for key, value in figures.items())
    return f"{row['set']}: {shown} ({row['seconds']:.0f} s)"


if __name__ == "__main__":
    main(sys.argv[1:])
