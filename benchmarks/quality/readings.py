"""The paper's equations read one way and another: what each choice is worth.

Each line changes one thing in `mhpc` with its defaults. What is a parameter of the package is run
by it;
the rest is written out here, as the text reads.

python -m benchmarks.quality.readings [SET ...]
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

import mhpc
from benchmarks.data import NO_DATA, cellcycle, data_folder, read_set
from benchmarks.environment import write_result
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.data.votes import EncodedTruth
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import encode_truth
from mhpc.methods.mhpc.algorithm import clopper_pearson_lower, label_support
from mhpc.metrics.ranking import coverage_error, micro_auc, ranking_loss
from mhpc.numerics.arrays import FloatArray, dense

COLUMNS = {
    "ranking_loss": 4, "micro_auc": 4, "coverage_error": 2, "closed": 4, "silent": 4, "solves": 0,
    "largest": 3,
}  # fmt: skip
"""What is printed, and with how many digits."""

LAM, SIGMA = mhpc.MHPC().lam, float(mhpc.MHPC().sigma or 0)

Scores: TypeAlias = tuple[FloatArray, int]
"""Scores, and how many solves they took."""


class TrialsAreInstances(mhpc.MHPC):
    """Equation 9 with N trials; occurrences, which pass N, are cut there."""

    def support(self, parts: PanelPartitions) -> FloatArray:
        """Return the support."""
        C, N = parts.sum(_occurrences)
        return clopper_pearson_lower(np.minimum(C, N), np.full(len(C), float(N)), alpha=self.alpha)


class OccurrencesAreInstances(mhpc.MHPC):
    """Equation 8 counting an instance once per label, however many sources give it; N trials."""

    def support(self, parts: PanelPartitions) -> FloatArray:
        """Return the support."""
        C, N = parts.sum(_instances_with)
        return clopper_pearson_lower(C, np.full(len(C), float(N)), alpha=self.alpha)


class ShareAsSupport(mhpc.MHPC):
    """Equation 10 with the share itself in place of the lower end of its interval."""

    def support(self, parts: PanelPartitions) -> FloatArray:
        """Return the shares."""
        C, trials = parts.sum(lambda panel: (panel.occurrences, panel.answers_per_label))
        return np.asarray(C / np.maximum(trials, 1.0))


def _occurrences(panel: Panel) -> tuple[FloatArray, int]:
    return panel.occurrences, int((panel.answers_per_instance > 0).sum())


def _instances_with(panel: Panel) -> tuple[FloatArray, int]:
    said = panel.sum_answers(panel.augmented)
    said.data[:] = 1.0
    return np.asarray(said.sum(axis=0)).ravel(), int((panel.answers_per_instance > 0).sum())


def by(method: mhpc.MHPC | mhpc.MPCU) -> Callable[[Panel], Scores]:
    """Return a reading that the package runs."""

    def run(panel: Panel) -> Scores:
        figures = method.consolidate(panel)
        return dense(figures.specific[:]), len(figures.trace)

    return run


def printed_cost(panel: Panel) -> Scores:
    """Solve equation 1 as it is printed: the sum over i and j is 2 tr(Y' (D - W) Y)."""
    Y_bar, W, answered = _mean_and_graph(panel)
    return answered(_solved(2 * (np.diag(W.sum(axis=1)) - W), Y_bar)), 1


def without_itself(panel: Panel) -> Scores:
    """Solve equation 6 with W_ii = 0."""
    Y_bar, W, answered = _mean_and_graph(panel)
    np.fill_diagonal(W, 0.0)
    return answered(_solved(_normalised(W), Y_bar)), 1


def lagging(panel: Panel) -> Scores:
    """Solve equation 13 with the L it is printed with, that of the solve before."""
    Y_bar, W, answered = _mean_and_graph(panel)
    L = _normalised(W)
    return answered(_solved(L, _solved(L, Y_bar))), 2


def silence_as_zero(panel: Panel) -> Scores:
    """Solve equation 6 with a vertex for every instance, a row of 0 where nobody answered."""
    Y_bar, W, everyone = _mean_and_graph(panel, silent_too=True)
    return everyone(_solved(_normalised(W), Y_bar)), 1


def _mean_and_graph(
    panel: Panel, *, silent_too: bool = False
) -> tuple[FloatArray, FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return Y_bar and W of the instances that have a vertex, and how to give others 0."""
    rows = np.flatnonzero((panel.answers_per_instance > 0) | silent_too)
    Y_bar = dense(panel.mean("raw", "answers"))[rows]
    S = label_support(SinglePartition(panel), alpha=mhpc.MHPC().alpha)

    def over_all(figures: FloatArray) -> FloatArray:
        scores = np.zeros((len(panel.instances), figures.shape[1]))
        scores[rows] = figures
        return scores

    return Y_bar, np.exp(-cdist(Y_bar, Y_bar, "euclidean", w=S) / SIGMA), over_all


def _normalised(W: FloatArray) -> FloatArray:
    root = np.sqrt(np.maximum(W.sum(axis=1), 1e-300))
    return np.asarray(np.eye(len(W)) - W / np.outer(root, root))


def _solved(L: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(np.eye(len(L)) + LAM * L, B), dtype=np.float64)


READINGS: dict[str, Callable[[Panel], Scores]] = {
    "`mhpc` with its defaults": by(mhpc.MHPC()),
    "eq. 1: the cost as printed": printed_cost,
    "eq. 3: W_ii = 0": without_itself,
    "eq. 6: solved once": by(mhpc.MHPC(max_iter=0)),
    "eq. 6: divided by M": by(mhpc.MHPC(average="all-sources")),
    "eq. 6: silent instances as rows of 0": silence_as_zero,
    "eq. 6: ancestors smoothed too": by(mhpc.MHPC(votes="augmented")),
    "eq. 7: sigma = 0.01": by(mhpc.MHPC(sigma=0.01)),
    "eq. 7: sigma = 100": by(mhpc.MHPC(sigma=100)),
    "eq. 7: distances with ancestors": by(mhpc.MHPC(graph="augmented")),
    "eq. 9: N trials, C cut at N": by(TrialsAreInstances()),
    "eq. 8: C counts instances, N trials": by(OccurrencesAreInstances()),
    "eq. 10: the share itself": by(ShareAsSupport()),
    "eq. 10: 1 for every label (`mpc-u`)": by(mhpc.MPCU()),
    "eq. 13: a second solve, from the first": by(mhpc.MHPC(anchor="previous", max_iter=1)),
    "eq. 13: the same over the first L": lagging,
    "eq. 13: until it converges": by(mhpc.MHPC(anchor="previous")),
    "on landmarks, as beyond 10,000": by(mhpc.LocalMHPC.as_mhpc(solver="graph")),
}


def main(wanted: list[str]) -> None:
    """Measure, print and write."""
    warnings.simplefilter("ignore", mhpc.MhpcWarning)
    rows: list[dict[str, Any]] = []
    for name, data in sets():
        if wanted and not any(name.startswith(each) for each in wanted):
            continue
        panel = mhpc.encode(data.votes, data.taxonomy, unknown="drop")
        truth = encode_truth(data.truth, panel.taxonomy, panel.instances, unknown="drop")
        print(f"\n{name}: {facts(panel)}\n")
        print(
            "| reading | ranking loss | micro-AUC | coverage | closed | silent | solves | largest |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for reading, run in READINGS.items():
            figures = measured(panel, *run(panel), truth)
            rows.append({"set": name, "reading": reading, **figures})
            print(_line(reading, figures), flush=True)
        rows += ties(name, panel, truth)
    write_result("quality_readings", {"rows": rows})


def sets() -> Iterator[tuple[str, Dataset]]:
    """Yield the bundled example, and, where the data are available, generated and real votes."""
    yield "garden", mhpc.load_garden()
    folder = data_folder()
    if folder is None:
        print(f"Left out, since {NO_DATA}: cellcycle, chexpert, dog")
        return
    every, _ = cellcycle(4, seed=0)
    yield "cellcycle, M = 4", every
    half = mhpc.simulate(every.truth, every.taxonomy, [mhpc.Profile(coverage=0.5)] * 4, seed=0)
    yield "cellcycle, M = 4, each skips half", Dataset(half, every.taxonomy, every.truth)
    for name in ("chexpert", "dog"):
        yield name, read_set(folder / name)


def facts(panel: Panel) -> str:
    """Say what equations 6 and 9 meet: instances without answers, labels said more than N times."""
    silent = int((panel.answers_per_instance == 0).sum())
    over = int((panel.occurrences > len(panel.instances)).sum())
    used = int((panel.occurrences > 0).sum())
    return (
        f"{len(panel.instances)} instances, {silent} without an answer; C_k passes N for {over} of "
        f"{used} labels"
    )


def measured(
    panel: Panel, scores: FloatArray, solves: int, truth: EncodedTruth
) -> dict[str, float | None]:
    """Return the paper's metrics on answered instances, most specific truth unless said.

    `silent` is the ranking loss on instances that nobody answered, None where there are none.
    """
    seen, answered = scores[truth.rows], panel.answers_per_instance[truth.rows] > 0
    true, closed, ranked = truth.specific[answered], truth.closed[answered], seen[answered]
    return {
        "ranking_loss": ranking_loss(true, ranked),
        "micro_auc": micro_auc(true, ranked),
        "coverage_error": coverage_error(true, ranked),
        "closed": ranking_loss(closed, ranked),
        "silent": None
        if answered.all()
        else ranking_loss(truth.specific[~answered], seen[~answered]),
        "solves": solves,
        "largest": float(scores.max()),
    }


def ties(name: str, panel: Panel, truth: EncodedTruth) -> list[dict[str, Any]]:
    """Print and return what ties are worth: counted wrong, half, and right."""
    print("\n| ties count | micro-AUC 1/2 | 0 (printed) | ranking loss 1 | 1/2 | 0 |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = []
    for method in (mhpc.SA(), mhpc.MHPC()):
        seen = dense(method.consolidate(panel).specific[:])[truth.rows]
        wrong = ranking_loss(truth.specific, seen)
        # Turned round, a pair is wrong where the true label is at least as high. An instance
        # without a pair loses nothing either way round.
        pairs = np.diff(truth.specific.indptr)
        some = float(((pairs > 0) & (pairs < seen.shape[1])).mean())
        right = some - ranking_loss(truth.specific, -seen)
        aucs = [micro_auc(truth.specific, seen, tie=tie) for tie in (0.5, 0.0)]
        values = [*aucs, wrong, (wrong + right) / 2, right]
        print(f"| `{method.name}` | {' | '.join(f'{value:.4f}' for value in values)} |")
        rows.append({"set": name, "ties": method.name, "values": values})
    return rows


def _line(reading: str, figures: dict[str, float | None]) -> str:
    cells = [
        "-" if figures[column] is None else f"{figures[column]:.{digits}f}"
        for column, digits in COLUMNS.items()
    ]
    return f"| {reading} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main(sys.argv[1:])
