"""The bundled example: a dozen people name the plants and animals in photographs.

The data are synthetic; ``tools/make_garden.py`` generates them.
"""

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Votes
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes


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
    folder = garden_folder()
    return Dataset(
        votes=read_votes(folder / "votes.csv"),
        taxonomy=read_taxonomy(folder / "taxonomy.csv"),
        truth=read_truth(folder / "truth.csv"),
    )


def garden_folder() -> Path:
    """Return the folder with votes.csv, taxonomy.csv and truth.csv of the example."""
    with as_file(files("mhpc.datasets") / "garden") as folder:
        return folder
