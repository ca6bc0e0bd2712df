"""Quality against cost: which sources to drop first, and which panel is worth keeping.

Sources are dropped one after the other, each time the one whose absence loses the least agreement
with the label sets of all sources per cost that it saves. A round tries every source that is left,
so that M sources need about M^2 / 2 trials; as long as there are more than 30, a tenth of them is
dropped at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mhpc.data.contributions import PanelPoint
from mhpc.data.panel import Panel
from mhpc.data.profiles import Proportion
from mhpc.explanation.without_sources import (
    SetPredictor,
    keep_sources,
    list_pairs,
    match_sets,
    match_without,
)
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.system.display import Progress, silent

ONE_BY_ONE = 30
"""The number of sources from which on they are dropped one by one."""

_QUANTILE = 1.959964
"""The normal quantile of a 95 % interval."""

_STAGE = "dropping sources"


@dataclass(frozen=True, eq=False)
class CostSample:
    """On what a curve is measured.

    Attributes
    ----------
    panel : Panel
        The instances on which label sets are compared with those of all sources.
    gold_panel, gold : Panel and csr_array, or None
        The instances with gold labels, without these, and the gold labels with ancestors.
    names : sequence of str
        The sources; those of the panels may have gold labels as a further one.
    saved : float array, (M,)
        The cost of all answers of each source.
    """

    panel: Panel
    names: Sequence[str]
    saved: FloatArray
    gold_panel: Panel | None = None
    gold: Sparse | None = None


def trace_costs(
    predictor: SetPredictor,
    sample: CostSample,
    *,
    one_by_one: int = ONE_BY_ONE,
    progress: Progress = silent,
) -> tuple[tuple[PanelPoint, ...], list[IntArray]]:
    """Drop sources until one is left.

    Parameters
    ----------
    predictor : SetPredictor
        Decides on label sets.
    sample : CostSample
        On what to measure, and what sources cost.
    one_by_one : int
        The number of sources from which on they are dropped one by one.
    progress : callable
        Called with the number of sources that were dropped.

    Returns
    -------
    curve : tuple of PanelPoint
        From all sources to one.
    panels : list of int arrays
        The sources of every point.
    """
    M = len(sample.names)
    reference = predictor.decide(sample.panel)
    kept, dropped = np.ones(len(sample.panel.sources), dtype=bool), np.zeros(0, dtype=np.int64)
    kept[M:] = False
    curve, panels = [], []
    while True:
        remaining = np.flatnonzero(kept)
        panel = keep_sources(sample.panel, kept)
        f = match_sets(predictor.decide(panel), reference, panel).f
        curve.append(_make_point(predictor, sample, kept, f, dropped))
        panels.append(remaining)
        if len(remaining) == 1:
            return tuple(curve), panels
        progress(_STAGE, M - len(remaining), M - 1)
        losses = _lose_each(predictor, panel, reference, f)[remaining]
        count = count_dropped(len(remaining), one_by_one)
        dropped = _choose_dropped(remaining, losses, sample, count)
        kept[dropped] = False


def count_dropped(remaining: int, one_by_one: int = ONE_BY_ONE) -> int:
    """Return how many sources to drop at a time: a tenth of many, but not below `one_by_one`."""
    return max(1, min(remaining // 10, remaining - one_by_one))


def count_trials(sources: int, one_by_one: int = ONE_BY_ONE) -> int:
    """Return how many sources are tried in all rounds together."""
    trials = 0
    while sources > 1:
        trials += sources
        sources -= count_dropped(sources, one_by_one)
    return trials


def _make_point(
    predictor: SetPredictor, sample: CostSample, kept: BoolArray, f: FloatArray, dropped: IntArray
) -> PanelPoint:
    matched = f
    if sample.gold_panel is not None and sample.gold is not None:
        panel = keep_sources(sample.gold_panel, kept)
        matched = match_sets(predictor.decide(panel), sample.gold, panel).f
    return PanelPoint(
        sources=int(kept.sum()),
        dropped=tuple(sample.names[m] for m in dropped),
        cost=float(sample.saved[kept[: len(sample.saved)]].sum()),
        agreement=float(f.mean()),
        quality=estimate_mean(matched),
    )


def estimate_mean(values: FloatArray) -> Proportion:
    """Return the mean of shares with its normal 95 % interval, within 0 and 1."""
    mean = float(values.mean())
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
    return Proportion(mean, max(0.0, mean - _QUANTILE * error), min(1.0, mean + _QUANTILE * error))


def _lose_each(
    predictor: SetPredictor, panel: Panel, reference: Sparse, f: FloatArray
) -> FloatArray:
    """Return the loss of mean F without each source, (M,); an instance without it stays as is."""
    pairs = list_pairs(panel)
    without = match_without(predictor, panel, pairs, reference).f
    instance, source = pairs
    lost = np.bincount(source, f[instance] - without, minlength=len(panel.sources))
    return np.asarray(lost / len(panel.instances))


def _choose_dropped(
    remaining: IntArray, losses: FloatArray, sample: CostSample, count: int
) -> IntArray:
    """Choose by the loss per cost saved; of equal ones by the most saved, then by name."""

    def rank(position: int) -> tuple[float, float, str]:
        source = remaining[position]
        # Rounded, so that sums of equal numbers in another order stay equal. No loss is no loss.
        loss, saved = max(round(float(losses[position]), 12), 0.0), float(sample.saved[source])
        return (loss / saved if saved > 0 else np.inf, -saved, sample.names[source])

    ranked = sorted(range(len(remaining)), key=rank)
    return np.sort(remaining[ranked[:count]])


def choose_panel(curve: Sequence[PanelPoint], keep: float) -> int:
    """Return the cheapest point with at least a share of the quality of the first."""
    enough = keep * curve[0].quality.value - 1e-12
    points = [n for n, point in enumerate(curve) if point.quality.value >= enough]
    return min(points, key=lambda n: (curve[n].cost, curve[n].sources))
