"""Draw what lambda and sigma do to scores: python docs/figures/make_limits.py FILE.

The bundled example, equation 6 solved once: the labels said of one photograph, and the ranking loss
over all, from end to end. Dots at the left and at the right are the limits, worked out apart.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.encoding.gold import encode_truth
from mhpc.methods.mhpc.algorithm import support_in
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.paper.render import drawing, new_figure, to_svg

PHOTOGRAPH = "photo-073"
LAMBDAS, SIGMAS = np.logspace(-3, 4, 57), np.logspace(-3, 2, 51)
LAM, SIGMA = 10.0, 0.3
COLOURS = ("#0b7285", "#b0521b", "#2a6f4e", "#7a1f3d", "#3f6fb5", "#8a8a00")


def main(target: Path) -> None:
    """Write the picture as SVG."""
    garden = mhpc.load_garden()
    panel = mhpc.encode(garden.votes, garden.taxonomy)
    truth = encode_truth(garden.truth, panel.taxonomy, panel.instances)
    ends = limits(panel)
    sweeps: list[tuple[str, FloatArray, list[FloatArray], tuple[FloatArray, FloatArray]]] = [
        (f"lambda (sigma = {SIGMA:g})", LAMBDAS, [solved(panel, lam=x) for x in LAMBDAS],
         (ends["mean"], ends["lambda"])),
        (f"sigma (lambda = {LAM:g})", SIGMAS, [solved(panel, sigma=x) for x in SIGMAS],
         (ends["mean"], ends["sigma"])),
    ]  # fmt: skip
    case = panel.instances.positions[PHOTOGRAPH]
    with drawing():
        figure = new_figure(2, 2, width=9.0, height=6.2)
        for column, (name, values, scores, both) in enumerate(sweeps):
            upper, lower = figure.axes[column], figure.axes[2 + column]
            draw_scores(upper, panel, case, values, [found[case] for found in scores],
                        (both[0][case], both[1][case]))  # fmt: skip
            losses = [ranking_loss(truth.specific, found) for found in scores]
            draw_losses(lower, values, losses,
                        [ranking_loss(truth.specific, end) for end in both])  # fmt: skip
            lower.set_xlabel(name)
        figure.axes[0].set_ylabel(f"score of a label said of {PHOTOGRAPH}")
        figure.axes[2].set_ylabel("ranking loss, most specific truth")
        figure.axes[1].legend(loc="upper right", fontsize=8)
        target.write_text(to_svg(figure), encoding="utf-8")


def solved(panel: Panel, *, lam: float = LAM, sigma: float = SIGMA) -> FloatArray:
    """Return equation 6."""
    method = mhpc.MHPC(lam=lam, sigma=sigma, max_iter=0)
    return dense(method.consolidate(panel).specific[:])


def limits(panel: Panel) -> dict[str, FloatArray]:
    """Return where equation 6 goes: for either at 0, for lambda and for sigma without end."""
    Y_bar = dense(panel.mean("raw", "answers"))
    S = support_in(SinglePartition(panel), alpha=mhpc.MHPC().alpha)
    d = np.exp(-cdist(Y_bar, Y_bar, "euclidean", w=S) / SIGMA).sum(axis=1)
    root = np.sqrt(d)
    return {
        "mean": Y_bar,
        "lambda": np.outer(root, root @ Y_bar / d.sum()),
        "sigma": (Y_bar + LAM * Y_bar.mean(axis=0)) / (1 + LAM),
    }


def draw_scores(
    axes: Any,
    panel: Panel,
    case: int,
    values: FloatArray,
    rows: list[FloatArray],
    ends: tuple[FloatArray, FloatArray],
) -> None:
    """Draw a line a label."""
    said = np.flatnonzero(ends[0] > 0)
    order = said[np.argsort(-ends[0][said], kind="stable")][: len(COLOURS)]
    for label, colour in zip(order, COLOURS, strict=False):
        name = panel.taxonomy.names[label]
        axes.plot(values, [row[label] for row in rows], color=colour, label=name)
        _dots(axes, values, (ends[0][label], ends[1][label]), colour)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)


def draw_losses(axes: Any, values: FloatArray, losses: list[float], ends: list[float]) -> None:
    """Draw one line."""
    axes.plot(values, losses, color="black")
    _dots(axes, values, (ends[0], ends[1]), "black")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)


def _dots(axes: Any, values: FloatArray, ends: tuple[float, float], colour: str) -> None:
    at = (values[0] / 2, values[-1] * 2)
    axes.plot(at, ends, linestyle="none", marker="o", markersize=4, color=colour, clip_on=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
