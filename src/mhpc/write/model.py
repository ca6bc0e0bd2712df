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
