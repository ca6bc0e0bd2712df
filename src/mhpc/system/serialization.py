"""Write frozen data to an ``.npz`` file and read them back, without running any code of the file.

A file holds arrays and one JSON description. The description names types by the names under which
they are registered, never by module, so that code can move and saved files stay readable:

    @registered("channel.fitted")
    @dataclass(frozen=True)
    class FittedChannel: ...

What stands before the dot is the name of a method or a rule, whose module is imported when a file
needs it. Names without a dot belong to data that every reader has imported already.
"""

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    ForwardRef,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from scipy import sparse

from mhpc.errors import UnreadableError
from mhpc.parameters import Parameters, class_by_name, registered_types
from mhpc.process import no_fork

FORMAT = 2
"""The version of the files that are written, and the only one that is read."""

DESCRIPTION = "description"
"""The array that holds the JSON description."""

MAX_UNPACKED = 1 << 30
"""Bytes that any file may unpack to."""

MAX_RATIO = 200
"""How many times its size a file may unpack to beyond that; honest arrays stay far below."""

_TIME = "seconds"
"""The field that says how long something took, which differs between equal runs."""

_DAMAGE = (
    ArithmeticError, AttributeError, EOFError, ImportError, LookupError, MemoryError,
    NotImplementedError, OSError, RecursionError, TypeError, ValueError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading raises when a file is not what it should be."""


def write_frozen(path: Path, value: Any, *, timed: bool = True) -> None:
    """Write arrays, texts, numbers, lists, mappings and registered dataclasses to a file.

    Parameters
    ----------
    path : Path
        The file, replaced if it is there.
    value
        What to write.
    timed : bool
        Whether to write how long things took; without it, equal data give equal files.

    Raises
    ------
    TypeError
        When the value contains something that cannot be saved.
    """
    arrays: dict[str, np.ndarray] = {}
    description = {"format": FORMAT, "value": _describe(value, arrays, timed)}
    text = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    # Compression would take longer than everything else, and hardly makes floats smaller.
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays, **{DESCRIPTION: text})


def _describe(value: Any, arrays: dict[str, np.ndarray], timed: bool) -> Any:
    """Return a value as JSON can hold it; arrays are put aside and named."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"array": _put_aside(value, arrays)}
    if sparse.issparse(value):
        csr = value.tocsr()
        parts = [_put_aside(part, arrays) for part in (csr.data, csr.indices, csr.indptr)]
        return {"sparse": parts, "shape": list(csr.shape)}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_describe(item, arrays, timed) for item in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[key, _describe(item, arrays, timed)] for key, item in value.items()]}
    name, own = _describe_fields(value)
    if not timed and _TIME in own:
        own[_TIME] = 0.0
    return {"type": name, "fields": {key: _describe(own[key], arrays, timed) for key in own}}


def _describe_fields(value: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(value, Parameters):
        # Methods and rules are found by the names under which users know them.
        return type(value).name, value.model_dump()  # type: ignore[attr-defined]
    name = vars(type(value)).get("saved_name")
    if name is None or not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} cannot be saved: it is not registered")
    return name, {field.name: getattr(value, field.name) for field in fields(value)}


def _put_aside(array: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    """Return the name of an array in the file; equal arrays are written once.

    They are compared by content: what was computed together and what was read from several
    checkpoints must give the same file.
    """
    for name, known in arrays.items():
        if known is array or _are_same(known, array):
            return name
    name = f"a{len(arrays)}"
    arrays[name] = array
    return name


def _are_same(first: np.ndarray, second: np.ndarray) -> bool:
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    return bool(np.array_equal(first.reshape(-1).view(np.uint8), second.reshape(-1).view(np.uint8)))


def read_frozen(path: Path, homes: Mapping[str, str], *, max_unpacked: int = MAX_UNPACKED) -> Any:
    """Read what `write_frozen` wrote.

    Only registered dataclasses, and the parameters of registered methods and rules, are made;
    every field must have the type that its class declares.

    Parameters
    ----------
    path : Path
        The file.
    homes : mapping of str to str
        Methods and rules: name to ``module:class``.
    max_unpacked : int
        Bytes that any file may unpack to, however small it is.

    Raises
    ------
    UnreadableError
        When the file was written by another version, is damaged or was edited.
    """
    try:
        _check_unpacked_size(path, max_unpacked)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            description = json.loads(_load_array(arrays, DESCRIPTION).tobytes())
            if description["format"] != FORMAT:
                raise _other_version(path, f"format {str(description['format'])[:20]}")
            return _Reader(path, arrays, homes).read(description["value"])
    except _DAMAGE as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError(
            f"{path} is damaged: {_first_line(error)}; consolidate again"
        ) from None


def _check_unpacked_size(path: Path, max_unpacked: int) -> None:
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(max_unpacked, path.stat().st_size * MAX_RATIO):
        raise UnreadableError(
            f"{path} unpacks to more than {MAX_RATIO} times its size, and more than "
            f"{max_unpacked >> 20:,} MiB; consolidate again"
        )


class _Reader:
    """Makes the value that a description describes."""

    def __init__(
        self, path: Path, arrays: Mapping[str, np.ndarray], homes: Mapping[str, str]
    ) -> None:
        self.path, self.arrays, self.homes = path, arrays, homes
        self.loaded: dict[str, np.ndarray] = {}

    def read(self, description: Any) -> Any:
        if isinstance(description, list):
            raise ValueError("a list stands where a value should")
        if not isinstance(description, dict):
            return description
        if "array" in description:
            return self._read_array(description["array"])
        if "sparse" in description:
            return self._read_sparse(description)
        if "list" in description:
            return [self.read(item) for item in description["list"]]
        if "tuple" in description:
            return tuple(self.read(item) for item in description["tuple"])
        if "mapping" in description:
            return {key: self.read(item) for key, item in description["mapping"]}
        # The type comes first: its module registers the types of its fields.
        kind = self._find_type(description["type"])
        own = {name: self.read(item) for name, item in description["fields"].items()}
        if is_dataclass(kind):
            types = field_types(kind)
            for name, value in own.items():
                check_type(value, types[name], f"{description['type']}: {name}")
        return kind(**own)

    def _read_array(self, name: str) -> np.ndarray:
        """Return an array, the same object for every field that shares it."""
        if name not in self.loaded:
            self.loaded[name] = _check_numbers(_load_array(self.arrays, name))
        return self.loaded[name]

    def _read_sparse(self, description: Mapping[str, Any]) -> sparse.csr_array:
        data, indices, indptr = map(self._read_array, description["sparse"])
        rows, columns = description["shape"]
        matrix = sparse.csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix

    def _find_type(self, name: str) -> type[Any]:
        if name in self.homes:
            kind = class_by_name(name, self.homes, what="type")
            if issubclass(kind, Parameters):
                return kind
        prefix = name.partition(".")[0]
        if name not in registered_types() and prefix in self.homes:
            with no_fork:
                import_module(self.homes[prefix].partition(":")[0])
        if name not in registered_types():
            raise _other_version(self.path, f"it contains {name[:40]!r}")
        return registered_types()[name]


def _load_array(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return an array; NumPy parses its header in ways that fail with any error of Python."""
    if name not in arrays:
        raise ValueError(f"it has no array {name!r}")
    reason: Exception | None = None
    try:
        # What is not in NumPy's format is returned as bytes.
        if isinstance(array := arrays[name], np.ndarray):
            return array
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - any; see above
        reason = error
    raise ValueError(f"its array {name!r} cannot be read") from reason


def _check_numbers(array: np.ndarray) -> np.ndarray:
    """Return an array of real numbers; nothing that is saved is unknown, though limits may be."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array holds {array.dtype.name[:40]}, not numbers")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError("an array has a cell that is not a number")
    return array


def field_types(kind: type[Any]) -> dict[str, Any]:
    """Return the annotations of a dataclass, evaluated."""
    return get_type_hints(kind)


def check_type(value: Any, expected: Any, what: str) -> None:
    """Raise a TypeError unless a value has the type that an annotation names, items included.

    Arrays are checked for the kind of number they hold: what is annotated as integers may index
    something. Annotations that say nothing that can be checked here allow anything.
    """
    if not _has_type(value, expected):
        raise TypeError(f"{what} is {type(value).__name__}, which is not what it should be")


def _has_type(value: Any, expected: Any) -> bool:
    if expected is Any or isinstance(expected, TypeVar | ForwardRef | str):
        return True
    if expected is None or expected is NoneType:
        return value is None
    expected = _resolve_alias(expected)
    origin, arguments = get_origin(expected), get_args(expected)
    if origin in (Union, UnionType):
        return any(_has_type(value, choice) for choice in arguments)
    if origin is Literal:
        return isinstance(value, str | int) and value in arguments
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _holds(value, arguments[-1])
    if origin is tuple:
        return isinstance(value, tuple) and _are_items(value, arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _has_type(key, arguments[0]) and _has_type(item, arguments[1])
            for key, item in value.items()
        )
    if origin is not None:
        return not isinstance(origin, type) or isinstance(value, origin)
    if expected is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if expected is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if not isinstance(expected, type) or getattr(expected, "_is_protocol", False):
        return True
    return isinstance(value, expected)


def _resolve_alias(expected: Any) -> Any:
    """Return what an alias by the statement ``type`` stands for, as numpy.typing has since 2.5."""
    alias, arguments = get_origin(expected) or expected, get_args(expected)
    if not hasattr(alias, "__value__"):
        return expected
    return alias.__value__[arguments] if arguments else alias.__value__


def _are_items(values: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    if kinds[-1:] == (Ellipsis,):
        return all(_has_type(item, kinds[0]) for item in values)
    return len(values) == len(kinds) and all(map(_has_type, values, kinds))


def _holds(array: np.ndarray, dtype: Any) -> bool:
    """Tell whether an array holds numbers of an annotated kind: ``numpy.dtype[numpy.float64]``."""
    for scalar in get_args(dtype):
        if isinstance(scalar, type) and issubclass(scalar, np.generic):
            allowed = {"f": "fiub", "i": "iub", "u": "iub", "b": "b"}
            kind = np.dtype(scalar).kind if scalar not in (np.floating, np.integer) else "f"
            return array.dtype.kind in allowed.get(kind, array.dtype.kind)
    return True


def _other_version(path: Path, how: str) -> UnreadableError:
    return UnreadableError(f"{path} was written by another version ({how}); consolidate again")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
