"""Reading what an earlier run learnt."""

import json
import sys
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.core.model import Model
from mhpc.core.parameters import Parameters
from mhpc.errors import UnreadableError
from mhpc.read.bombs import refuse_bomb

FORMAT = 1
_DAMAGE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    ImportError,
    EOFError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    OSError,
    RecursionError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What comes of a file that is not what it should be."""


def read_model(folder: Path) -> Model:
    """Read ``model.npz`` of a run's folder.

    Only frozen data of this package are made of what it names, and no code of the file is run.
    """
    path = folder / "model.npz"
    if not path.is_file():
        raise UnreadableError(
            f"{folder} holds no model.npz; give the folder of a run that mhpc consolidate wrote, "
            "by a method that learns; one that needs all instances at once, as one-truth, has none"
        )
    model = read_frozen(path)
    if not isinstance(model, Model):
        raise UnreadableError(f"{path} holds no model")
    return model


def read_frozen(path: Path) -> Any:
    """Read frozen data of this package, whatever they are, as `write_frozen` wrote them."""
    try:
        refuse_bomb(path, "zip", str(path))
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            described = json.loads(arrays["description"].tobytes())
            if described["format"] != FORMAT:
                raise UnreadableError(
                    f"{path} has format {described['format']!r}, and this version reads {FORMAT}; "
                    "consolidate once more with this version"
                )
            return _made(described["model"], arrays)
    except _DAMAGE as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError(f"{path} is damaged: {error}") from None


def _made(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "sparse" in value:
        data, indices, indptr = (arrays[name] for name in value["sparse"])
        found = sparse.csr_array((data, indices, indptr), shape=tuple(value["shape"]))
        found.check_format(full_check=True)
        return found
    if "list" in value:
        return [_made(each, arrays) for each in value["list"]]
    if "tuple" in value:
        return tuple(_made(each, arrays) for each in value["tuple"])
    if "mapping" in value:
        return {key: _made(each, arrays) for key, each in value["mapping"]}
    own = {name: _made(each, arrays) for name, each in value["of"].items()}
    return _kind(value["made"])(**own)


def _kind(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if module.split(".")[0] != "mhpc" or "." in attribute:
        raise ValueError(f"{name} is not of this package")
    import_module(module)
    kind = getattr(sys.modules[module], attribute)
    if not (isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Parameters))):
        raise ValueError(f"{name} is no data")
    return kind
