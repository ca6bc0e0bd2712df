"""Draw what the judge says without truth against what the truth says: make_surprise.py FILE."""

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
    found = mhpc.compare(garden.votes, garden.taxonomy, METHODS, truth=garden.truth)
    with drawing():
        figure = new_figure(1, 1, width=6.5, height=3.6)
        axes = figure.axes[0]
        for each in found:
            if each.candidate is None:
                continue
            log_rank_loss, error = (
                each.candidate.loss("closed"),
                each.candidate.standard_error("closed"),
            )
            loss = each.scorecards[0]["ranking_loss"]
            look = {**style(each.name), "linestyle": "none", "markersize": 7}
            axes.errorbar(
                [log_rank_loss], [loss], xerr=[error], label=each.name, elinewidth=0.8, **look
            )
        log_scale(axes)
        axes.set_xlabel("surprise at hidden answers: judged without truth")
        axes.set_ylabel("ranking loss, by the truth")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
        target.write_text(to_svg(figure), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
