"""Draw what lambda and sigma do to scores: python docs/figures/make_limits.py FILE.

The bundled example, equation 6 solved once: the scores of one photograph's labels and the ranking
loss over all photographs. Dots at the left and the right are the limits, computed independently.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.encoding.gold import encode_truth
from mhpc.methods.mhpc.algorithm import label_support
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
    limits = compute_limits(panel)
    sweeps: list[tuple[str, FloatArray, list[FloatArray], tuple[FloatArray, FloatArray]]] = [
        (f"lambda (sigma = {SIGMA:g})", LAMBDAS, [solve(panel, lam=x) for x in LAMBDAS],
         (limits["mean"], limits["lambda"])),
        (f"sigma (lambda = {LAM:g})", SIGMAS, [solve(panel, sigma=x) for x in SIGMAS],
         (limits["mean"], limits["sigma"])),
    ]  # fmt: skip
    row = panel.instances.positions[PHOTOGRAPH]
    with drawing():
        figure = new_figure(2, 2, width=9.0, height=6.2)
        for column, (name, values, scores, ends) in enumerate(sweeps):
            upper, lower = figure.axes[column], figure.axes[2 + column]
            draw_scores(upper, panel, values, [matrix[row] for matrix in scores],
                        (ends[0][row], ends[1][row]))  # fmt: skip
            losses = [ranking_loss(truth.specific, matrix) for matrix in scores]
            draw_losses(lower, values, losses,
                        [ranking_loss(truth.specific, limit) for limit in ends])  # fmt: skip
            lower.set_xlabel(name)
        figure.axes[0].set_ylabel(f"scores of the labels given to {PHOTOGRAPH}")
        figure.axes[2].set_ylabel("ranking loss, most specific truth")
        figure.axes[1].legend(loc="upper right", fontsize=8)
        target.write_text(to_svg(figure), encoding="utf-8")


def solve(panel: Panel, *, lam: float = LAM, sigma: float = SIGMA) -> FloatArray:
    """Return the solution of equation 6."""
    method = mhpc.MHPC(lam=lam, sigma=sigma, max_iter=0)
    return dense(method.consolidate(panel).specific[:])


def compute_limits(panel: Panel) -> dict[str, FloatArray]:
    """Return the limits of equation 6: either parameter to 0, lambda and sigma to infinity."""
    Y_bar = dense(panel.mean("raw", "answers"))
    S = label_support(SinglePartition(panel), alpha=mhpc.MHPC().alpha)
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
    values: FloatArray,
    rows: list[FloatArray],
    ends: tuple[FloatArray, FloatArray],
) -> None:
    """Draw one line per label."""
    voted = np.flatnonzero(ends[0] > 0)
    order = voted[np.argsort(-ends[0][voted], kind="stable")][: len(COLOURS)]
    for k, colour in zip(order, COLOURS, strict=False):
        name = panel.taxonomy.names[k]
        axes.plot(values, [row[k] for row in rows], color=colour, label=name)
        draw_limits(axes, values, (ends[0][k], ends[1][k]), colour)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)


def draw_losses(axes: Any, values: FloatArray, losses: list[float], ends: list[float]) -> None:
    """Draw the ranking loss."""
    axes.plot(values, losses, color="black")
    draw_limits(axes, values, (ends[0], ends[1]), "black")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)


def draw_limits(axes: Any, values: FloatArray, ends: tuple[float, float], colour: str) -> None:
    """Draw the two limits beside a curve."""
    margins = (values[0] / 2, values[-1] * 2)
    axes.plot(
        margins, ends, linestyle="none", marker="o", markersize=4, color=colour, clip_on=False
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
