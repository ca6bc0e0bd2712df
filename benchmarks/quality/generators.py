"""Algorithm 2 read one way and another: what sources it gives, and what `mhpc` makes of them.

Cellcycle, four sources, alpha_vague = 0.8 and alpha_noise = 0.5, the most specific labels true; the
paper's figures for the same setting stand in the last line.

python -m benchmarks.quality.generators
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

import mhpc
from benchmarks.data import cellcycle
from benchmarks.environment import write_result
from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import encode_truth
from mhpc.metrics.ranking import coverage_error, micro_auc, ranking_loss
from mhpc.numerics.arrays import FloatArray, IntArray, dense
from mhpc.paper.published import published_value
from mhpc.simulation.sources import ABOVE, make_noisy, make_vague, make_votes

SOURCES = 4
VAGUE, NOISE = 0.8, 0.5
SEEDS = range(3)
METRICS = ("ranking_loss", "micro_auc", "coverage_error")

Generator: TypeAlias = Callable[[IntArray, Taxonomy, np.random.Generator], IntArray]
"""What one source says in place of true labels; ABOVE where it says nothing."""


def as_printed(label: IntArray, taxonomy: Taxonomy, rng: np.random.Generator) -> IntArray:
    """Return what `mhpc.simulate` does."""
    return make_noisy(_vague(label, taxonomy, rng), _swapped(label, rng), taxonomy, rng)


def kept_at_the_top(label: IntArray, taxonomy: Taxonomy, rng: np.random.Generator) -> IntArray:
    """Let a label that hops past the top stay there, rather than be lost."""
    p_V = rng.random(len(label))
    # A draw that no root passes stops at it.
    return _noisy(_hopped(label, np.minimum(p_V, VAGUE), taxonomy, rng), taxonomy, rng)


def redrawn_for_every_hop(
    label: IntArray, taxonomy: Taxonomy, rng: np.random.Generator
) -> IntArray:
    """Draw p_V again after every hop."""
    said, moving = label.copy(), np.arange(len(label))
    while len(moving):
        level = np.append(taxonomy.depth, 0)[said[moving]]
        moving = moving[rng.random(len(moving)) > VAGUE**level]
        said[moving] = _parents(said[moving], taxonomy)
        moving = moving[said[moving] != ABOVE]
    return _noisy(said, taxonomy, rng)


def never_itself(label: IntArray, taxonomy: Taxonomy, rng: np.random.Generator) -> IntArray:
    """Draw a sibling until it is another label, where there is one."""
    vague = _vague(label, taxonomy, rng)
    swapped, said = _swapped(label, rng), vague.copy()
    for _ in range(50):
        again = swapped & (said == vague)
        said = make_noisy(said, again, taxonomy, rng)
    return said


def as_the_text_says(label: IntArray, taxonomy: Taxonomy, rng: np.random.Generator) -> IntArray:
    """Hop with probability alpha_vague ^ level and swap with probability alpha_noise.

    Levels fall as a label hops and so the bound rises: what hops once hops past the top.
    """
    gone = rng.random(len(label)) < VAGUE ** taxonomy.depth[label]
    return _noisy(np.where(gone, ABOVE, label), taxonomy, rng, swap=NOISE)


READINGS: dict[str, Generator] = {
    "as printed (`mhpc.simulate`)": as_printed,
    "past the top: stays there": kept_at_the_top,
    "p_V drawn again for every hop": redrawn_for_every_hop,
    "never its own sibling": never_itself,
    "as the text says": as_the_text_says,
}


def main() -> None:
    """Generate, consolidate, print and write."""
    warnings.simplefilter("ignore", mhpc.MhpcWarning)
    data, origin = cellcycle(1, seed=0)
    print(f"{origin}, {SOURCES} sources, means over {len(SEEDS)} seeds\n")
    print("| Algorithm 2 | as it is | vaguer | lost | ranking loss | micro-AUC | coverage |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    rows: list[dict[str, Any]] = []
    cases = [(reading, data, generator) for reading, generator in READINGS.items()]
    cases.append(("as printed, ancestors true too", with_ancestors(data), as_printed))
    for reading, true_labels, generator in cases:
        runs = [measured(true_labels, generator, seed) for seed in SEEDS]
        row = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        rows.append({"reading": reading, **row})
        shares = " | ".join(f"{row[name]:.3f}" for name in ("exact", "vaguer", "lost"))
        losses = f"{row['ranking_loss']:.4f} | {row['micro_auc']:.4f}"
        print(f"| {reading} | {shares} | {losses} | {row['coverage_error']:.2f} |", flush=True)
    theirs = [published_value("cellcycle", "mhpc", SOURCES, metric) for metric in METRICS]
    print(f"| published | | | | {' | '.join(map(str, theirs))} |")
    write_result("quality_generators", {"rows": rows})


def with_ancestors(data: Dataset) -> Dataset:
    """Return the set with all that its true labels imply as true labels of their own."""
    known = encode_truth(data.truth, data.taxonomy, data.truth.instances)
    cells = known.closed.tocoo()
    truth = replace(
        data.truth, labels=data.taxonomy.labels, instance=known.rows[cells.row],
        label=cells.col.astype(np.int64),
    )  # fmt: skip
    return Dataset(data.votes, data.taxonomy, truth)


def measured(data: Dataset, generator: Generator, seed: int) -> dict[str, float]:
    """Return what becomes of labels, and how well `mhpc`, solved once, ranks the true ones."""
    rng, truth = np.random.default_rng(seed), data.truth
    true = data.taxonomy.locate(truth.labels)[truth.label]
    said = np.stack([generator(true.copy(), data.taxonomy, rng) for _ in range(SOURCES)])
    votes = make_votes(
        truth, data.taxonomy, Index(tuple(f"s{m}" for m in range(SOURCES))),
        np.tile(truth.instance, SOURCES), np.repeat(np.arange(SOURCES), len(true)), said.ravel(),
    )  # fmt: skip
    panel = mhpc.encode(votes, data.taxonomy)
    known = encode_truth(truth, panel.taxonomy, panel.instances)
    # The truth with or without ancestors, as it was passed in.
    true_labels = known.closed if len(truth) == known.closed.nnz else known.specific
    scores = dense(mhpc.MHPC(max_iter=0).consolidate(panel).specific[:])[known.rows]
    depth = np.append(data.taxonomy.depth, 0)
    return {
        "exact": float((said == true).mean()),
        "vaguer": float(((said != ABOVE) & (depth[said] < depth[true])).mean()),
        "lost": float((said == ABOVE).mean()),
        "ranking_loss": ranking_loss(true_labels, scores),
        "micro_auc": micro_auc(true_labels, scores),
        "coverage_error": coverage_error(true_labels, scores),
    }


def _vague(label: IntArray, taxonomy: Taxonomy, rng: np.random.Generator) -> IntArray:
    return _hopped(label, rng.random(len(label)), taxonomy, rng)


def _hopped(
    label: IntArray, p_V: FloatArray, taxonomy: Taxonomy, rng: np.random.Generator
) -> IntArray:
    return make_vague(label.copy(), p_V, np.full(len(label), VAGUE), taxonomy, rng)


def _swapped(label: IntArray, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return rng.random(len(label)) > NOISE


def _noisy(
    label: IntArray, taxonomy: Taxonomy, rng: np.random.Generator, *, swap: float = 1 - NOISE
) -> IntArray:
    return make_noisy(label.copy(), rng.random(len(label)) < swap, taxonomy, rng)


def _parents(label: IntArray, taxonomy: Taxonomy) -> IntArray:
    """Return the parent of every label of a tree."""
    parent = np.full(len(taxonomy), ABOVE)
    edges = taxonomy.parents.tocoo()
    parent[edges.row] = edges.col
    return np.asarray(parent[label])


if __name__ == "__main__":
    main()
