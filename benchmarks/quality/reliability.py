"""Do scores mean what they say: score against the share of labels that are true, or affirmed.

python -m benchmarks.quality.reliability
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import mhpc
from benchmarks.data import NO_DATA, cellcycle, data_folder, read_set
from benchmarks.environment import write_result
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.paper.render import drawing, new_figure, to_svg

BINS = np.linspace(0, 1, 11)
SETS = ("chexpert", "dog", "birthplaces")
FIGURE = Path(__file__).parents[1] / "results" / "reliability.svg"


def main() -> None:
    """Measure, print the errors, draw the diagram and write both."""
    warnings.simplefilter("ignore", mhpc.MhpcWarning)
    curves = [curve(name, data) for name, data in sets()]
    print("| set | error against truth | with 50 gold |\n|---|---:|---:|")
    for each in curves:
        gold = "-" if each["gold"] is None else f"{each['gold']:.3f}"
        print(f"| {each['set']} | {each['error']:.3f} | {gold} |")
    write_result("quality_reliability", {"curves": curves})
    FIGURE.write_text(diagram(curves), encoding="utf-8")
    print(f"Written: {FIGURE.relative_to(Path.cwd())}")


def sets() -> list[tuple[str, Dataset]]:
    """Return the bundled example, and, where the data are available, generated and real votes."""
    sets_read = [("garden", mhpc.load_garden())]
    folder = data_folder()
    if folder is None:
        print(f"Left out, since {NO_DATA}: cellcycle, {', '.join(SETS)}")
        return sets_read
    sets_read.append(("cellcycle, M = 4", cellcycle(4, seed=0)[0]))
    return sets_read + [(name, read_set(folder / name)) for name in SETS]


def curve(name: str, data: Dataset) -> dict[str, Any]:
    """Return the share of true labels in every bin of scores, and the mean distance between."""
    result = mhpc.consolidate(data.votes, data.taxonomy, unknown="drop")
    score, true = _cells(result, data, leave_out=0)
    share, weight = _binned(score, true)
    return {
        "set": name,
        "share": share.tolist(),
        "weight": weight.tolist(),
        "error": _error(score, true),
        "gold": _with_gold(data),
    }


def _with_gold(data: Dataset, count: int = 50) -> float | None:
    """Return the error on the others when the first instances are known."""
    truth = data.truth
    known = truth.instance < count
    gold = mhpc.Truth(truth.instances, truth.labels, truth.instance[known], truth.label[known])
    result = mhpc.consolidate(data.votes, data.taxonomy, unknown="drop", gold=gold)
    return _error(*_cells(result, data, leave_out=count))


def _cells(result: Any, data: Dataset, *, leave_out: int) -> tuple[FloatArray, FloatArray]:
    panel = result.panel
    known = encode_truth(data.truth, panel.taxonomy, panel.instances, unknown="drop")
    first = set(data.truth.instances.ids[:leave_out])
    kept = np.array([panel.instances[row] not in first for row in known.rows])
    score = dense(result.consolidation.score[known.rows[kept]])
    true = dense(known.closed[kept])
    answered = score > 0
    return score[answered], true[answered]


def _binned(score: FloatArray, true: FloatArray) -> tuple[FloatArray, FloatArray]:
    bin_ = np.minimum((score * (len(BINS) - 1)).astype(int), len(BINS) - 2)
    weight = np.bincount(bin_, minlength=len(BINS) - 1).astype(float)
    total = np.bincount(bin_, true, minlength=len(BINS) - 1)
    return np.divide(total, weight, out=np.full(len(weight), -1.0), where=weight > 0), weight


def _error(score: FloatArray, true: FloatArray) -> float:
    bin_ = np.minimum((score * (len(BINS) - 1)).astype(int), len(BINS) - 2)
    gap = np.bincount(bin_, score - true, minlength=len(BINS) - 1)
    return float(np.abs(gap).sum() / max(len(score), 1))


def diagram(curves: list[dict[str, Any]]) -> str:
    """Draw the curves beside the diagonal; above it scores say too little, below too much."""
    with drawing():
        figure = new_figure(1, 1, width=5, height=4.6)
        (axes,) = figure.axes
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, label="as it should be")
        middle = (BINS[1:] + BINS[:-1]) / 2
        for mark, dash, curve in zip("osD^v", ("-", "--", "-.", ":", "-"), curves, strict=False):
            share = np.array(curve["share"])
            answered = share >= 0
            axes.plot(
                middle[answered], share[answered], marker=mark, linestyle=dash, label=curve["set"],
                color=("#00204c", "#7a1f3d", "#2a6f4e", "#b0521b", "#3f6fb5")["osD^v".index(mark)],
            )  # fmt: skip
        axes.set_xlabel("score")
        axes.set_ylabel("share of labels that are true")
        axes.legend(loc="upper left")
        return to_svg(figure)


if __name__ == "__main__":
    main()
