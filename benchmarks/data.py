"""The data of the benchmarks: the paper's where available, else generated data of the same shape.

The environment variable MHPC_DATA names the folder that holds them.
"""

import os
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

import mhpc
from mhpc.data.index import Index
from mhpc.data.taxonomy import build_taxonomy
from mhpc.datasets.garden import Dataset

NO_DATA = "MHPC_DATA is not set"

_LEVELS = (18, 80, 178, 142, 77, 4)
"""Labels on each level of FunCat: 499 in all."""

_INSTANCES = 1628
_LABELS_BEYOND_FIRST = 2.2


def data_folder() -> Path | None:
    """Return the folder of the data sets, or None where there is none."""
    folder = os.environ.get("MHPC_DATA")
    return Path(folder) if folder else None


def cellcycle(sources: int, *, seed: int) -> tuple[Dataset, str]:
    """Return simulated votes on 1628 instances and 499 labels, and what they are.

    The truth is that of the cellcycle train split, or a generated one of the same shape.
    """
    folder = data_folder()
    taxonomy, truth = _generated() if folder is None else _read_cellcycle(folder)
    votes = mhpc.simulate(truth, taxonomy, [mhpc.Profile()] * sources, seed=seed)
    origin = f"generated data, {NO_DATA}" if folder is None else "cellcycle train"
    return Dataset(votes, taxonomy, truth), origin


def read_set(folder: Path) -> Dataset:
    """Return a set that lies in a folder as plain tables."""
    return Dataset(
        votes=mhpc.read_votes(folder / "votes.csv"),
        taxonomy=mhpc.read_taxonomy(folder / "taxonomy.csv"),
        truth=mhpc.read_truth(folder / "truth.csv"),
    )


@cache
def _read_cellcycle(folder: Path) -> tuple[mhpc.Taxonomy, mhpc.Truth]:
    path = folder / "yeast_funcat" / "cellcycle_FUN.train.arff.gz"
    return mhpc.read_taxonomy(path), mhpc.read_truth(path)


@cache
def _generated() -> tuple[mhpc.Taxonomy, mhpc.Truth]:
    rng = np.random.default_rng(0)
    taxonomy = _random_tree(rng)
    popularity = rng.permutation(1.0 / np.arange(2, len(taxonomy) + 2))
    count = 1 + rng.poisson(_LABELS_BEYOND_FIRST, size=_INSTANCES)
    drawn = [
        rng.choice(len(taxonomy), size=n, replace=False, p=popularity / popularity.sum())
        for n in count
    ]
    truth = mhpc.Truth(
        instances=Index(tuple(str(i + 1) for i in range(_INSTANCES))),
        labels=taxonomy.labels,
        instance=np.repeat(np.arange(_INSTANCES), count),
        label=np.concatenate(drawn),
        origin="the generated truth",
    )
    return taxonomy, truth


def _random_tree(rng: np.random.Generator) -> mhpc.Taxonomy:
    """Give every label a parent drawn from the level above."""
    levels = [
        [f"{depth}/{position}" for position in range(size)] for depth, size in enumerate(_LEVELS)
    ]
    edges = [
        (label, parents[rng.integers(len(parents))])
        for parents, level in pairwise(levels)
        for label in level
    ]
    return build_taxonomy([label for level in levels for label in level], edges)
