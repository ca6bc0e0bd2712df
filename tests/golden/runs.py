"""The golden runs: every method on five sets, and a fingerprint of each result.

Only public names are used here, so that moving or renaming what is inside leaves this alone. Where
a public name changes, `SOURCE_COLUMNS` and `fingerprint` are all there is to adapt.
"""

import csv
import gzip
import hashlib
import io
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

import mhpc

Fingerprint: TypeAlias = dict[str, Any]

FILE = Path(__file__).with_name("fingerprints.json")

METHODS = (
    "sa", "wa", "majority", "wawa", "inat", "dawid-skene", "one-truth", "mlcm", "mpc-u", "mhpc",
    "cross-source", "channel", "auto",
)  # fmt: skip

EXAMPLE = "garden"
"""The bundled example, the only set that needs no download."""

INSTANCES = 400
"""How many instances of a public set are used, the first ones in order of appearance."""


@dataclass(frozen=True)
class PublicSet:
    """Where the votes of a public set are, and the scope of its sources."""

    votes: str = "votes.csv"
    scope: Literal["all", "used"] = "all"


PUBLIC_SETS: Mapping[str, PublicSet] = MappingProxyType(
    {
        "chexpert": PublicSet(scope="used"),
        "ecg_kin": PublicSet(),
        "imclef07a_models": PublicSet(votes="scores.csv.gz"),
        "dog": PublicSet(),
    }
)
"""Sources with scopes; near-copies; scores; one true label for each instance."""

RUNS = tuple((name, method) for name in (EXAMPLE, *PUBLIC_SETS) for method in METHODS)

SOURCE_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "answers": "answers",
        "coverage": "coverage",
        "depth": "mean_depth",
        "accurate": "accurate.value",
        "accurate, lower bound": "accurate.low",
        "accurate, upper bound": "accurate.high",
        "vague": "vague.value",
        "vague, lower bound": "vague.low",
        "vague, upper bound": "vague.high",
        "wrong": "wrong.value",
        "wrong, lower bound": "wrong.low",
        "wrong, upper bound": "wrong.high",
        "weight": "independence",
        "similarity": "dependence",
    }
)
"""What a number of a source means, as the golden file calls it, and its name in the result."""

SOURCE_ID = "source"
WEIGHTINGS = 4
SEED = 2016


@cache
def load(name: str, folder: Path | None) -> tuple[mhpc.Votes, mhpc.Taxonomy]:
    """Return the votes and the taxonomy of a set; `folder` holds the public ones."""
    if name == EXAMPLE:
        example = mhpc.load_garden()
        return example.votes, example.taxonomy
    if folder is None:
        raise ValueError(f"{name} is a public set; say in which folder it is")
    kind = PUBLIC_SETS[name]
    rows = first_rows(folder / name / kind.votes, instances=INSTANCES)
    votes = mhpc.read_votes(rows, scope=kind.scope)
    return votes, mhpc.read_taxonomy(folder / name / "taxonomy.csv")


def first_rows(file: Path, *, instances: int) -> list[dict[str, str]]:
    """Return the rows of the first instances of a table, in the order of the file."""
    content = file.read_bytes()
    text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    first = set(list(dict.fromkeys(row["instance"] for row in rows))[:instances])
    return [row for row in rows if row["instance"] in first]


def run(name: str, method: str, folder: Path | None) -> Fingerprint:
    """Consolidate a set by a method, and return the fingerprint of the result."""
    votes, taxonomy = load(name, folder)
    with warnings.catch_warnings():
        # Some runs stop before they converge, and say so; their results are compared all the same.
        warnings.simplefilter("ignore", mhpc.MhpcWarning)
        return fingerprint(mhpc.consolidate(votes, taxonomy, method=method))


def fingerprint(result: mhpc.Result) -> Fingerprint:
    """Return numbers that identify a result and do not depend on the order of its ids."""
    consolidation = result.consolidation
    instances, columns = list(consolidation.instances), list(consolidation.taxonomy.labels)
    decided = sorted(
        (instance, label)
        for instance, labels in result.decision.labels().items()
        for label in labels
    )
    return {
        "decided": hashlib.sha256(repr(decided).encode()).hexdigest()[:16],
        "decided labels": len(decided),
        "score": weighted_sums(consolidation.score, instances, columns),
        "specific": weighted_sums(consolidation.specific, instances, columns),
        "sources": source_sums(result.sources),
    }


def weighted_sums(matrix: Any, rows: list[str], columns: list[str]) -> list[float]:
    """Return sums of all cells, under several random weightings from 1/2 to 1 with random signs.

    The weight of a cell depends on where its ids are among the sorted ids. No weight is near 0, so
    that a change of any one cell is seen, and signs keep the sums small.
    """
    full = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)
    ordered = full[np.ix_(order_of(rows), order_of(columns))]
    drawn = np.random.Generator(np.random.PCG64(SEED)).random((WEIGHTINGS, *ordered.shape)) - 0.5
    weights = drawn + np.copysign(0.5, drawn)
    # math.fsum does not depend on the order of summation.
    return [rounded(math.fsum((weight * ordered).ravel().tolist())) for weight in weights]


def source_sums(sources: Iterable[object]) -> dict[str, float]:
    """Return the sum of every numeric column, the sources in sorted order weighted 1, 2, ..."""
    ordered = sorted(sources, key=attrgetter(SOURCE_ID))
    sums = {}
    for meaning, name in SOURCE_COLUMNS.items():
        column = np.nan_to_num([float(attrgetter(name)(source)) for source in ordered], nan=-1.0)
        sums[meaning] = rounded(math.fsum(column * np.arange(1, len(ordered) + 1)))
    return sums


def order_of(ids: list[str]) -> NDArray[np.int64]:
    """Return the positions of ids in sorted order."""
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)


def rounded(number: float) -> float:
    """Return a number of 12 significant digits."""
    return float(f"{number:.12g}")
