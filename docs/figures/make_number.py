"""Draw the ranking loss against the number of sources: make_number.py FILE."""

import statistics
import sys
from pathlib import Path

import mhpc
from mhpc.methods.registry import make_method
from mhpc.paper.render import drawing, label_axes, log_scale, new_figure, style, to_svg

NUMBERS = (1, 2, 4, 8, 12)
SEEDS = range(2)
METHODS = {
    "sa": mhpc.SA(votes="augmented"),
    "mhpc": mhpc.MHPC(votes="augmented"),
    "dawid-skene": make_method("dawid-skene"),
    "cross-source": mhpc.CrossSource(),
    "channel": mhpc.Channel(),
}


def main(target: Path) -> None:
    """Write the picture as SVG."""
    losses = {name: [loss(name, number) for number in NUMBERS] for name in METHODS}
    with drawing():
        figure = new_figure(1, 1, width=6.5, height=3.6)
        axes = figure.axes[0]
        for name, values in losses.items():
            axes.plot(NUMBERS, values, label=name, **style(name))
        axes.set_xticks(NUMBERS)
        log_scale(axes)
        label_axes(
            axes,
            x="number of sources, each of which answers every photograph",
            metric="ranking_loss",
        )
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
        target.write_text(to_svg(figure), encoding="utf-8")


def loss(name: str, number: int) -> float:
    """Return the mean over seeds of the ranking loss against the truth with its ancestors."""
    garden = mhpc.load_garden()
    losses = []
    for seed in SEEDS:
        sources = [mhpc.Profile()] * number
        votes = mhpc.simulate(garden.truth, garden.taxonomy, sources, seed=seed)
        panel = mhpc.encode(votes, garden.taxonomy)
        losses.append(mhpc.evaluate(METHODS[name].consolidate(panel), garden.truth)["ranking_loss"])
    return statistics.fmean(losses)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
