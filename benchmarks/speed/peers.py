"""Majority and Dawid-Skene beside crowd-kit's, the dense solve beside scikit-learn's.

python -m benchmarks.speed.peers

crowd-kit comes with ``pip install -e '.[bench]'``; without it that part is left out.
"""

import statistics
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.semi_supervised import LabelSpreading

import mhpc
from benchmarks.data import cellcycle
from benchmarks.environment import interleave, met_or_missed, ratio, write_result
from mhpc.methods.mhpc.algorithm import MAX_DIRECT, closed_form_matrix, similarity
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.system.blas import single_threaded_blas

INSTANCES, LABELS, SOURCES = 1000, 500, 5
ITERATIONS = 10

LAM, SIGMA = 10.0, 0.3
TOLERANCE, STEPS = 1e-3, 1000
"""scikit-learn's own tolerance, the sum of all changes of a step; and steps at most."""

OURS, FROM_FRAME, PEER = "ours", "ours, reading included", "peer"

TIMES_FASTER = {"majority": 2190.0, "dawid-skene": 1900.0}
"""At least so many times ours, from an encoded panel, fits into crowd-kit's."""
TIMES_FASTER_SOLVE = 2.0
"""At least so many times our solve fits into scikit-learn's."""
PAUSE = 0.3
"""Seconds before every solve, for threads of the previous one to fall asleep."""
AGREEMENT = 1e-3
"""Largest difference allowed from scikit-learn's shares: it stops short of its limit."""


def main() -> None:
    """Time, compare, print and write."""
    warnings.simplefilter("ignore")  # of iterations that are stopped early, as is asked for
    rows = [*beside_crowd_kit(), beside_scikit_learn()]
    write_result("speed_peers", {"rows": rows})


def beside_crowd_kit() -> list[dict[str, Any]]:
    """Measure majority and Dawid-Skene on lists of labels; nothing where crowd-kit is missing."""
    if find_spec("crowdkit") is None:
        print("crowd-kit is not installed, so that it is left out; pip install -e '.[bench]'\n")
        return []
    from crowdkit.aggregation import BinaryRelevance, DawidSkene, MajorityVote

    long, lists, taxonomy = answers()
    panel = mhpc.encode(mhpc.read_votes(long), taxonomy)
    methods = {
        "majority": (mhpc.Majority(), MajorityVote(), 3),
        "dawid-skene": (
            mhpc.DawidSkene(max_iter=ITERATIONS, tol=0), DawidSkene(n_iter=ITERATIONS, tol=0), 2,
        ),
    }  # fmt: skip
    print(f"crowd-kit {version('crowd-kit')}, BinaryRelevance: {panel}")
    return [
        timed(
            name,
            {
                OURS: partial(ours.consolidate, panel),
                FROM_FRAME: partial(_from_frame, long, taxonomy, ours),
                PEER: partial(BinaryRelevance(theirs).fit_predict, lists),
            },
            repeats=repeats,
            target=TIMES_FASTER[name],
        )
        for name, (ours, theirs, repeats) in methods.items()
    ]


def answers() -> tuple[pd.DataFrame, pd.DataFrame, mhpc.Taxonomy]:
    """Draw answers of one to four flat labels: one row per vote, and one per answer."""
    rng = np.random.default_rng(0)
    names = np.array([f"label{k}" for k in range(LABELS)])
    truth = [rng.choice(LABELS, size=rng.integers(1, 5), replace=False) for _ in range(INSTANCES)]
    # Every label is said at least once, so that crowd-kit sees all of them.
    truth = [np.union1d(labels, [i % LABELS]) for i, labels in enumerate(truth)]
    rows = [
        (f"i{i}", f"s{m}", list(names[_heard(labels, rng)]))
        for i, labels in enumerate(truth)
        for m in range(SOURCES)
    ]
    lists = pd.DataFrame(rows, columns=["task", "worker", "label"])
    long = lists.explode("label").set_axis(["instance", "source", "label"], axis=1)
    taxonomy = mhpc.read_taxonomy({"label": list(names), "parent": [None] * LABELS})
    return long.reset_index(drop=True), lists, taxonomy


def _heard(labels: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Replace a fifth of the labels by any."""
    return np.unique(np.where(rng.random(len(labels)) < 0.2, rng.integers(LABELS), labels))


def _from_frame(frame: pd.DataFrame, taxonomy: mhpc.Taxonomy, method: Any) -> object:
    return method.consolidate(mhpc.encode(mhpc.read_votes(frame), taxonomy))


def beside_scikit_learn() -> dict[str, Any]:
    """Measure one solve on a dense graph against LabelSpreading on the same one.

    LabelSpreading repeats F = alpha S F + (1 - alpha) Y, with S = D^-1/2 W D^-1/2 of a graph
    without loops, whose limit solves (I + lambda L) F = Y for lambda = alpha / (1 - alpha). It
    takes one label per instance, so both are given that, and returns shares, so ours are made
    into shares too.
    """
    X, label, Y, origin = labelled()
    weights = np.ones(X.shape[1])
    alpha = LAM / (1.0 + LAM)

    def graph(*_: object) -> FloatArray:
        W = similarity(X, weights, sigma=SIGMA)
        W[np.triu_indices_from(W)] = 0.0
        return W + W.T

    def ours() -> FloatArray:
        # As `mhpc.consolidate` does: blocks keep the cores busy, and BLAS has one thread.
        with single_threaded_blas():
            W = similarity(X, weights, sigma=SIGMA)
            np.fill_diagonal(W, 0.0)
            A = closed_form_matrix(W, np.ones(len(X)), lam=LAM)
            F = solve_positive_definite(A, Y, max_direct=MAX_DIRECT)
        return np.asarray(F / F.sum(axis=1, keepdims=True))

    def theirs() -> FloatArray:
        model = LabelSpreading(kernel=graph, alpha=alpha, tol=TOLERANCE, max_iter=STEPS)
        return np.asarray(model.fit(X, label).label_distributions_)

    difference = float(np.abs(ours() - theirs()).max())
    print(f"\nscikit-learn {version('scikit-learn')}, LabelSpreading: {X.shape}, {origin}")
    row = timed(
        "dense solve",
        {OURS: ours, PEER: theirs},
        repeats=5,
        target=TIMES_FASTER_SOLVE,
        pause=PAUSE,
    )
    met = met_or_missed(difference <= AGREEMENT)
    print(f"  {'largest difference of shares':26} {difference:.1e}  <= {AGREEMENT:g} {met}")
    return {**row, "data": origin, "difference": difference, "agreement": AGREEMENT}


def labelled() -> tuple[FloatArray, np.ndarray[Any, Any], FloatArray, str]:
    """Return distinct label vectors, the first label of each, the same as a matrix, and origin."""
    data, origin = cellcycle(4, seed=0)
    X = dense(mhpc.encode(data.votes, data.taxonomy).mean("raw", "answers"))
    X = np.unique(X, axis=0)
    label = X.argmax(axis=1)
    Y = (label[:, None] == np.unique(label)).astype(float)
    return X, label, Y, origin


def timed(
    name: str,
    runs: Mapping[str, Callable[[], object]],
    *,
    repeats: int,
    target: float,
    pause: float = 0.0,
) -> dict[str, Any]:
    """Time runs in turn, print one line per run, and return the figures."""
    seconds = interleave(runs, repeats=repeats, pause=pause)
    ratios = {each: ratio(seconds[PEER], times) for each, times in seconds.items() if each != PEER}
    print(f"{name}: seconds, median of {repeats} (least .. most); peer / ours")
    for each, times in seconds.items():
        spread = f"({min(times):.4f} .. {max(times):.4f})"
        beside = f"{ratios[each]!s:>28}" if each in ratios else ""
        print(f"  {each:24} {statistics.median(times):9.4f} {spread:24} {beside}")
    print(f"  peer / ours >= {target:g}: {met_or_missed(ratios[OURS].median >= target)}")
    return {
        "name": name,
        "seconds": seconds,
        "ratios": {each: asdict(found) for each, found in ratios.items()},
        "target": target,
    }


if __name__ == "__main__":
    main()
