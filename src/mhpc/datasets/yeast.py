"""The paper's data sets: functions of yeast genes in the FunCat hierarchy.

Vens, Struyf, Schietgat, Dzeroski, Blockeel: Decision trees for hierarchical multi-label
classification, Machine Learning 73, 2008. They are read from a folder, or downloaded once, checked
and cached. Only the labels are used, not the features of the genes.
"""

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mhpc.errors import MissingExtraError, ParameterError, UnreadableError, option, suggest
from mhpc.read.arff import LabelledInstances, read_arff
from mhpc.read.files import local_file

Split: TypeAlias = Literal["train", "valid", "test"]

YEAST = ("church", "cellcycle", "derisi", "expr", "gasch1", "gasch2", "seq", "spo")
"""The eight sets in the paper."""

FOLDER = "yeast_funcat"
"""The folder of the files within a folder of data sets."""


def load_yeast(name: str, split: Split = "train", *, data: Path | None = None) -> LabelledInstances:
    """Return the FunCat hierarchy and the labels of one set of genes.

    Parameters
    ----------
    name : str
        One of `YEAST`.
    split : "train", "valid" or "test"
        The archive has no train split of expr.
    data : path, optional
        A folder that contains ``yeast_funcat/``; by default the one in the environment variable
        MHPC_DATA, or else the files are downloaded and cached.
    """
    with local_file(yeast_file(name, split, data=data)) as file:
        return read_arff(file)


def yeast_file(name: str, split: Split, *, data: Path | None = None) -> Path:
    """Return the path of the file of a set, plain or gzip, downloading it if necessary."""
    if name not in YEAST:
        raise ParameterError(
            f"no yeast set {name!r}{suggest(name, YEAST)}; there are {', '.join(YEAST)}"
        )
    file_name = f"{name}_FUN.{split}.arff"
    data = data or (Path(os.environ["MHPC_DATA"]) if os.environ.get("MHPC_DATA") else None)
    if data is None:
        return _download(name, file_name)
    for path in (data / FOLDER / file_name, data / FOLDER / f"{file_name}.gz"):
        if path.is_file():
            return path
    raise UnreadableError(
        f"{data / FOLDER / file_name}: no such file, nor with .gz; give the folder that "
        f"contains {FOLDER}/, or none to download it"
    )


def largest_split(name: str) -> Split:
    """Return the split with the most genes: train, except for expr, which has none."""
    return "test" if name == "expr" else "train"


def _download(name: str, file_name: str) -> Path:
    try:
        import pooch
    except ImportError:
        raise MissingExtraError(
            "downloading data needs the package pooch; pip install 'mhpc[report]', or give the "
            f"folder of the data with {option('data', command='reproduce')} or MHPC_DATA"
        ) from None
    source = _read_source()
    if file_name not in source["sha256"]:
        raise UnreadableError(f"the archive of the yeast data has no {file_name}")
    cache = Path(os.environ.get("MHPC_CACHE") or pooch.os_cache("mhpc"))
    url = f"{source['url']}/{name}_FUN/{file_name}"
    pooch.get_logger().setLevel("WARNING")
    try:
        path = pooch.retrieve(
            url, f"sha256:{source['sha256'][file_name]}", fname=file_name, path=cache / FOLDER
        )
    except ValueError:
        raise UnreadableError(
            f"the file downloaded from {url} is not the expected one: its SHA-256 differs"
        ) from None
    except OSError as error:
        raise UnreadableError(
            f"{url} cannot be downloaded ({type(error).__name__}). Download it on a machine with "
            f"network access and put it, plain or gzip, into a folder DIR/{FOLDER}/; then give "
            f"{option('data', 'DIR', command='reproduce')}, or set MHPC_DATA=DIR. Earlier "
            f"downloads are in {cache}, which can be copied"
        ) from None
    return Path(path)


def _read_source() -> dict[str, Any]:
    """Return the address of the files and their hashes."""
    source: dict[str, Any] = json.loads(
        (files("mhpc.datasets") / "yeast.json").read_text(encoding="utf-8")
    )
    return source
