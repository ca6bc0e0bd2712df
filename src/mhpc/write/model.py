"""``model.npz``: frozen data as arrays and a description of how they belong together.

Nothing in it is code: dataclasses are named, and only those of this package are made again.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.core.model import Model
from mhpc.core.parameters import Parameters

DESCRIPTION = "description"
FORMAT = 1


def write_model(path: Path, model: Model) -> None:
    """Write a model; arrays as they are, packed."""
    arrays: dict[str, np.ndarray] = {}
    described = {"format": FORMAT, "model": _described(model, arrays)}
    text = np.frombuffer(json.dumps(described).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays, **{DESCRIPTION: text})


def _described(value: Any, arrays: dict[str, np.ndarray]) -> Any:
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
        return {type(value).__name__: [_described(each, arrays) for each in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[key, _described(each, arrays)] for key, each in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, Parameters):
        own = value.model_dump()
    else:
        raise TypeError(f"{type(value).__name__} cannot be kept in a model")
    kind = f"{type(value).__module__}:{type(value).__qualname__}"
    return {"made": kind, "of": {name: _described(each, arrays) for name, each in own.items()}}


def _kept(array: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    name = f"a{len(arrays)}"
    arrays[name] = array
    return name
