"""Label sets of the default, compared with the truth and with other rules.

`auto` with its default rule, beside majority and iNaturalist's rule with their own thresholds, and
`auto` with a fixed threshold of 0.5 and with the expected F of each instance by itself.

python -m benchmarks.quality.decisions [SET ...]
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import mhpc
from benchmarks.data import NO_DATA, data_folder, read_set
from benchmarks.environment import write_result
from mhpc.data.panel import Panel
from mhpc.data.votes import EncodedTruth
from mhpc.datasets.garden import Dataset
from mhpc.datasets.yeast import largest_split, load_yeast
from mhpc.encoding.gold import encode_truth
from mhpc.methods.voting import INat, Majority
from mhpc.metrics.label_sets import compare_label_sets
from mhpc.metrics.scorecard import SET_METRICS
from mhpc.result import Result

SHOWN = ("hierarchical_f", "micro_f", "instance_f", "exact_match", "deepest_accuracy")


def main(wanted: list[str]) -> None:
    """Decide every set in five ways, print and write the figures."""
    warnings.simplefilter("ignore", mhpc.MhpcWarning)
    folder = data_folder()
    if folder is None:
        print(f"Nothing to do: {NO_DATA}")
        return
    rows = []
    for name, read in cases(folder):
        if wanted and not any(name.startswith(prefix) for prefix in wanted):
            continue
        set_rows = decide_all_ways(read(), all_instances=name.startswith("chexpert"))
        rows += [{"set": name, **row} for row in set_rows]
        print(f"\n{name}\n" + "\n".join(map(_line, set_rows)), flush=True)
    print(f"\nHierarchical F\n\n{table(rows)}")
    not_behind = [
        f"{row['set']} ({row['way']})" for row in rows if row["way"] != "auto" and row["ahead"]
    ]
    print(f"\nnot behind the default in hierarchical F: {'; '.join(not_behind) or 'none'}")
    write_result("quality_decisions", {"rows": rows})


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], Dataset]]]:
    """Yield the name of every set, and how to read it."""
    for set_ in ("cellcycle_models", "gasch1_models"):
        yield f"{set_}, votes", partial(read_set, folder / set_)
        yield f"{set_}, scores", partial(_with_scores, folder / set_)
    for set_ in ("chexpert", "birthplaces", "dog"):
        yield set_, partial(read_set, folder / set_)
    yield "chexpert, scope used", partial(_with_scope, folder / "chexpert")
    yield "cellcycle, 4 generated sources", partial(_generated, folder)


def decide_all_ways(data: Dataset, *, all_instances: bool) -> list[dict[str, Any]]:
    """Return one row per way; with `all_instances`, instances without truth have no label."""
    auto = mhpc.consolidate(data.votes, data.taxonomy)
    panel = auto.panel
    known = encode_truth(data.truth, panel.taxonomy, panel.instances, unknown="drop")
    if all_instances:
        known = _completed(known, panel)
    size = panel.labels_per_answer
    rules = {
        "auto at 0.5": mhpc.Threshold(threshold=0.5),
        "auto, each": mhpc.ExpectedF(over="each"),
    }
    ways = {
        "auto": auto.decision,
        **{
            way: rule.decide(auto.consolidation, labels_per_answer=size)
            for way, rule in rules.items()
        },
        **{
            method.name: mhpc.consolidate(data.votes, data.taxonomy, method=method).decision
            for method in (Majority(), INat())
        },
    }
    figures = {way: _figures(replace(auto, decision=prefix), known) for way, prefix in ways.items()}
    best = figures["auto"]["hierarchical_f"]
    return [
        {
            "way": way,
            "rule": ways[way].rule,
            **figures[way],
            "labels": ways[way].reason.nnz / len(panel.instances),
            "ahead": figures[way]["hierarchical_f"] >= best,
        }
        for way in ways
    ]


def table(rows: list[dict[str, Any]], figure: str = "hierarchical_f") -> str:
    """Return Markdown: one row per set, one column per way of deciding."""
    ways = list(dict.fromkeys(row["way"] for row in rows))
    cells = {(row["set"], row["way"]): f"{row[figure]:.3f}" for row in rows}
    lines = [
        f"| {name} | {' | '.join(cells[name, way] for way in ways)} |"
        for name in dict.fromkeys(row["set"] for row in rows)
    ]
    return "\n".join([f"| set | {' | '.join(ways)} |", f"|---|{'---:|' * len(ways)}", *lines])


def _figures(result: Result, known: EncodedTruth) -> dict[str, float]:
    sets = compare_label_sets(result.decision.reason, known, result.panel.taxonomy)
    return {metric.name: metric.measure(sets) for metric in SET_METRICS}


def _completed(known: EncodedTruth, panel: Panel) -> EncodedTruth:
    """Return a truth with all instances."""
    N = len(panel.instances)
    rows = sparse.csr_array(
        (np.ones(len(known.rows)), (known.rows, np.arange(len(known.rows)))),
        shape=(N, len(known.rows)),
    )
    return EncodedTruth(np.arange(N), rows @ known.specific, rows @ known.closed)


def _with_scores(folder: Path) -> Dataset:
    return replace(read_set(folder), votes=mhpc.read_votes(folder / "scores.csv.gz"))


def _with_scope(folder: Path) -> Dataset:
    return replace(read_set(folder), votes=mhpc.read_votes(folder / "votes.csv", scope="used"))


def _generated(folder: Path) -> Dataset:
    known = load_yeast("cellcycle", largest_split("cellcycle"), data=folder)
    votes = mhpc.simulate(known.truth, known.taxonomy, [mhpc.Profile()] * 4, seed=0)
    return Dataset(votes, known.taxonomy, known.truth)


def _line(row: dict[str, Any]) -> str:
    figures = "  ".join(f"{name.replace('_', ' ')} {row[name]:.4f}" for name in SHOWN)
    return f"  {row['way']:12} {row['rule']:11} {figures}  {row['labels']:.2f} labels"


if __name__ == "__main__":
    main(sys.argv[1:])
