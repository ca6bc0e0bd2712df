"""Votes of any size, made up: what a crowd says of instances that come in clusters.

python -m benchmarks.speed.generate FOLDER --instances 1000000
"""

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from mhpc.numerics.arrays import IntArray

BLOCK = 100_000
"""Instances drawn at once, so that memory does not grow with their number."""

LEFT_OUT = 0.15
"""How often a source passes over a true label."""

VAGUE = 0.2
"""How often it gives an ancestor in place of a true label that it does not pass over."""

WRONG = 0.08
"""How often it gives a sibling in its place."""

LABEL = "L{:03d}"
"""How the id of a label is written, in Python and in SQL alike."""

CLUSTER_LABELS = 12
"""Labels that the instances of a cluster choose among."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The first parent of every label (-1 for roots), further parents, and its leaves."""

    parent: IntArray
    further: list[tuple[int, int]]
    leaves: IntArray
    sibling: IntArray


def generate(
    path: Path,
    *,
    instances: int,
    answers: int = 5,
    labels_per_answer: float = 2.5,
    labels: int = 500,
    levels: int = 5,
    parents: float = 1.0,
    sources: int = 20,
    order: str = "instance",
    seed: int = 0,
) -> None:
    """Write ``votes.parquet``, ``truth.parquet`` and ``taxonomy.csv`` into a folder.

    Every instance belongs to a cluster and has some of the cluster's labels, which are shared
    by Zipf's law. Each of its answers comes from another source, and says each true label, an
    ancestor or a sibling of it, or nothing.

    Parameters
    ----------
    instances, answers, labels_per_answer, labels, sources
        How many: answers an instance, labels an answer on average, labels and sources in all.
    levels : int
        Levels of the tree, each larger than the one above.
    parents : float
        Parents of a label on average; above 1 the tree becomes a DAG.
    order : "instance" or "random"
        The order of the rows: by instance, or as they might arrive.
    """
    rng = np.random.default_rng(seed)
    tree = make_tree(labels, levels=levels, parents=parents, rng=rng)
    path.mkdir(parents=True, exist_ok=True)
    _write_taxonomy(path / "taxonomy.csv", tree)
    clusters = _clusters(tree, rng)
    truths = labels_per_answer / (1 - LEFT_OUT)
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit = '2GB'")
        connection.execute("CREATE TABLE votes (instance INTEGER, source SMALLINT, label INTEGER)")
        connection.execute("CREATE TABLE truth (instance INTEGER, label INTEGER)")
        for start in range(0, instances, BLOCK):
            count = min(BLOCK, instances - start)
            true = _true_labels(count, clusters, truths, rng)
            row, rank = np.nonzero(true >= 0)
            _insert(connection, "truth", {"instance": row + start, "label": true[row, rank]})
            said = _answers(true, tree, answers, sources, rng)
            _insert(connection, "votes", {**said, "instance": said["instance"] + start})
        _copy(connection, path, order)


def make_tree(labels: int, *, levels: int, parents: float = 1.0, rng: np.random.Generator) -> Tree:
    """Draw a tree whose levels grow by a constant factor, with further parents if wanted."""
    share = np.cumsum(2.2 ** np.arange(levels))
    ends = np.maximum(np.round(labels * share / share[-1]), np.arange(1, levels + 1)).astype(int)
    level = np.searchsorted(ends, np.arange(labels), side="right")
    begins = np.concatenate([[0], ends])
    parent = np.full(labels, -1)
    below = np.flatnonzero(level)
    parent[below] = rng.integers(begins[level[below] - 1], begins[level[below]])
    second = below[rng.random(len(below)) < parents - 1]
    drawn = rng.integers(0, begins[level[second]])
    further = [(int(k), int(p)) for k, p in zip(second, drawn, strict=True) if parent[k] != p]
    with_child = np.zeros(labels, dtype=bool)
    with_child[parent[below]] = True
    return Tree(parent, further, np.flatnonzero(~with_child), _siblings(parent))


def _siblings(parent: IntArray) -> IntArray:
    """Return the next label below the same parent, round and round."""
    order = np.argsort(parent, kind="stable")
    first = np.searchsorted(parent[order], parent[order], side="left")
    last = np.searchsorted(parent[order], parent[order], side="right")
    place = np.arange(len(order))
    sibling = np.empty_like(order)
    sibling[order] = order[np.where(place + 1 < last, place + 1, first)]
    return sibling


def _write_taxonomy(path: Path, tree: Tree) -> None:
    edges = [*enumerate(tree.parent.tolist()), *tree.further]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("label", "parent", "name"))
        for label, parent in sorted(edges):
            above = LABEL.format(parent) if parent >= 0 else ""
            writer.writerow((LABEL.format(label), above, f"label number {label}"))


def _clusters(tree: Tree, rng: np.random.Generator) -> IntArray:
    """Draw the labels of every cluster, (clusters, labels): leaves, a few of them everywhere."""
    leaves = rng.permutation(tree.leaves)
    count = max(10, len(leaves) // 3)
    weight = 1.0 / np.arange(3, len(leaves) + 3)
    size = min(CLUSTER_LABELS, len(leaves))
    chances = np.cumsum(weight / weight.sum())
    # A label that a cluster draws twice is merely likelier there: an instance keeps it once.
    return leaves[np.searchsorted(chances[:-1], rng.random((count, size)))]


def _true_labels(count: int, clusters: IntArray, mean: float, rng: np.random.Generator) -> IntArray:
    """Draw the labels of instances, (count, most), -1 where an instance has fewer."""
    share = 1.0 / np.arange(2, len(clusters) + 2)
    chances = np.cumsum(share / share.sum())
    cluster = np.searchsorted(chances[:-1], rng.random(count))
    most = clusters.shape[1]
    order = np.argsort(rng.random((count, most)) ** (1 + np.arange(most) / 2), axis=1)
    size = 1 + rng.binomial(most - 1, min(1.0, (mean - 1) / (most - 1)), size=count)
    true = np.take_along_axis(clusters[cluster], order, axis=1)
    true[np.arange(most) >= size[:, None]] = -1
    true.sort(axis=1)
    true[:, 1:][true[:, 1:] == true[:, :-1]] = -1
    return true


def _answers(
    true: IntArray, tree: Tree, answers: int, sources: int, rng: np.random.Generator
) -> dict[str, IntArray]:
    """Return what sources say of a block of instances, as columns; nothing said is label -1."""
    count = len(true)
    who = np.argpartition(rng.random((count, sources)), answers - 1, axis=1)[:, :answers]
    row, rank = np.nonzero(true >= 0)
    vote = np.repeat(np.arange(len(row)), answers)
    nth = np.tile(np.arange(answers), len(row))
    said = _said(true[row, rank][vote], tree, rng)
    answer = row[vote] * answers + nth
    kept = rng.random(len(said)) >= LEFT_OUT
    answer, said = answer[kept], said[kept]
    silent = np.setdiff1d(np.arange(count * answers), answer)
    size = len(tree.parent)
    cells = np.unique(answer * size + said)
    answer, said = np.divmod(cells, size)
    answer, said = np.append(answer, silent), np.append(said, np.full(len(silent), -1))
    order = np.argsort(answer, kind="stable")
    row, nth = np.divmod(answer[order], answers)
    return {"instance": row, "source": who[row, nth], "label": said[order]}


def _said(label: IntArray, tree: Tree, rng: np.random.Generator) -> IntArray:
    chance = rng.random(len(label))
    said = np.where((chance < VAGUE) & (tree.parent[label] >= 0), tree.parent[label], label)
    higher = tree.parent[said]
    said = np.where((chance < VAGUE / 3) & (higher >= 0), higher, said)
    return np.where(chance > 1 - WRONG, tree.sibling[label], said)


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, IntArray]
) -> None:
    connection.register("block", columns)
    connection.execute(f"INSERT INTO {table} SELECT * FROM block")
    connection.unregister("block")


def _copy(connection: duckdb.DuckDBPyConnection, path: Path, order: str) -> None:
    instance, source = "format('i{:06d}', instance + 1)", "format('s{:02d}', source)"
    label = f"format('{LABEL}', label)"
    said = f"if(label < 0, NULL, {label})"
    votes = f"SELECT {instance} AS instance, {source} AS source, {said} AS label"
    by = " ORDER BY hash(instance, source)" if order == "random" else ""
    folder = str(path).replace("'", "''")
    options = "(FORMAT parquet, COMPRESSION zstd)"
    connection.execute(f"COPY ({votes} FROM votes{by}) TO '{folder}/votes.parquet' {options}")
    connection.execute(
        f"COPY (SELECT {instance} AS instance, {label} AS label FROM truth) "
        f"TO '{folder}/truth.parquet' {options}"
    )


def main() -> None:
    """Read the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--instances", type=int, required=True)
    parser.add_argument("--answers", type=int, default=5)
    parser.add_argument("--labels-per-answer", type=float, default=2.5)
    parser.add_argument("--labels", type=int, default=500)
    parser.add_argument("--levels", type=int, default=5)
    parser.add_argument("--parents", type=float, default=1.0)
    parser.add_argument("--sources", type=int, default=20)
    parser.add_argument("--order", choices=("instance", "random"), default="instance")
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    generate(options.pop("folder"), **options)


if __name__ == "__main__":
    main()
