"""A large ontology of which few labels are used: whole runs of `auto`, with the report.

python -m benchmarks.speed.ontology [--taxonomy go.obo]

600 instances and four tools with scores; the tools use about 900 terms, so that with ancestors a
few thousand labels are in use. Without ``--taxonomy``, the ontology is a generated tree of 40,000
labels; the Gene Ontology comes with the package psims. The bare work beside it is reading the
taxonomy and the votes.
"""

import argparse
import csv
import statistics
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import mhpc
from benchmarks.environment import interleave, met_or_missed, write_result
from benchmarks.speed.taxonomies import levels_of
from mhpc.data.taxonomy import Taxonomy
from mhpc.run import run
from mhpc.settings import RunSettings
from mhpc.write.tables import write_taxonomy

INSTANCES, TOOLS, TERMS = 600, 4, 900
WIDTHS = (3, 300, 2500, 7000, 10_000, 9000, 6000, 3500, 1697)
SECONDS = 15.0
"""At most so many seconds, on two cores."""


def main() -> None:
    """Generate votes, run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--taxonomy", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mhpc-") as name:
        folder = Path(name)
        path = options.taxonomy or folder / "taxonomy.csv"
        if options.taxonomy is None:
            write_taxonomy(path, levels_of(WIDTHS, parents=1))
        taxonomy = mhpc.read_taxonomy(path)
        write_votes(folder / "votes.csv", taxonomy)
        settings = RunSettings(votes=str(folder / "votes.csv"), taxonomy=str(path), report=True)
        seconds = interleave(
            {
                "read": partial(_read, settings),
                "auto": partial(run, settings, output=folder / "out", force=True),
            },
            repeats=options.repeats,
        )
        summary = run(settings, output=folder / "out", force=True)
        panel = mhpc.encode(mhpc.read_votes(settings.votes), taxonomy)
    used, median = np.count_nonzero(panel.occurrences), statistics.median(seconds["auto"])
    members = summary.combination.members if summary.combination else ()
    print(
        f"{len(taxonomy):,} labels, {used:,} in use: {median:.1f} s, reading alone "
        f"{statistics.median(seconds['read']):.1f} s; methods: {', '.join(members)}; at most "
        f"{SECONDS:g} s: {met_or_missed(median <= SECONDS)}"
    )
    write_result("speed_ontology", {"labels": len(taxonomy), "used": int(used), **seconds})


def _read(settings: RunSettings) -> None:
    mhpc.read_taxonomy(settings.taxonomy)
    mhpc.read_votes(settings.votes)


def write_votes(path: Path, taxonomy: Taxonomy) -> None:
    """Write what tools of falling accuracy say: true terms, ancestors of them, and others."""
    rng = np.random.default_rng(0)
    leaves = np.flatnonzero(np.diff(taxonomy.children.indptr) == 0)
    terms = rng.choice(leaves, TERMS, replace=False)
    popularity = 1 / np.arange(3, TERMS + 3)
    popularity /= popularity.sum()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("instance", "source", "label", "score"))
        for instance in range(INSTANCES):
            true = rng.choice(terms, size=rng.integers(2, 6), replace=False, p=popularity)
            for tool in range(TOOLS):
                for label, score in _answer(true, tool, terms, popularity, taxonomy, rng).items():
                    row = (f"p{instance}", f"tool{tool}", taxonomy.labels[label], f"{score:.3f}")
                    writer.writerow(row)


def _answer(
    true: np.ndarray,
    tool: int,
    terms: np.ndarray,
    popularity: np.ndarray,
    taxonomy: Taxonomy,
    rng: np.random.Generator,
) -> dict[int, float]:
    answer = {}
    for term in true[rng.random(len(true)) < 0.8]:
        label = int(term)
        while rng.random() < 0.3 and len(parents := taxonomy.parents_of(label)):
            label = int(rng.choice(parents))
        answer[label] = float(rng.beta(4, 1 + tool))
    for term in rng.choice(terms, size=rng.integers(1, 5), p=popularity):
        answer.setdefault(int(term), float(rng.beta(1 + tool / 2, 3)))
    return answer


if __name__ == "__main__":
    main()
