"""The bundled example: a dozen people name the plants and animals in photographs.

The data are synthetic; ``tools/make_garden.py`` generates them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeVar

from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Votes
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Votes, their taxonomy, and the truth to compare a result with."""

    votes: Votes
    taxonomy: Taxonomy
    truth: Truth


def load_garden() -> Dataset:
    """Return the bundled example.

    Examples
    --------
    >>> load_garden().taxonomy
    Taxonomy(58 labels, 4 levels)
    """
    return Dataset(
        votes=_read(read_votes, "votes.csv"),
        taxonomy=_read(read_taxonomy, "taxonomy.csv"),
        truth=_read(read_truth, "truth.csv"),
    )


def _read(read: Callable[[Path], T], name: str) -> T:
    """Read a file, which is extracted first if the package is in a zip archive."""
    with as_file(files("mhpc.datasets") / "garden" / name) as file:
        return read(file)


def garden_folder() -> Path:
    """Return the folder with votes.csv, taxonomy.csv and truth.csv of the example."""
    with as_file(files("mhpc.datasets") / "garden") as folder:
        return folder
