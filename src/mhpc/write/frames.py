"""Tables as dataframes, of whatever library the user has."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Literal, TypeAlias, get_args

import narwhals as nw
import numpy as np

from mhpc.errors import MissingExtraError, ParameterError
from mhpc.write.formats.tables import Table

Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]

_EMPTY = {"text": object, "number": np.float64, "flag": np.int8}
_TYPES = {"text": nw.String(), "number": nw.Float64(), "flag": nw.Int8()}


def frame_of(table: Table, library: Library) -> Any:
    """Return a table as a dataframe of a library, which must be installed."""
    if library not in get_args(Library):
        raise ParameterError(
            f"library = {library!r} is not allowed; give {' | '.join(get_args(Library))}"
        )
    try:
        import_module(library)
    except ImportError:
        raise MissingExtraError(f"{library} is not installed; pip install {library}") from None
    blocks = list(table.blocks())
    columns = {
        name: _column((block[at] for block in blocks), kind)
        for at, (name, kind) in enumerate(table.columns.items())
    }
    schema = {name: _TYPES[kind] for name, kind in table.columns.items()}
    return nw.from_dict(columns, schema, backend=library).to_native()


def _column(parts: Iterable[np.ndarray], kind: str) -> Any:
    whole = np.concatenate([np.zeros(0, dtype=_EMPTY[kind]), *parts])
    return whole.tolist() if kind == "text" else whole
