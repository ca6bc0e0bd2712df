"""Draw what the iteration does: python docs/figures/make_iteration.py FILE.

The bundled example after every solve, with the right-hand side of the equation anchored to the
mean answer (the package's default), or replaced by the previous result (the paper's update).
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import mhpc
from mhpc.encoding.gold import encode_truth
from mhpc.metrics.ranking import ranking_loss
from mhpc.paper.render import drawing, new_figure, to_svg

ITERATIONS = 8
SIGMAS = {0.3: "-", 0.03: "--"}
ANCHORS = {
    "mean": ("the mean answer", "#0b7285", "o"),
    "previous": ("the previous result", "#b0521b", "s"),
}


def main(target: Path) -> None:
    """Write the picture as SVG."""
    warnings.simplefilter("ignore", mhpc.MhpcWarning)
    garden = mhpc.load_garden()
    panel = mhpc.encode(garden.votes, garden.taxonomy)
    truth = encode_truth(garden.truth, panel.taxonomy, panel.instances)
    with drawing():
        figure = new_figure(1, 2, width=9.0, height=3.4)
        loss, spread = figure.axes
        for sigma, dash in SIGMAS.items():
            for anchor, (name, colour, mark) in ANCHORS.items():
                method = mhpc.MHPC.model_validate(
                    {"anchor": anchor, "sigma": sigma, "tol": 0.0, "max_iter": ITERATIONS}
                )
                iterates = list(method.iterate(panel))
                look: dict[str, Any] = {"color": colour, "marker": mark, "linestyle": dash}
                losses = [ranking_loss(truth.specific, step.specific) for step in iterates]
                loss.plot(losses, **look, label=f"{name}, sigma = {sigma:g}")
                spread.plot([step.spread for step in iterates[-1].trace], **look)
        loss.set_ylabel("ranking loss, most specific truth")
        spread.set_ylabel("spread between instances\n(1: as in the votes, 0: all the same)")
        for axes in figure.axes:
            axes.set_xlabel("iteration (0: the first solve)")
            axes.set_ylim(bottom=0)
        spread.legend(*loss.get_legend_handles_labels(), loc="upper right", fontsize=8)
        target.write_text(to_svg(figure), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
