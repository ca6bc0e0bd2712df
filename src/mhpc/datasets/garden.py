"""The bundled example: photographs of plants and animals, and a dozen people who name them.

Written for this project by ``tools/make_garden.py``; nobody took the photographs.
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
    """Votes, their hierarchy, and the truth to check a result with."""

    votes: Votes
    taxonomy: Taxonomy
    truth: Truth


def load_garden() -> Dataset:
    """Return the example.

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
    """Return where votes.csv, taxonomy.csv and truth.csv of the example lie."""
    with as_file(files("mhpc.datasets") / "garden") as folder:
        return folder
