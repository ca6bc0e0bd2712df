"""Draw what comes of an error that sources share: make_shared_error.py FILE.

Eight generated sources name the photographs of the example. More and more of them take every downy
woodpecker for a hairy one.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import mhpc
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import dense
from mhpc.paper.render import drawing, new_figure, style, to_svg

SOURCES = 8
MISLED = (0, 2, 4, 5, 6, 8)
TRUE, TAKEN_FOR = "downy woodpecker", "hairy woodpecker"
METHODS = {"majority": "--", "dawid-skene": ":", "channel": "-"}
"""Those shown, with how their lines are dashed: two have the same colour."""


def main(target: Path) -> None:
    """Write the picture as SVG."""
    found = {name: [outcome(name, misled) for misled in MISLED] for name in METHODS}
    with drawing():
        figure = new_figure(1, 2, width=8, height=3.2)
        right, log_rank_loss = figure.axes
        for name, points in found.items():
            look = {**style(name), "linestyle": METHODS[name]}
            right.plot(MISLED, [share for share, _ in points], label=name, **look)
            log_rank_loss.plot(MISLED, [loss for _, loss in points], **look)
        right.set_ylabel("downy woodpeckers that are found")
        right.set_ylim(-0.03, 1.03)
        log_rank_loss.set_ylabel("surprise at hidden answers")
        log_rank_loss.set_ylim(0, 0.4)
        for axes in figure.axes:
            axes.set_xticks(range(0, SOURCES + 1, 2))
            axes.set_xlabel(f"sources that make the error, of {SOURCES}")
        figure.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=3)
        target.write_text(to_svg(figure), encoding="utf-8")


def outcome(name: str, misled: int) -> tuple[float, float]:
    """Return the share of these birds whose set names them, and what the judge says."""
    garden = mhpc.load_garden()
    votes = misleading(garden, range(misled))
    result = mhpc.consolidate(votes, garden.taxonomy, method=name)
    truth = encode_truth(garden.truth, garden.taxonomy, result.panel.instances)
    label = garden.taxonomy.labels.positions[TRUE]
    there = truth.rows[dense(truth.closed)[:, label] > 0]
    found = dense(result.decision.reason)[there][:, label] > 0
    (judged,) = mhpc.compare(votes, garden.taxonomy, [name], folds=2)
    return float(found.mean()), judged.candidate.loss("closed") if judged.candidate else np.nan


def misleading(garden: Dataset, misled: Sequence[int]) -> mhpc.Votes:
    """Return generated votes in which some sources never say the true name."""
    profile = mhpc.Profile(specificity=0.95, accuracy=0.8)
    votes = mhpc.simulate(garden.truth, garden.taxonomy, [profile] * SOURCES, seed=0)
    old, new = (votes.labels.positions[each] for each in (TRUE, TAKEN_FOR))
    moved = (votes.label == old) & np.isin(votes.source, list(misled))
    return replace(votes, label=np.where(moved, new, votes.label))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
