"""Pandas, polars, Arrow, Hugging Face."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import narwhals as nw
import numpy as np

from mhpc.errors import DataError

WHOLE_BELOW = 1e15
"""A float up to here has a digit to spare after the point, so that 7.0 can only mean 7."""

_PLAIN = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float64))
_LISTS = (list, tuple, set, frozenset, np.ndarray)


def columns_of(source: Any, origin: str) -> list[tuple[str, Any]]:
    """Return names and cells of whatever is like a table; cells as arrays that DuckDB takes."""
    if isinstance(source, Mapping) and all(map(_is_column, source.values())):
        return [(str(name), texts(cells)) for name, cells in source.items()]
    if _is_column(source) and isinstance(source, Sequence):
        if not all(isinstance(row, Mapping) for row in source):
            raise DataError(f"{origin}: rows must be mappings such as {{'instance': …}}")
        names = dict.fromkeys(name for row in source for name in row)
        return [(str(name), texts([row.get(name) for row in source])) for name in names]
    frame = _frame(source, origin)
    return [(str(name), _of_series(frame.get_column(name))) for name in frame.columns]


def plain_native(source: Any, origin: str) -> Any | None:
    """Return a dataframe that DuckDB reads by itself to the same texts; None if it would not.

    It knows pandas and Arrow, and through Arrow polars, but guesses at columns of objects.
    """
    if isinstance(source, Mapping | Sequence):
        return None
    frame = _frame(source, origin)
    if not all(_is_plain(frame.get_column(name)) for name in frame.columns):
        return None
    if frame.implementation.is_polars():
        try:
            return frame.to_arrow()
        except ImportError:
            return None
    known = frame.implementation.is_pandas() or frame.implementation.is_pyarrow()
    return frame.to_native() if known else None


def _is_plain(series: Any) -> bool:
    dtype = series.dtype
    if dtype == nw.Object:
        return _are_lists_of_texts(series.to_list())
    if dtype == nw.List:
        return bool(dtype.inner == nw.String)
    if dtype == nw.UInt64 or dtype == nw.Float32:
        return False
    return bool(dtype.is_numeric()) or dtype == nw.String or isinstance(dtype, nw.Categorical)


def _are_lists_of_texts(cells: Sequence[Any]) -> bool:
    relate_labels = set(map(type, cells))
    if not relate_labels <= {list, NoneType} or list not in relate_labels:
        return False
    return set(map(type, chain.from_iterable(filter(None, cells)))) <= {str}


def _frame(source: Any, origin: str) -> Any:
    try:
        frame = nw.from_native(source)
        return frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    except TypeError:
        raise DataError(
            f"{origin}: cannot be read from {type(source).__name__}; give a path, a dataframe, "
            "a mapping of names to columns or a list of mappings"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{origin}: {' '.join(str(error).split())}") from None


def texts(cells: Iterable[Any]) -> Any:
    """Return cells as an array of texts, None where one is empty; plain numbers stay numbers.

    Those become text in DuckDB, which is quicker, and by the same rule. A list becomes the text
    of a JSON list.
    """
    if isinstance(cells, np.ndarray) and cells.ndim == 1 and cells.dtype in _PLAIN:
        return cells
    values = list(cells)
    relate_labels = set(map(type, values))
    if relate_labels <= {str, NoneType}:
        return np.array(values, dtype=object)
    if relate_labels == {float}:
        return np.array(values)
    # Integers of more than 63 bits become floats or objects there, and are better off as text.
    if relate_labels == {int} and (integers := np.array(values)).dtype == np.int64:
        return integers
    made = np.empty(len(values), dtype=object)
    made[:] = [None if _missing(cell) else _text(cell) for cell in values]
    return made


def _of_series(series: Any) -> Any:
    """Return a column of a dataframe; whole columns of text or numbers need no look at each."""
    dtype = series.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum):
        series, dtype = series.cast(nw.String), nw.String()
    if dtype == nw.String:
        cells = np.array(series.to_numpy(), dtype=object)
        cells[series.is_null().to_numpy()] = None
        return cells
    if dtype.is_integer() and not series.null_count() and dtype != nw.UInt64:
        return series.to_numpy()
    return texts(series.to_list())


def _is_column(cells: Any) -> bool:
    return isinstance(cells, Iterable) and not isinstance(cells, str | bytes | Mapping)


def _missing(cell: Any) -> bool:
    if isinstance(cell, _LISTS):
        return False
    try:
        return cell is None or bool(cell != cell)
    except TypeError:
        # pandas' NA will not say whether it differs from itself.
        return True


def _text(value: Any) -> str:
    """Write a value as `text_of` does in SQL."""
    if isinstance(value, _LISTS):
        return json.dumps([None if _missing(each) else _text(each) for each in value])
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value)) if abs(float(value)) < WHOLE_BELOW else str(value)
    return str(value)


def plain_frame(source: Any, origin: str) -> Any:
    """Return the Arrow table of a data set, its classes by name; anything else as it is.

    Nothing is imported: who gives such an object has its library, and pyarrow with it.
    """
    kind = type(source)
    if not kind.__module__.startswith("datasets."):
        return source
    if not hasattr(source, "with_format") or isinstance(source, dict):
        splits = ", ".join(map(repr, source)) if isinstance(source, dict) else ""
        raise DataError(f"{origin}: a {kind.__name__} of splits; give one of them: {splits}")
    if not hasattr(source, "num_rows"):
        raise DataError(f"{origin}: a {kind.__name__} is read as it is asked for; load it whole")
    table = source.with_format("arrow")[:]
    for name, feature in source.features.items():
        at = table.column_names.index(name)
        table = table.set_column(at, name, _named_classes(table.column(name), feature))
    return table


def _named_classes(column: Any, feature: Any) -> Any:
    """Return the column with names for the numbers of classes, also where they are in lists."""
    import pyarrow

    names = getattr(feature, "names", None)
    if isinstance(names, list):
        return pyarrow.array(names).take(column.combine_chunks())
    names = getattr(getattr(feature, "feature", None), "names", None)
    if isinstance(names, list):
        lists = column.combine_chunks()
        named = pyarrow.array(names).take(lists.values)
        return pyarrow.ListArray.from_arrays(lists.offsets, named, mask=lists.is_null())
    return column
