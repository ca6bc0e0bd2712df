"""Draw what an error that sources share does to the result: make_shared_error.py FILE.

Eight simulated sources label the photographs of the bundled example. More and more of them mistake
every downy woodpecker for a hairy one.
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
MISTAKEN = (0, 2, 4, 5, 6, 8)
TRUE_LABEL, MISTAKEN_LABEL = "downy woodpecker", "hairy woodpecker"
METHODS = {"majority": "--", "dawid-skene": ":", "channel": "-"}
"""The methods shown, with the dashes of their lines: two have the same colour."""


def main(target: Path) -> None:
    """Write the picture as SVG."""
    measures = {name: [measure(name, mistaken) for mistaken in MISTAKEN] for name in METHODS}
    with drawing():
        figure = new_figure(1, 2, width=8, height=3.2)
        recall, held_out = figure.axes
        for name, points in measures.items():
            look = {**style(name), "linestyle": METHODS[name]}
            recall.plot(MISTAKEN, [share for share, _ in points], label=name, **look)
            held_out.plot(MISTAKEN, [loss for _, loss in points], **look)
        recall.set_ylabel("downy woodpeckers found")
        recall.set_ylim(-0.03, 1.03)
        held_out.set_ylabel("loss on held-out sources")
        held_out.set_ylim(0, 0.4)
        for axes in figure.axes:
            axes.set_xticks(range(0, SOURCES + 1, 2))
            axes.set_xlabel(f"sources that make the error, of {SOURCES}")
        figure.legend(*recall.get_legend_handles_labels(), loc="outside upper center", ncols=3)
        target.write_text(to_svg(figure), encoding="utf-8")


def measure(name: str, mistaken: int) -> tuple[float, float]:
    """Return the share of downy woodpeckers found, and the loss on held-out sources."""
    garden = mhpc.load_garden()
    votes = simulate_mistake(garden, range(mistaken))
    result = mhpc.consolidate(votes, garden.taxonomy, method=name)
    truth = encode_truth(garden.truth, garden.taxonomy, result.panel.instances)
    label = garden.taxonomy.labels.positions[TRUE_LABEL]
    woodpeckers = truth.rows[dense(truth.closed)[:, label] > 0]
    is_found = dense(result.decision.reason)[woodpeckers][:, label] > 0
    (comparison,) = mhpc.compare(votes, garden.taxonomy, [name], folds=2)
    candidate = comparison.candidate
    return float(is_found.mean()), candidate.loss("closed") if candidate else np.nan


def simulate_mistake(garden: Dataset, mistaken: Sequence[int]) -> mhpc.Votes:
    """Return simulated votes in which some sources never give the true label."""
    profile = mhpc.Profile(specificity=0.95, accuracy=0.8)
    votes = mhpc.simulate(garden.truth, garden.taxonomy, [profile] * SOURCES, seed=0)
    true, wrong = (votes.labels.positions[label] for label in (TRUE_LABEL, MISTAKEN_LABEL))
    is_replaced = (votes.label == true) & np.isin(votes.source, list(mistaken))
    return replace(votes, label=np.where(is_replaced, wrong, votes.label))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
