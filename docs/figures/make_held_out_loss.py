"""Draw the loss on held-out sources against the loss against the truth: make_held_out_loss.py FILE.

One point per method, on the bundled example.
"""

import sys
from pathlib import Path

import mhpc
from mhpc.paper.render import drawing, log_scale, new_figure, style, to_svg

METHODS = (
    "sa", "wa", "majority", "inat", "dawid-skene", "one-truth", "mlcm", "mhpc", "cross-source",
    "channel",
)  # fmt: skip


def main(target: Path) -> None:
    """Write the picture as SVG."""
    garden = mhpc.load_garden()
    comparisons = mhpc.compare(garden.votes, garden.taxonomy, METHODS, truth=garden.truth)
    with drawing():
        figure = new_figure(1, 1, width=6.5, height=3.6)
        axes = figure.axes[0]
        for comparison in comparisons:
            candidate = comparison.candidate
            if candidate is None:
                continue
            look = {**style(comparison.name), "linestyle": "none", "markersize": 7}
            axes.errorbar(
                [candidate.loss("closed")],
                [comparison.scorecards[0]["ranking_loss"]],
                xerr=[candidate.standard_error("closed")],
                label=comparison.name,
                elinewidth=0.8,
                **look,
            )
        log_scale(axes)
        axes.set_xlabel("loss on held-out sources (cross-validation, no truth needed)")
        axes.set_ylabel("ranking loss against the truth")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
        target.write_text(to_svg(figure), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
