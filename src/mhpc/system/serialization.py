"""Frozen data to and from .npz by registered type names (not module paths).

Nothing in it is code: dataclasses are named, and only those of this package are made again.
"""

import json
import sys
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.data.summary import Model
from mhpc.errors import UnreadableError
from mhpc.parameters import Parameters
from mhpc.read.files import check_unpacked_size

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
        check_unpacked_size(path, "zip", str(path))
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


DESCRIPTION = "description"

_TIME = "seconds"
"""The field that tells how long something took: that is a fact of a run, which run.json keeps, and
would make two models differ that learnt the same."""


def write_model(path: Path, model: Model) -> None:
    """Write a model; arrays as they are, packed."""
    arrays, text = _laid_out(model, timed=False)
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays, **{DESCRIPTION: text})


def write_frozen(path: Path, value: Any) -> None:
    """Write any frozen data of this package; arrays as they are, which is quick.

    Raises
    ------
    TypeError
        When something in it is no data.
    """
    arrays, text = _laid_out(value, timed=True)
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays, **{DESCRIPTION: text})


def _laid_out(value: Any, *, timed: bool) -> tuple[dict[str, np.ndarray], np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    described = {"format": FORMAT, "model": _described(value, arrays, timed)}
    return arrays, np.frombuffer(json.dumps(described).encode(), dtype=np.uint8)


def _described(value: Any, arrays: dict[str, np.ndarray], timed: bool) -> Any:
    """Return what JSON can hold, arrays put aside under a number."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"array": _kept(value, arrays)}
    if sparse.issparse(value):
        csr = value.tocsr()
        parts = [_kept(part, arrays) for part in (csr.data, csr.indices, csr.indptr)]
        return {"sparse": parts, "shape": list(csr.shape)}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_described(each, arrays, timed) for each in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[key, _described(each, arrays, timed)] for key, each in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        own |= {} if timed or _TIME not in own else {_TIME: 0.0}
    elif isinstance(value, Parameters):
        own = value.model_dump()
    else:
        raise TypeError(f"{type(value).__name__} cannot be kept in a model")
    kind = f"{type(value).__module__}:{type(value).__qualname__}"
    described = {name: _described(each, arrays, timed) for name, each in own.items()}
    return {"made": kind, "of": described}


def _kept(array: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    for name, known in arrays.items():
        if known is array:
            return name
    name = f"a{len(arrays)}"
    arrays[name] = array
    return name
