"""What a source is worth: predicted without it by the fitted model, and fitted again without it.

python -m benchmarks.quality.contributions [SET ...]

`mhpc.source_contributions` predicts without the answers of a source and fits nothing again. Here
the default method is also fitted to the votes without the source, with its rule, and the label sets
of all instances are compared with those of all sources. Of sets with more than 20 sources, the ten
with the most answers are left out in turn.

Prints, for every set, the rank correlation of the two agreements over its sources, their mean
absolute difference, and both for the source on which the result depends most; and writes
benchmarks/results/quality_contributions.json.
"""

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import spearmanr

import mhpc
from benchmarks.data import NO_DATA, data_folder, read_set
from benchmarks.environment import write_result
from mhpc.data.index import UNKNOWN
from mhpc.explanation.without_sources import match_sets

SETS = ("chexpert", "dog", "ecg_kin", "imclef07a_models", "ec_tools", "sleep_dodh")

MAX_SOURCES, MOST_ANSWERS = 20, 10
"""Of more sources than the first, only so many with the most answers are left out."""


def main() -> None:
    """Measure all sets, print the table and write all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    print(
        "| set | sources | rank correlation | mean difference of agreement | changed: predicted "
        "| changed: fitted again | seconds | seconds to fit again |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|"
    )
    for name, votes, taxonomy in read_sets(options.sets):
        row = {"set": name, **compare(votes, taxonomy)}
        rows.append(row)
        print(format_row(row), flush=True)
    write_result("quality_contributions", {"rows": rows})


def read_sets(wanted: Sequence[str]) -> Iterator[tuple[str, mhpc.Votes, mhpc.Taxonomy]]:
    """Yield the bundled example and, if they are there, sets of MHPC_DATA."""
    if not wanted or "garden" in wanted:
        garden = mhpc.load_garden()
        yield "garden", garden.votes, garden.taxonomy
    folder = data_folder()
    if folder is None:
        print(f"The other sets are left out: {NO_DATA}")
        return
    for name in SETS:
        if not wanted or name in wanted:
            data = read_set(folder / name)
            yield name, data.votes, data.taxonomy


@dataclass(frozen=True)
class Change:
    """The mean F between label sets with and without a source, and the share that changes."""

    agreement: float
    changed: float


def compare(votes: mhpc.Votes, taxonomy: mhpc.Taxonomy) -> dict[str, Any]:
    """Return both kinds of changes of every source, and how well they match."""
    result = mhpc.consolidate(votes, taxonomy, unknown="drop")
    start = time.perf_counter()
    worth = mhpc.source_contributions(result)
    seconds = time.perf_counter() - start
    predicted = {each.source: each for each in worth.sources}
    start = time.perf_counter()
    refitted = {
        source: fit_without(votes, taxonomy, source, result) for source in choose_sources(result)
    }
    seconds_refitting = time.perf_counter() - start
    pairs = np.array(
        [
            (
                predicted[source].agreement,
                change.agreement,
                predicted[source].changed,
                change.changed,
            )
            for source, change in refitted.items()
        ],
        dtype=float,
    )
    top = int(np.argmin(pairs[:, 1]))
    return {
        "sources": len(pairs),
        "rank_correlation": float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic),
        "mean_difference": float(np.abs(pairs[:, 0] - pairs[:, 1]).mean()),
        "largest": {"predicted": pairs[top, 2], "refitted": pairs[top, 3]},
        "same_first": bool(np.argmin(pairs[:, 0]) == top),
        "by_source": {
            source: dict(
                zip(("agreement", "refitted", "changed", "changed_refitted"), row, strict=True)
            )
            for source, row in zip(refitted, pairs.tolist(), strict=True)
        },
        "seconds": seconds,
        "seconds_refitting": seconds_refitting,
    }


def choose_sources(result: mhpc.Result) -> list[str]:
    """Return all sources, or those with the most answers of many."""
    ranked = sorted(result.sources, key=lambda each: (-each.answers, each.source))
    return [
        each.source for each in (ranked if len(ranked) <= MAX_SOURCES else ranked[:MOST_ANSWERS])
    ]


def fit_without(
    votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, source: str, result: mhpc.Result
) -> Change:
    """Consolidate the votes of all other sources, and compare the label sets of all instances."""
    kept = votes.source != votes.sources.positions[source]
    columns = {
        name: getattr(votes, name)[kept] for name in ("instance", "source", "label", "score")
    }
    negative = None if votes.negative is None else votes.negative[kept]
    others = replace(votes, **columns, negative=negative)
    refitted = mhpc.consolidate(others, taxonomy, unknown="drop")
    reference = result.decision.reason.astype(bool).astype(float).tocsr()
    # An instance without any other answer has no label set.
    answered = np.isin(np.arange(len(refitted.panel.instances)), refitted.panel.instance)
    position = refitted.panel.instances.locate(result.panel.instances)
    sets = refitted.decision.reason.astype(bool).astype(float).tocsr()
    sets = sparse.diags_array(answered.astype(float), format="csr") @ sets
    sets = sparse.vstack([sets, sparse.csr_array((1, sets.shape[1]))], format="csr")
    rows = np.where(position == UNKNOWN, sets.shape[0] - 1, position)
    aligned = sets[rows]
    aligned.eliminate_zeros()
    match = match_sets(aligned, reference, result.panel)
    return Change(float(match.f.mean()), float(1.0 - match.same.mean()))


def format_row(row: Mapping[str, Any]) -> str:
    """Return a row of the table."""
    largest = row["largest"]
    return (
        f"| {row['set']} | {row['sources']} | {row['rank_correlation']:.2f} "
        f"| {row['mean_difference']:.3f} | {largest['predicted']:.1%} | {largest['refitted']:.1%} "
        f"| {row['seconds']:.1f} | {row['seconds_refitting']:.1f} |"
    )


if __name__ == "__main__":
    main()
