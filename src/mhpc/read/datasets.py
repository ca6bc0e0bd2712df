"""Data sets of Hugging Face: Arrow tables in which classes are numbers that have names."""

from typing import Any

from mhpc.errors import DataError


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
