"""Frames: whatever is like a table in memory, as columns that DuckDB takes."""

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import duckdb
import narwhals as nw
import numpy as np

from mhpc.errors import DataError

WHOLE_BELOW = 1e15
"""A float up to here has a digit to spare after the point, so that 7.0 can only mean 7."""


def columns_of(source: Any, origin: str) -> list[tuple[str, Iterable[Any]]]:
    """Return names and cells of whatever is like a table."""
    if isinstance(source, Mapping) and all(map(_is_column, source.values())):
        return [(str(name), cells) for name, cells in source.items()]
    if _is_column(source) and isinstance(source, Sequence):
        if not all(isinstance(row, Mapping) for row in source):
            raise DataError(f"{origin}: rows must be mappings such as {{'instance': …}}")
        names = dict.fromkeys(name for row in source for name in row)
        return [(str(name), [row.get(name) for row in source]) for name in names]
    if isinstance(source, duckdb.DuckDBPyRelation):
        # Not through narwhals, which would need pyarrow for it.
        rows = source.fetchall()
        return [(name, [row[at] for row in rows]) for at, name in enumerate(source.columns)]
    try:
        frame = nw.from_native(source)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        return [(str(name), frame.get_column(name).to_list()) for name in frame.columns]
    except TypeError:
        raise DataError(
            f"{origin}: cannot be read from {type(source).__name__}; give a path, a dataframe, "
            "a mapping of names to columns or a list of mappings"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{origin}: {' '.join(str(error).split())}") from None


def texts(cells: Iterable[Any]) -> Any:
    """Return cells as an array of texts, None where one is empty; plain numbers stay numbers.

    Those become text in DuckDB, which is quicker, and by the same rule.
    """
    values = list(cells)
    kinds = set(map(type, values))
    if kinds <= {str, NoneType}:
        return np.array(values, dtype=object)
    if kinds == {float}:
        return np.array(values)
    # Integers of more than 63 bits become floats or objects there, and are better off as text.
    if kinds == {int} and (integers := np.array(values)).dtype == np.int64:
        return integers
    return np.array([None if _missing(cell) else _text(cell) for cell in values], dtype=object)


def _is_column(cells: Any) -> bool:
    return isinstance(cells, Iterable) and not isinstance(cells, str | bytes | Mapping)


def _missing(cell: Any) -> bool:
    try:
        return cell is None or bool(cell != cell)
    except TypeError:
        # pandas' NA will not say whether it differs from itself.
        return True


def _text(value: Any) -> str:
    """Write a value as `text_of` does in SQL."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value)) if abs(float(value)) < WHOLE_BELOW else str(value)
    return str(value)
