"""What each step beyond the paper is worth, by cross-validation and against the truth.

python -m benchmarks.quality.ablation
"""

import warnings
from collections.abc import Iterator
from typing import Any

import mhpc
from benchmarks.data import NO_DATA, cellcycle, data_folder, read_set
from benchmarks.environment import write_result
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import encode_truth
from mhpc.methods.base import Method
from mhpc.metrics.ranking import ranking_loss
from mhpc.selection.cross_validation import cross_validate

BASE: dict[str, Any] = {"max_iter": 0}
STEPS: dict[str, dict[str, Any]] = {
    "the paper, solved once": {},
    "ancestors smoothed too": {"votes": "each"},
    "sigma from the data": {"sigma": None},
    "nearest-neighbour graph": {"n_neighbors": 30},
    "less smoothing with more answers": {"anchor_weight": "answers", "lam": 5.0},
    "labels below the votes filled in": {"fill_strength": 0.3},
    "correlated sources share one weight": {"source_weights": "learned"},
}
"""Each on top of the one before."""


def main() -> None:
    """Measure, print and write."""
    warnings.simplefilter("ignore", mhpc.MhpcWarning)
    rows = []
    for name, data in sets():
        panel = mhpc.encode(data.votes, data.taxonomy, unknown="drop")
        truth = encode_truth(data.truth, panel.taxonomy, panel.instances, unknown="drop")
        cross_validated = {
            candidate.name: candidate for candidate in cross_validate(panel, variants())
        }
        print(f"\n{name}\n\n| | cross-validation, closed | specific | truth, closed | specific |")
        print("|---|---:|---:|---:|---:|")
        for step, method in variants().items():
            consolidation = method.consolidate(panel)
            true = [
                ranking_loss(truth.closed, consolidation.score[truth.rows]),
                ranking_loss(truth.specific, consolidation.specific[truth.rows]),
            ]
            losses = [cross_validated[step].loss("closed"), cross_validated[step].loss("specific")]
            rows.append(
                {"set": name, "step": step, "cross_validation": losses, "ranking_loss": true}
            )
            print(f"| {step} | {' | '.join(f'{value:.4f}' for value in (*losses, *true))} |")
    write_result("quality_ablation", {"rows": rows})


def variants() -> dict[str, Method]:
    """Return mhpc with more and more of what goes past the paper."""
    parameters: dict[str, Any] = dict(BASE)
    methods: dict[str, Method] = {}
    for step, change in STEPS.items():
        parameters |= change
        methods[step] = mhpc.LocalMHPC.as_mhpc(**parameters)
    return methods


def sets() -> Iterator[tuple[str, Dataset]]:
    """Yield the bundled example, and, where the data are available, generated and real votes."""
    yield "garden", mhpc.load_garden()
    folder = data_folder()
    if folder is None:
        print(f"Left out, since {NO_DATA}: cellcycle, cellcycle_models, chexpert")
        return
    yield "cellcycle, M = 4", cellcycle(4, seed=0)[0]
    for name in ("cellcycle_models", "chexpert"):
        yield name, read_set(folder / name)


if __name__ == "__main__":
    main()
