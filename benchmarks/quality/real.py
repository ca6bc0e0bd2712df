"""Every method on every real data set of MHPC_DATA: accuracy with intervals, regret, cost.

python -m benchmarks.quality.real [--sets NAME …] [--methods NAME …] [--resamples 1000] [--jobs 1]

A set is a folder with votes.csv, taxonomy.csv and truth.csv; where it has scores.csv.gz, the scores
are a case of their own. Every run has its own process, so that seconds and memory are its own, and
ends after `--timeout` seconds. The truth serves for measuring only. Beside the methods of this
package run crowd-kit's MajorityVote, Wawa and DawidSkene, one binary task per instance and label
that some source gave (``pip install -e '.[bench]'``; left out where it is missing).

Prints a table for the docs, and writes benchmarks/results/quality_real.json and .svg. The regret of
`auto` is the hierarchical F of the best other method of this package, selected with the truth,
minus that of `auto`.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import mhpc
from benchmarks.data import NO_DATA, data_folder
from benchmarks.environment import RESULTS, write_result
from benchmarks.quality.figures import METRICS, InstanceFigures, interval, measure, resample
from mhpc.data.panel import Panel
from mhpc.encoding.gold import encode_truth
from mhpc.methods.registry import METHODS, make_method
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.rules.base import close_under_ancestors

DEFAULT = "auto"
PLAIN = "majority"
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{name: (name, {}) for name in METHODS},
    "majority, learned weights": ("majority", {"source_weights": "learned"}),
}
"""Our methods with their defaults, and the weighted vote."""

PEERS = ("crowd-kit MajorityVote", "crowd-kit Wawa", "crowd-kit DawidSkene")


@dataclass(frozen=True)
class Case:
    """One data set: its votes, or its scores."""

    folder: Path
    votes: str

    @property
    def name(self) -> str:
        """The name of the folder, with a word for scores."""
        return self.folder.name if self.votes == "votes.csv" else f"{self.folder.name}, scores"


def main() -> None:
    """Run all methods on all sets, print the table, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=[], help="sets whose name begins with one")
    parser.add_argument("--methods", nargs="*", default=[*VARIANTS, *PEERS])
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--timeout", type=float, default=600, help="seconds per run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time; 1 for exact seconds")
    parser.add_argument("--run", nargs=3, metavar=("SET", "METHOD", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print(f"Nothing to do: {NO_DATA}")
        return
    if options.run:
        set_name, method, file = options.run
        _run_here(next(case for case in cases(folder) if case.name == set_name), method, Path(file))
        return
    selected = [
        case
        for case in cases(folder)
        if not options.sets or case.name.startswith(tuple(options.sets))
    ]
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for case in selected:
            run = partial(_run_in_process, case, timeout=options.timeout)
            rows += compare_methods(pool.map(run, _available(options.methods)), options.resamples)
    summary = summarize(rows)
    print(f"\n{render_table(rows)}\n")
    for line in describe(summary):
        print(line)
    write_result("quality_real", {"rows": rows, "summary": summary})
    draw(rows)


def cases(folder: Path) -> Iterator[Case]:
    """Yield every set with a truth, by its votes and by its scores."""
    for taxonomy in sorted(folder.glob("*/taxonomy.csv")):
        for votes in ("votes.csv", "scores.csv.gz"):
            if (taxonomy.parent / votes).exists() and (taxonomy.parent / "truth.csv").exists():
                yield Case(taxonomy.parent, votes)


def _available(methods: Sequence[str]) -> list[str]:
    """Return the methods without those of crowd-kit, where it is missing."""
    return [name for name in methods if name not in PEERS or find_spec("crowdkit")]


def compare_methods(
    runs: Iterable[tuple[dict[str, Any], InstanceFigures | None]], n_resamples: int
) -> list[dict[str, Any]]:
    """Return one row per run on a set, with intervals, and print it."""
    rows, figures = [], dict[str, InstanceFigures]()
    for row, result in runs:
        rows.append(row)
        if result is not None:
            figures[row["method"]] = result
    if not figures:
        return rows
    weights = resample(len(next(iter(figures.values())).true), n_resamples)
    values = {
        method: {name: metric(weights, result) for name, metric in METRICS.items()}
        for method, result in figures.items()
    }
    for row in rows:
        if row["method"] in values:
            row |= {name: interval(value) for name, value in values[row["method"]].items()}
            if DEFAULT in values:
                ours = values[DEFAULT]["hierarchical_f"]
                difference = values[row["method"]]["hierarchical_f"] - ours
                row["minus_auto"] = interval(difference)
        print(_format_row(row), flush=True)
    return rows


def _run_in_process(
    case: Case, method: str, *, timeout: float
) -> tuple[dict[str, Any], InstanceFigures | None]:
    row: dict[str, Any] = {"set": case.name, "method": method}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.npz"
        command = [sys.executable, "-m", "benchmarks.quality.real", "--run", case.name, method]
        try:
            run = subprocess.run(
                [*command, str(file)], capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return row | {"failed": f"not done after {timeout:.0f} s"}, None
        if run.returncode:
            return row | {"failed": run.stderr.strip().splitlines()[-1][:200]}, None
        seconds, megabytes = run.stdout.split()[-2:]
        figures = InstanceFigures.load(file)
    return row | {"seconds": float(seconds), "megabytes": float(megabytes)}, figures


def _run_here(case: Case, method: str, file: Path) -> None:
    """Consolidate one set in this process, write the figures, print seconds and megabytes."""
    warnings.simplefilter("ignore")
    votes = mhpc.read_votes(case.folder / case.votes)
    taxonomy = mhpc.read_taxonomy(case.folder / "taxonomy.csv")
    panel = mhpc.encode(votes, taxonomy, unknown="drop")
    began = time.perf_counter()
    if method in PEERS:
        scores, label_sets = _aggregate_by_peer(method, panel)
    else:
        name, parameters = VARIANTS[method]
        result = mhpc.consolidate(
            votes, taxonomy, method=make_method(name, parameters), unknown="drop"
        )
        scores, label_sets = result.consolidation.score, result.decision.reason
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    truth = mhpc.read_truth(case.folder / "truth.csv")
    encoded = encode_truth(truth, panel.taxonomy, panel.instances, unknown="drop")
    measure(scores, label_sets, encoded, panel).save(file)
    print(seconds, peak)


def _aggregate_by_peer(method: str, panel: Panel) -> tuple[Sparse, Sparse]:
    """Aggregate yes and no for every label, with ancestors, that some source gave to an instance.

    An answer without the label is a no. Labels that no source gave score 0.
    """
    import pandas as pd
    from crowdkit.aggregation import DawidSkene, MajorityVote, Wawa

    n_labels = len(panel.taxonomy)
    shape = (len(panel.instances), n_labels)
    given = panel.sum_answers(panel.augmented).tocsr()
    sizes = np.diff(given.indptr)[panel.instance]
    answer = np.repeat(np.arange(len(panel.instance)), sizes)
    label = np.concatenate([given[[i]].indices for i in panel.instance])
    vote = np.asarray(panel.augmented.tocsr()[answer, label]).ravel()
    frame = pd.DataFrame(
        {
            "task": panel.instance[answer] * n_labels + label,
            "worker": panel.source[answer],
            "label": (vote >= 0.5).astype(int),
        }
    )
    aggregators: dict[str, Callable[[], Any]] = {
        PEERS[0]: MajorityVote,
        PEERS[1]: Wawa,
        PEERS[2]: lambda: DawidSkene(n_iter=100),
    }
    probability = aggregators[method]().fit_predict_proba(frame)
    value = probability[1].to_numpy() if 1 in probability else np.zeros(len(probability))
    task = probability.index.to_numpy()
    scores = sparse.csr_array((value, (task // n_labels, task % n_labels)), shape=shape)
    decided = sparse.csr_array((scores.toarray() >= 0.5).astype(float))
    return scores, close_under_ancestors(decided, panel.taxonomy)


def summarize(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return means and ranks over the sets that all methods finished, and the regret of auto."""
    done = [row for row in rows if "hierarchical_f" in row]
    sets, methods = (list(dict.fromkeys(row[key] for row in done)) for key in ("set", "method"))
    value = {(row["set"], row["method"]): row for row in done}
    common = [name for name in sets if all((name, method) in value for method in methods)]
    means = {
        method: {
            metric: float(np.mean([value[name, method][metric][0] for name in common]))
            for metric in METRICS
        }
        for method in methods
        if common
    }
    own = [method for method in methods if method in VARIANTS and method != DEFAULT]
    regret = {}
    for name in sets:
        others = [method for method in own if (name, method) in value]
        if (name, DEFAULT) in value and others:
            best = max(others, key=lambda method: value[name, method]["hierarchical_f"][0])
            regret[name] = {"best": best, "regret": value[name, best]["minus_auto"]}
    return {
        "sets": common,
        "means": means,
        "mean_rank": _mean_ranks(value, common, methods),
        "regret": regret,
        "minus_majority": {
            name: -value[name, PLAIN]["minus_auto"][0]
            for name in sets
            if "minus_auto" in value.get((name, PLAIN), {})
        },
    }


def _mean_ranks(
    value: Mapping[tuple[str, str], Mapping[str, Any]], sets: Sequence[str], methods: Sequence[str]
) -> dict[str, float]:
    """Return the mean rank by hierarchical F, 1 the best; equal values share their ranks."""
    from scipy.stats import rankdata

    if not sets:
        return {}
    ranks = [
        rankdata([-value[name, method]["hierarchical_f"][0] for method in methods]) for name in sets
    ]
    return dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True))


def describe(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield the findings in sentences."""
    ranks = summary["mean_rank"]
    for method, means in sorted(
        summary["means"].items(), key=lambda item: -item[1]["hierarchical_f"]
    ):
        figures = ", ".join(f"{name.replace('_', ' ')} {mean:.4f}" for name, mean in means.items())
        yield f"{method}: {figures}; mean rank {ranks[method]:.1f}"
    if summary["regret"]:
        regrets = {name: entry["regret"][0] for name, entry in summary["regret"].items()}
        worst = max(regrets, key=regrets.__getitem__)
        yield (
            f"Regret of auto: {np.mean(list(regrets.values())):+.4f} on average, "
            f"{regrets[worst]:+.4f} at worst ({worst})"
        )
    if summary["minus_majority"]:
        gains = summary["minus_majority"]
        worst = min(gains, key=gains.__getitem__)
        yield (
            f"auto minus majority: {np.mean(list(gains.values())):+.4f} on average, "
            f"{gains[worst]:+.4f} at worst ({worst})"
        )


def render_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return Markdown: hierarchical F, one row per set and one column per method."""
    sets, methods = (list(dict.fromkeys(row[key] for row in rows)) for key in ("set", "method"))
    value = {
        (row["set"], row["method"]): f"{row['hierarchical_f'][0]:.3f}"
        for row in rows
        if "hierarchical_f" in row
    }
    lines = [
        f"| {name} | {' | '.join(value.get((name, method), '-') for method in methods)} |"
        for name in sets
    ]
    return "\n".join([f"| set | {' | '.join(methods)} |", f"|---|{'---:|' * len(methods)}", *lines])


def draw(rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the figure: hierarchical F of all methods on every set, auto with its interval."""
    from mhpc.paper.render import drawing, legend_below, new_figure, style, to_svg

    done = [row for row in rows if "hierarchical_f" in row]
    sets, methods = (list(dict.fromkeys(row[key] for row in done)) for key in ("set", "method"))
    if not done:
        return
    with drawing():
        figure = new_figure(1, 1, width=8, height=1.5 + 0.32 * len(sets))
        axes = figure.axes[0]
        for method in methods:
            points = [row for row in done if row["method"] == method]
            x: FloatArray = np.array([row["hierarchical_f"] for row in points])
            y = [sets.index(row["set"]) for row in points]
            look = {**style(method, methods), "linestyle": "none"}
            if method == DEFAULT:
                error = np.abs(x[:, 1:] - x[:, :1]).T
                axes.errorbar(x[:, 0], y, xerr=error, label=method, capsize=3, zorder=5,
                              color="black", marker="D", linestyle="none")  # fmt: skip
            else:
                axes.plot(x[:, 0], y, label=method, alpha=0.7, **look)
        axes.set_yticks(range(len(sets)), sets)
        axes.invert_yaxis()
        axes.set_xlabel("hierarchical F ↑")
        legend_below(figure, axes, columns=4)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "quality_real.svg").write_text(to_svg(figure), encoding="utf-8")


def _format_row(row: Mapping[str, Any]) -> str:
    if "failed" in row:
        return f"{row['set']}: {row['method']}: {row['failed']}"
    if "hierarchical_f" not in row:
        return f"{row['set']}: {row['method']}: no figures"
    f, low, high = row["hierarchical_f"]
    others = ", ".join(
        f"{name.replace('_', ' ')} {row[name][0]:.4f}" for name in METRICS if name in row
    )
    return (
        f"{row['set']}: {row['method']}: {others} (F {f:.3f}, 95 % interval {low:.3f} to "
        f"{high:.3f}); {row['seconds']:.1f} s, {row['megabytes']:.0f} MB"
    )


if __name__ == "__main__":
    main()
