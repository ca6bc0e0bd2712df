"""The paper's data: functions of yeast genes in the FunCat hierarchy.

Vens, Struyf, Schietgat, Dzeroski, Blockeel: Decision trees for hierarchical multi-label
classification, Machine Learning 73, 2008. Read from a folder, or downloaded once, checked and
kept. Only labels are used; the genes' features are left aside.
"""

import json
import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth
from mhpc.errors import MissingExtraError, ParameterError, UnreadableError, suggest
from mhpc.read.arff import read_arff
from mhpc.read.files import local_file

Split: TypeAlias = Literal["train", "valid", "test"]

YEAST = ("church", "cellcycle", "derisi", "expr", "gasch1", "gasch2", "seq", "spo")
"""The eight sets that the paper uses."""

FOLDER = "yeast_funcat"
"""Where the files lie in a folder of data sets."""


@dataclass(frozen=True, eq=False)
class KnownSet:
    """A hierarchy and instances whose labels are known."""

    taxonomy: Taxonomy
    truth: Truth


def load_yeast(name: str, split: Split = "train", *, data: Path | None = None) -> KnownSet:
    """Return the FunCat labels of one set of genes.

    Parameters
    ----------
    name : str
        One of `YEAST`.
    split : "train", "valid" or "test"
        The archive has no train split of expr.
    data : path, optional
        A folder that holds ``yeast_funcat/``; unless given, the folder that MHPC_DATA names, or
        else a download that is kept for the next time.
    """
    with local_file(yeast_file(name, split, data=data)) as file:
        both = read_arff(file)
    return KnownSet(both.taxonomy, both.truth)


def yeast_file(name: str, split: Split, *, data: Path | None = None) -> Path:
    """Return where the file of a set is, plain or gzip, downloading it if need be."""
    if name not in YEAST:
        raise ParameterError(
            f"no yeast set {name!r}{suggest(name, YEAST)}; there are {', '.join(YEAST)}"
        )
    wanted = f"{name}_FUN.{split}.arff"
    data = data or (Path(os.environ["MHPC_DATA"]) if os.environ.get("MHPC_DATA") else None)
    if data is None:
        return _downloaded(name, wanted)
    for path in (data / FOLDER / wanted, data / FOLDER / f"{wanted}.gz"):
        if path.is_file():
            return path
    raise UnreadableError(
        f"{data / FOLDER / wanted}: no such file, nor with .gz; give the folder that holds "
        f"{FOLDER}/, or none to have it downloaded"
    )


def largest_split(name: str) -> Split:
    """Return the split with the most genes: train, but for expr, where the archive lacks it."""
    return "test" if name == "expr" else "train"


def _downloaded(name: str, wanted: str) -> Path:
    try:
        import pooch
    except ImportError:
        raise MissingExtraError(
            "downloading data needs the package pooch; pip install 'mhpc[report]', or say with "
            "--data or MHPC_DATA where the data are"
        ) from None
    source = _source()
    if wanted not in source["sha256"]:
        raise UnreadableError(f"the archive of the yeast data has no {wanted}")
    cache = Path(os.environ.get("MHPC_CACHE") or pooch.os_cache("mhpc"))
    url = f"{source['url']}/{name}_FUN/{wanted}"
    pooch.get_logger().setLevel("WARNING")
    try:
        found = pooch.retrieve(
            url, f"sha256:{source['sha256'][wanted]}", fname=wanted, path=cache / FOLDER
        )
    except ValueError:
        raise UnreadableError(
            f"what came from {url} is not the file that this version knows: its SHA-256 differs"
        ) from None
    except OSError as error:
        raise UnreadableError(
            f"{url} cannot be had ({type(error).__name__}). Where there is network, download it "
            f"and put it, plain or gzip, into a folder DIR/{FOLDER}/; then say --data DIR, or set "
            f"MHPC_DATA=DIR. What was downloaded before is in {cache}, which can be copied"
        ) from None
    return Path(found)


def _source() -> dict[str, Any]:
    """Return where the files are and what they hash to."""
    found: dict[str, Any] = json.loads(
        (files("mhpc.datasets") / "yeast.json").read_text(encoding="utf-8")
    )
    return found
