"""Draw source profiles, estimated without truth, beside the truth: make_sources.py FILE."""

import sys
from pathlib import Path

import numpy as np

import mhpc
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import dense
from mhpc.paper.render import drawing, new_figure, to_svg
from mhpc.result import Result

COLOURS = {"accurate": "#2a6f4e", "vague": "#c9a227", "wrong": "#b0521b"}


def main(target: Path) -> None:
    """Write the picture as SVG."""
    garden = mhpc.load_garden()
    result = mhpc.consolidate(garden.votes, garden.taxonomy)
    profiles = sorted(result.sources, key=lambda profile: profile.wrong.value)
    truth = wrong_by_truth(result, garden)
    with drawing():
        figure = new_figure(1, 1, width=7.5, height=3.8)
        axes = figure.axes[0]
        names = [f"{profile.source} ({profile.answers})" for profile in profiles]
        left = np.zeros(len(profiles))
        for kind in ("wrong", "vague", "accurate"):
            share = np.array([getattr(profile, kind).value for profile in profiles])
            axes.barh(names, share, left=left, color=COLOURS[kind], label=kind, height=0.7)
            left += share
        marks = [truth[profile.source] for profile in profiles]
        axes.plot(marks, names, "kD", markersize=5, label="wrong according to the truth", zorder=3)
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of a person's most specific labels (number of answers in brackets)")
        axes.grid(visible=False)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4)
        target.write_text(to_svg(figure), encoding="utf-8")


def wrong_by_truth(result: Result, garden: Dataset) -> dict[str, float]:
    """Return the share of each source's most specific labels that are not true."""
    panel = result.panel
    true = dense(encode_truth(garden.truth, panel.taxonomy, panel.instances).closed) > 0
    voted = dense(panel.raw) > 0
    # A label above another one of the same answer is not among its most specific labels.
    above = dense(panel.taxonomy.closure) - np.eye(len(panel.taxonomy))
    specific = voted & ~(voted @ above > 0)
    wrong = specific & ~true[panel.instance]
    return {
        source: float(wrong[panel.source == m].sum() / specific[panel.source == m].sum())
        for m, source in enumerate(panel.sources)
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
