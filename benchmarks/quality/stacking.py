"""Learn the weights of the stacking in `auto`, and test them on kinds of data left out.

python -m benchmarks.quality.stacking [--worlds 400] [--jobs 2] [--sets NAME …]

A logistic regression of the truth on the features that `mhpc.selection.stacking` gives to the
labels that sources gave, in simulated worlds (`benchmarks.quality.worlds`) and in the real sets of
MHPC_DATA. Similar real sets are a family: the votes and the scores of a set, and all sets of
trained classifiers. Every family weighs 1, all worlds together weigh `WORLDS_WEIGHT`.

The test leaves out one family at a time: weights are learned from the worlds and the other
families, and `auto` with these weights is measured on the family, next to `auto` with weights
learned from worlds alone and to `auto` as it is. Everything else in `auto` is the same. Other
methods are measured by `benchmarks.quality.real`.

Prints the weights learned from everything, which stand in `mhpc.selection.stacking.WEIGHTS`, and
a table for the docs; writes benchmarks/results/quality_stacking.json. Takes about ten minutes on
two cores.
"""

import argparse
import pickle
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

import mhpc
from benchmarks.data import NO_DATA, data_folder
from benchmarks.environment import write_result
from benchmarks.quality.figures import METRICS, measure
from benchmarks.quality.real import Case, cases
from benchmarks.quality.worlds import make_world
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.votes import EncodedTruth
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import BoolArray, FloatArray
from mhpc.selection.auto import Auto, FittedAuto
from mhpc.selection.stacking import FEATURES, WEIGHTS, GivenLabels
from mhpc.steps import decide, score
from mhpc.system.parallel import process_map

MEMBERS = ("dawid-skene", "mhpc-local")
"""Features that are scores of methods, which never speak against a label."""

LEFT_OUT, WORLDS, SHIPPED = COLUMNS = ("family left out", "worlds alone", "shipped")
"""The weights that are compared."""

SHOWN = ("hierarchical_f", "deepest_accuracy", "ranking_loss", "calibration_error")
"""The metrics of the tables."""

WORLDS_WEIGHT = 20.0
"""What all worlds weigh together; a family of real sets weighs 1."""

RIDGE = 1e-3
"""The penalty on the squared contribution of a feature."""

MAX_PAIRS = 6000
"""Pairs of an instance and a label that are taken from one case."""

MIN_PAIRS = 50
"""Worlds with fewer pairs are left out."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Pairs of an instance with a known truth and a label that some source gave to it.

    Attributes
    ----------
    family : str
        The family of the real set; empty for a world.
    features : float array, (P, 4)
        As `mhpc.selection.stacking.make_features` returns them.
    is_true : bool array, (P,)
        Whether the label applies.
    """

    family: str
    features: FloatArray
    is_true: BoolArray


@dataclass(frozen=True, eq=False)
class Run:
    """Something to measure: `auto` with some weights on a real set."""

    case: Case
    name: str
    weights: FloatArray


def main() -> None:
    """Learn the weights, test them, print the tables, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=400, help="number of simulated worlds")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--sets", nargs="*", default=[], help="sets whose name begins with one")
    options = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print(f"Nothing to do: {NO_DATA}")
        return
    real = [case for case in cases(folder) if case.name.startswith(tuple(options.sets) or "")]
    real.sort(key=_estimate_cost, reverse=True)
    with tempfile.TemporaryDirectory() as models:
        samples = sample_all(real, options.worlds, Path(models), jobs=options.jobs)
        learned = learn_weights(samples)
        print("\n".join(describe_weights(learned)), flush=True)
        rows = measure_all(plan_runs(real, learned), Path(models), jobs=options.jobs)
    summary = summarize(rows)
    print(f"\n{render_table(rows)}")
    weights = {name: values.tolist() for name, values in learned.items()}
    write_result(
        "quality_stacking",
        {"features": FEATURES, "weights": weights, "rows": rows, "summary": summary},
    )


def family_of(case: Case) -> str:
    """Return the family of a set, which is left out as a whole."""
    return "models" if case.folder.name.endswith("_models") else case.folder.name


def _estimate_cost(case: Case) -> int:
    """Return a number that is larger for cases that take longer."""
    files = (case.folder / case.votes, case.folder / "taxonomy.csv")
    return int(np.prod([file.stat().st_size for file in files]))


def sample_all(real: Sequence[Case], n_worlds: int, models: Path, *, jobs: int) -> list[Sample]:
    """Return the samples of all real sets and worlds; save the models of the sets in a folder."""
    items = [*real, *range(n_worlds)]
    samples, began = dict[int, Sample](), time.perf_counter()
    for position, sample in process_map(partial(_sample, models=models), items, jobs=jobs):
        samples[position] = sample
        item = items[position]
        if isinstance(item, Case) or len(samples) % 50 == 0:
            name = item.name if isinstance(item, Case) else f"world {item}"
            _report(f"fitted {name}", len(samples), len(items), began)
    ordered = [samples[position] for position in sorted(samples)]
    return [sample for sample in ordered if sample.family or len(sample.is_true) >= MIN_PAIRS]


def _sample(item: Case | int, *, models: Path) -> Sample:
    """Fit `auto` to a real set or to the world of a seed, and sample pairs with their features."""
    warnings.simplefilter("ignore")
    if isinstance(item, Case):
        panel, truth = _read_case(item)
        family = family_of(item)
    else:
        world, family = make_world(item), ""
        panel = mhpc.encode(world.votes, world.taxonomy)
        truth = encode_truth(world.truth, panel.taxonomy, panel.instances)
    fitted = Auto().fit(SinglePartition(panel))
    if isinstance(item, Case):
        _model_file(models, item).write_bytes(pickle.dumps((panel, truth, fitted)))
    given, features = fitted.stack_given(fitted.prepare(panel))
    is_known, is_true = find_truth(given, truth)
    known = np.flatnonzero(is_known)
    if len(known) > MAX_PAIRS:
        known = np.random.default_rng(0).choice(known, MAX_PAIRS, replace=False)
    return Sample(family, features[known], is_true[known])


def _read_case(case: Case) -> tuple[Panel, EncodedTruth]:
    votes = mhpc.read_votes(case.folder / case.votes)
    taxonomy = mhpc.read_taxonomy(case.folder / "taxonomy.csv")
    panel = mhpc.encode(votes, taxonomy, unknown="drop")
    truth = mhpc.read_truth(case.folder / "truth.csv")
    return panel, encode_truth(truth, panel.taxonomy, panel.instances, unknown="drop")


def find_truth(given: GivenLabels, truth: EncodedTruth) -> tuple[BoolArray, BoolArray]:
    """Return whether the truth of every pair is known, and whether its label applies, (P,)."""
    position = np.full(given.shape[0], -1)
    position[truth.rows] = np.arange(len(truth.rows))
    row = position[given.instance]
    is_known = row >= 0
    is_true = np.zeros(len(row), dtype=bool)
    closed = truth.closed.tocsr()
    is_true[is_known] = np.asarray(closed[row[is_known], given.label[is_known]]).ravel() > 0
    return is_known, is_true


def learn_weights(samples: Sequence[Sample]) -> dict[str, FloatArray]:
    """Return weights from everything, from worlds alone, and without each family."""
    families = sorted({sample.family for sample in samples} - {""})
    worlds = [sample for sample in samples if not sample.family]
    without = {
        f"without {family}": fit_weights([each for each in samples if each.family != family])
        for family in families
    }
    return {"everything": fit_weights(samples), WORLDS: fit_weights(worlds), **without}


def fit_weights(samples: Sequence[Sample]) -> FloatArray:
    """Return the weights of the features by a weighted, penalized logistic regression.

    With w the weight of a pair, z the sum of its features times their weights b and r the root
    mean square of a feature, ::

        sum of w * (log(1 + exp(z)) - truth * z) + RIDGE * sum of (b * r)^2

    is minimized, with weights of `MEMBERS` at or above 0.
    """
    features = np.concatenate([sample.features for sample in samples])
    is_true = np.concatenate([sample.is_true for sample in samples]).astype(float)
    weight = _weigh_pairs(samples)
    scale = weight @ features**2

    def loss(b: FloatArray) -> tuple[float, FloatArray]:
        z = features @ b
        penalty = RIDGE * float(b @ (scale * b))
        value = float(weight @ (np.logaddexp(0, z) - is_true * z)) + penalty
        return value, features.T @ (weight * (expit(z) - is_true)) + 2 * RIDGE * scale * b

    bounds = [(0, None) if name in MEMBERS else (None, None) for name in FEATURES]
    start = np.zeros(len(FEATURES))
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def _weigh_pairs(samples: Sequence[Sample]) -> FloatArray:
    """Return the weight of every pair, 1 in total: equal in a case, equal for cases of a family."""
    n_cases = Counter(sample.family for sample in samples)
    weights = [
        np.full(len(sample.is_true), total / n_cases[sample.family] / max(len(sample.is_true), 1))
        for sample in samples
        for total in (1.0 if sample.family else WORLDS_WEIGHT,)
    ]
    weight = np.concatenate(weights)
    return np.asarray(weight / weight.sum())


def plan_runs(real: Sequence[Case], learned: Mapping[str, FloatArray]) -> list[Run]:
    """Return everything that is to be measured."""
    return [
        run
        for case in real
        for run in (
            Run(case, LEFT_OUT, learned[f"without {family_of(case)}"]),
            Run(case, WORLDS, learned[WORLDS]),
            Run(case, SHIPPED, WEIGHTS),
        )
    ]


def measure_all(runs: Sequence[Run], models: Path, *, jobs: int) -> list[dict[str, Any]]:
    """Return one row of figures per run, in the order of the sets' names."""
    rows, began = dict[int, dict[str, Any]](), time.perf_counter()
    for position, row in process_map(partial(_measure, models=models), runs, jobs=jobs):
        rows[position] = row
        if len(rows) % 10 == 0:
            _report(f"measured {row['run']} on {row['set']}", len(rows), len(runs), began)
    return sorted((rows[position] for position in sorted(rows)), key=lambda row: str(row["set"]))


def _measure(run: Run, *, models: Path) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    panel, truth, fitted = _load_model(models, run.case)
    # `channel` serves the most specific labels only, which are not measured.
    scores = score(Auto(), replace(fitted, weights=run.weights, channel=None), panel)
    figures = measure(scores.score, decide(None, scores, panel).reason, truth, panel)
    everything = np.ones((1, len(figures.true)))
    values = {name: float(metric(everything, figures)[0]) for name, metric in METRICS.items()}
    return {"set": run.case.name, "family": family_of(run.case), "run": run.name, **values}


def _load_model(models: Path, case: Case) -> tuple[Panel, EncodedTruth, FittedAuto]:
    # The file was written by this program a moment ago.
    panel, truth, fitted = pickle.loads(_model_file(models, case).read_bytes())  # noqa: S301
    return panel, truth, fitted


def _model_file(models: Path, case: Case) -> Path:
    return models / f"{case.name}.pickle"


def _report(what: str, done: int, total: int, began: float) -> None:
    print(f"{time.perf_counter() - began:6.0f} s  {done} of {total}: {what}", flush=True)


def summarize(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the means of all metrics, by the weights."""
    return {
        run: {
            metric: float(np.mean([row[metric] for row in rows if row["run"] == run]))
            for metric in SHOWN
        }
        for run in COLUMNS
    }


def render_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return Markdown: one row per set, for each metric one column per weights."""
    value = {(row["set"], row["run"]): row for row in rows}
    sets = list(dict.fromkeys(row["set"] for row in rows))
    names = [f"{metric.replace('_', ' ')}, {run}" for metric in SHOWN for run in COLUMNS]
    lines = [f"| set | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    for name in sets:
        figures = [f"{value[name, run][metric]:.3f}" for metric in SHOWN for run in COLUMNS]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    means = summarize(rows)
    figures = [f"{means[run][metric]:.4f}" for metric in SHOWN for run in COLUMNS]
    return "\n".join([*lines, f"| mean | {' | '.join(figures)} |"])


def describe_weights(learned: Mapping[str, FloatArray]) -> Iterator[str]:
    """Yield the weights, those that are to be shipped last."""
    yield f"\nWeights of {', '.join(FEATURES)}:"
    for name, weights in learned.items():
        yield f"{name}: {', '.join(f'{weight:.2f}' for weight in weights)}"
    rounded = ", ".join(f"{weight:.2f}" for weight in learned["everything"])
    yield f"\nWEIGHTS: FloatArray = np.array([{rounded}])\n"


if __name__ == "__main__":
    main()
