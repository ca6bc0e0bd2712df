"""Dataframes of any library, mappings, lists of rows and Hugging Face data sets as columns."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Any

import narwhals as nw
import numpy as np

from mhpc.errors import DataError

MAX_EXACT_FLOAT = 1e15
"""Floats below this have at least one digit after the point, so that 7.0 can only mean 7."""

_NUMBER_DTYPES = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float64))
_LARGE_INTEGERS = (nw.UInt64, nw.Int128, nw.UInt128)
"""Types of integers that do not fit into 64 bits with a sign."""

_LIST_TYPES = (list, tuple, set, frozenset, np.ndarray)


def to_columns(source: Any, origin: str) -> list[tuple[str, Any]]:
    """Return the names and cells of anything like a table, as arrays that DuckDB can read."""
    if isinstance(source, Mapping) and all(map(_is_column, source.values())):
        return [(str(name), to_texts(cells)) for name, cells in source.items()]
    if _is_column(source) and isinstance(source, Sequence):
        if not all(isinstance(row, Mapping) for row in source):
            raise DataError(f"{origin}: rows must be mappings such as {{'instance': …}}")
        names = dict.fromkeys(name for row in source for name in row)
        return [(str(name), to_texts([row.get(name) for row in source])) for name in names]
    frame = _to_narwhals(source, origin)
    return [(str(name), _to_cells(frame.get_column(name), origin)) for name in frame.columns]


def to_native_frame(source: Any, origin: str) -> Any | None:
    """Return a dataframe that DuckDB itself reads with the same result, or None.

    DuckDB knows pandas and Arrow, and polars through Arrow, but it guesses the type of columns of
    objects.
    """
    if isinstance(source, Mapping | Sequence):
        return None
    frame = _to_narwhals(source, origin)
    if frame.implementation.is_pyarrow():
        return frame.to_native()
    if not all(_is_unambiguous(frame.get_column(name)) for name in frame.columns):
        return None
    if frame.implementation.is_polars():
        return _to_arrow_table(frame)
    return frame.to_native() if frame.implementation.is_pandas() else None


def _to_arrow_table(frame: Any) -> Any | None:
    """Return a dataframe of polars as a table of Arrow, or None if that is not possible."""
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        return frame.to_arrow()
    except pyarrow.ArrowException:
        # It has types that Arrow does not, such as integers of 128 bits.
        return None


def to_arrow(source: Any, origin: str) -> Any:
    """Return the Arrow table of a Hugging Face data set, with names of classes; or the source.

    Nothing is imported to recognize one: such an object comes from a library that needs pyarrow.
    """
    kind = type(source)
    if not kind.__module__.startswith("datasets."):
        return source
    if not hasattr(source, "with_format") or isinstance(source, dict):
        splits = ", ".join(map(repr, source)) if isinstance(source, dict) else ""
        raise DataError(f"{origin}: a {kind.__name__} of splits; give one of them: {splits}")
    if not hasattr(source, "num_rows"):
        raise DataError(f"{origin}: a {kind.__name__} is streamed; load the whole data set")
    table = source.with_format("arrow")[:]
    for name, feature in source.features.items():
        position = table.column_names.index(name)
        table = table.set_column(position, name, _name_classes(table.column(name), feature))
    return table


def to_texts(cells: Iterable[Any]) -> Any:
    """Return cells as an array of texts, None where one is empty, or of plain numbers.

    DuckDB converts numbers to text faster and by the same rule. A list becomes the text of a JSON
    list.
    """
    if isinstance(cells, np.ndarray) and cells.ndim == 1 and cells.dtype in _NUMBER_DTYPES:
        return cells
    values = list(cells)
    types = set(map(type, values))
    if types <= {str, NoneType}:
        return np.array(values, dtype=object)
    if types == {float}:
        return np.array(values)
    # numpy turns integers of more than 63 bits into floats or objects, so they become text.
    if types == {int} and (integers := np.array(values)).dtype == np.int64:
        return integers
    texts = np.empty(len(values), dtype=object)
    texts[:] = [None if is_missing(cell) else to_text(cell) for cell in values]
    return texts


def _is_column(cells: Any) -> bool:
    return isinstance(cells, Iterable) and not isinstance(cells, str | bytes | Mapping)


def _to_narwhals(source: Any, origin: str) -> Any:
    try:
        frame = nw.from_native(source)
        return _compute(frame, origin) if isinstance(frame, nw.LazyFrame) else frame
    except TypeError:
        raise DataError(
            f"{origin}: cannot be read from {type(source).__name__}; give a path, a dataframe, "
            "a mapping of names to columns or a list of mappings"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{origin}: {error}") from None


def _compute(frame: Any, origin: str) -> Any:
    try:
        return frame.collect()
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        raise DataError(
            f"{origin}: the lazy frame cannot be computed: {type(error).__name__}: {error}"
        ) from None


def _is_unambiguous(series: Any) -> bool:
    dtype = series.dtype
    if dtype == nw.Object:
        return _are_lists_of_texts(series.to_list())
    if dtype == nw.List:
        return bool(dtype.inner == nw.String)
    if dtype == nw.UInt64 or dtype == nw.Float32:
        return False
    return bool(dtype.is_numeric()) or dtype == nw.String or isinstance(dtype, nw.Categorical)


def _are_lists_of_texts(cells: Sequence[Any]) -> bool:
    types = set(map(type, cells))
    if not types <= {list, NoneType} or list not in types:
        return False
    return set(map(type, chain.from_iterable(filter(None, cells)))) <= {str}


def _to_cells(series: Any, origin: str) -> Any:
    try:
        return _series_to_texts(series)
    except (ValueError, OverflowError, ArithmeticError) as error:
        # Python has no dates before the year 1 or after 9999, and not all time zones.
        reason = " ".join(str(error).split())
        raise DataError(
            f"{origin}: column {series.name!r}, of type {series.dtype}, cannot be read: {reason}; "
            "give texts or numbers"
        ) from None


def _series_to_texts(series: Any) -> Any:
    """Return a column of a dataframe; columns of only text or numbers are converted as a whole."""
    dtype = series.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum):
        series, dtype = series.cast(nw.String), nw.String()
    if dtype == nw.String:
        cells = np.array(series.to_numpy(), dtype=object)
        cells[series.is_null().to_numpy()] = None
        return cells
    if dtype.is_integer() and not series.null_count() and dtype not in _LARGE_INTEGERS:
        return series.to_numpy()
    return to_texts(series.to_list())


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, nan or NA; a list is not, even if it is empty."""
    if isinstance(cell, _LIST_TYPES):
        return False
    try:
        return cell is None or bool(cell != cell)
    except TypeError:
        # pandas.NA refuses to be compared.
        return True
    except Exception as error:  # noqa: BLE001 - foreign objects may raise anything
        raise _not_text(cell, error) from None


def to_text(value: Any) -> str:
    """Convert a value to text in the same way as `mhpc.read.tables.text_sql`."""
    if isinstance(value, _LIST_TYPES):
        return json.dumps([None if is_missing(item) else to_text(item) for item in value])
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value)) if abs(float(value)) < MAX_EXACT_FLOAT else str(value)
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - foreign objects may raise anything
        raise _not_text(value, error) from None


def _not_text(value: Any, error: Exception) -> DataError:
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
    return DataError(
        f"a cell is a {type(value).__name__} that cannot be read ({reason}); give texts or numbers"
    )


def _name_classes(column: Any, feature: Any) -> Any:
    """Replace the numbers of classes by their names, also within lists."""
    import pyarrow

    names = getattr(feature, "names", None)
    if isinstance(names, list):
        return pyarrow.array(names).take(column.combine_chunks())
    names = getattr(getattr(feature, "feature", None), "names", None)
    if isinstance(names, list):
        lists = column.combine_chunks()
        values = pyarrow.array(names).take(lists.values)
        return pyarrow.ListArray.from_arrays(lists.offsets, values, mask=lists.is_null())
    return column
