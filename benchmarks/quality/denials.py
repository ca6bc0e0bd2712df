"""What negative votes are worth, on real sets of MHPC_DATA whose answers are partly hidden.

python -m benchmarks.quality.denials [--sets NAME …] [--repeats 5]

Two fifths of the answers are hidden. Of each, only one thing is told: a label that another source
gives to the instance, that the hidden answer does not have and that its source gives elsewhere, as
a vote that it does not apply.
What is printed is the hierarchical F with these votes minus that without them: a mean over random
divisions, and its standard error. A source whose answers are hidden is asked a yes-or-no question,
so that this is what such questions add.
"""

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import mhpc
from benchmarks.data import NO_DATA, data_folder
from benchmarks.environment import write_result
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Votes

SETS = ("dog", "chexpert", "ecg_kin", "birthplaces", "sleep_dodh", "imagenet_raters", "taxa_its")
METHODS = ("majority", "wawa", "dawid-skene", "auto")
HIDDEN = 0.4
MOST_INSTANCES = 600


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--repeats", type=int, default=5)
    options, folder = parser.parse_args(), data_folder()
    if folder is None:
        print(f"Nothing to do: {NO_DATA}")
        return
    rows = []
    for name in options.sets:
        for method in METHODS:
            gains = [_gain(folder / name, method, seed) for seed in range(options.repeats)]
            error = float(np.std(gains, ddof=1) / len(gains) ** 0.5) if len(gains) > 1 else 0.0
            rows.append({"set": name, "method": method, "gain": float(np.mean(gains)), "se": error})
            print(f"{name:16} {method:12} {rows[-1]['gain']:+.4f} ± {error:.4f}", flush=True)
    for method in METHODS:
        gains = [row["gain"] for row in rows if row["method"] == method]
        print(f"{'mean of sets':16} {method:12} {np.mean(gains):+.4f}")
    write_result("quality_denials", {"hidden": HIDDEN, "rows": rows})


def _gain(folder: Path, method: str, seed: int) -> float:
    """Return how much hierarchical F rises with the negative votes of one division."""
    taxonomy = mhpc.read_taxonomy(folder / "taxonomy.csv")
    rng = np.random.default_rng(seed)
    votes = _sample_instances(mhpc.read_votes(folder / "votes.csv"), rng)
    kept, denied = _hide_answers(votes, taxonomy, rng)
    without, with_denials = (
        _measure(rows, taxonomy, method, folder / "truth.csv") for rows in (kept, [*kept, *denied])
    )
    return with_denials - without


Row = tuple[str, str, str | None, bool]
"""Instance, source, label, and whether the label does not apply."""


def _sample_instances(votes: Votes, rng: np.random.Generator) -> Votes:
    if len(votes.instances) <= MOST_INSTANCES:
        return votes
    chosen = rng.choice(len(votes.instances), MOST_INSTANCES, replace=False)
    rows = np.isin(votes.instance, chosen)
    return replace(
        votes, instance=votes.instance[rows], source=votes.source[rows], label=votes.label[rows],
        score=votes.score[rows],
    )  # fmt: skip


def _hide_answers(
    votes: Votes, taxonomy: Taxonomy, rng: np.random.Generator
) -> tuple[list[Row], list[Row]]:
    """Return the votes that are kept, and the negative ones in place of hidden answers."""
    answers: dict[tuple[int, int], list[int]] = {}
    for i, s, k in zip(votes.instance, votes.source, votes.label, strict=True):
        answers.setdefault((int(i), int(s)), []).append(int(k))
    hidden = {answer for answer in answers if rng.random() < HIDDEN}
    position = np.append(taxonomy.locate(votes.labels), -1)
    kept: list[Row] = []
    given: dict[int, set[int]] = {}
    for (i, s), labels in answers.items():
        if (i, s) in hidden:
            continue
        given.setdefault(i, set()).update(position[labels].tolist())
        kept += [(votes.instances[i], votes.sources[s], _name(votes, k), False) for k in labels]
    used: dict[int, set[int]] = {}
    for (_, s), labels in answers.items():
        used.setdefault(s, set()).update(position[labels].tolist())
    denied: list[Row] = []
    for i, s in sorted(hidden):
        own = taxonomy.with_ancestors(position[[k for k in answers[i, s] if k >= 0]])
        # Who never gives a label may not know it; nobody would ask them.
        others = sorted((given.get(i, set()) & used[s]) - set(own.tolist()) - {-1})
        if others:
            label = taxonomy.labels[int(rng.choice(others))]
            denied.append((votes.instances[i], votes.sources[s], label, True))
    return kept, denied


def _name(votes: Votes, label: int) -> str | None:
    return votes.labels[label] if label >= 0 else None


def _measure(rows: Sequence[Row], taxonomy: Taxonomy, method: str, truth: Path) -> float:
    names = ("instance", "source", "label", "negative")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = mhpc.consolidate({k: list(v) for k, v in columns.items()}, taxonomy, method=method)
        return mhpc.evaluate(result, truth, unknown="drop")["hierarchical_f"]


if __name__ == "__main__":
    main()
