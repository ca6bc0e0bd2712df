"""The base class of methods, rules and settings, and classes that are found by name."""

import reprlib
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from io import IOBase
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, TypeAlias, TypeGuard, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mhpc.errors import MhpcError, ParameterError, quote_list, suggest
from mhpc.process import no_fork


class Parameters(BaseModel):
    """A frozen set of values, declared with their types, limits and meanings.

    Methods, rules and run settings are all Parameters. The same declaration checks a Python call,
    a ``--set`` on the command line and a settings file, and is printed by ``mhpc methods``.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ParameterError(_explain(error, type(self))) from None

    @classmethod
    def describe(cls) -> list[dict[str, Any]]:
        """Return the name, default, range and meaning of every parameter, as plain data."""
        properties: Mapping[str, dict[str, Any]] = cls.model_json_schema().get("properties", {})
        return [
            {
                "name": name,
                "default": field.get("default"),
                "range": _range(field),
                "meaning": " ".join(field.get("description", "").split()),
            }
            for name, field in properties.items()
        ]


MAX_SEED = 2**63 - 1
"""The largest seed: it fits in eight bytes."""

MAX_FOLDS = 100
"""The largest number of folds of a cross-validation."""

Seed: TypeAlias = Annotated[int, Field(ge=0, le=MAX_SEED)]
"""A seed of random numbers."""


def check_seed(seed: object) -> int:
    """Return a seed as an integer of Python; refuse one that random numbers cannot be drawn by."""
    if not is_whole_number(seed) or not 0 <= int(seed) <= MAX_SEED:
        raise ParameterError(
            f"seed = {show_value(seed)} is not allowed; give an integer from 0 to {MAX_SEED:,}"
        )
    return int(seed)


def _range(field: Mapping[str, Any]) -> str:
    """Return in words what a JSON schema allows."""
    if "anyOf" in field:
        return " or ".join(_range(choice) for choice in field["anyOf"])
    if "enum" in field:
        return " | ".join(map(str, field["enum"]))
    if "examples" in field:
        return " | ".join(map(str, field["examples"]))
    if "const" in field:
        return str(field["const"])
    bounds = [
        f"{sign} {_format_bound(field[key])}"
        for key, sign in _BOUNDS.items()
        if key in field and isinstance(field[key], int | float)
    ]
    kind = {"null": "none", "object": "key=value", "array": "list"}.get(
        field["type"], field["type"]
    )
    return f"{kind} {', '.join(bounds)}".strip()


def _format_bound(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def _explain(error: ValidationError, owner: type[Parameters]) -> str:
    """Turn pydantic's error into one line that says what would be valid."""
    first = error.errors()[0]
    name = str(first["loc"][0])
    known = list(owner.model_fields)
    title = getattr(owner, "name", owner.__name__)
    if first["type"] == "extra_forbidden":
        return (
            f"{title} has no parameter {name!r}{suggest(name, known)}; "
            f"it has: {quote_list(known, most=20)}"
        )
    if first["type"] == "missing":
        return f"{title} needs {name!r}"
    allowed = next(entry["range"] for entry in owner.describe() if entry["name"] == name)
    reason = first.get("ctx", {}).get("error")
    # Checks of our own say what is wrong with a value of the right type.
    because = f" ({reason})" if isinstance(reason, MhpcError) else ""
    return f"{title}: {name} = {show_value(first['input'])} is not allowed{because}; give {allowed}"


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise an error if an argument is none of the words that are allowed, whatever it is."""
    allowed = list(choices)
    # Only texts are compared: arrays and dataframes refuse to be.
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(
            f"{name} = {show_value(value)} is not allowed; give {' | '.join(allowed)}"
        )


def check_type(name: str, value: object, kind: type | tuple[type, ...], what: str) -> None:
    """Raise an error if an argument is of another type; `what` says what to give."""
    if not isinstance(value, kind):
        raise ParameterError(f"{name} = {show_value(value)} is not allowed; give {what}")


def check_count(name: str, value: object, *, least: int = 0) -> int:
    """Return an argument as an integer of Python; refuse one that is none, or too small."""
    if not is_whole_number(value) or int(value) < least:
        raise ParameterError(
            f"{name} = {show_value(value)} is not allowed; give a whole number from {least} on"
        )
    return int(value)


def check_text(name: str, value: object) -> None:
    """Raise an error if an optional argument is neither None nor a text that a file can hold."""
    if value is not None and not (isinstance(value, str) and _is_utf8(value)):
        raise ParameterError(f"{name} = {show_value(value)} is not allowed; give a text")


def check_mapping(name: str, value: object, what: str) -> None:
    """Raise an error if an optional argument is neither None nor a mapping of texts."""
    if value is not None and not (
        isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    ):
        raise ParameterError(
            f"{name} = {show_value(value)} is not allowed; give a mapping of {what}"
        )


def check_function(name: str, value: object) -> None:
    """Raise an error if an argument cannot be called."""
    if not callable(value):
        raise ParameterError(f"{name} = {show_value(value)} is not allowed; give a function")


def check_id(name: str, value: object, what: str) -> str:
    """Return an argument as the text of an id, which may be an integer; `what` says what to give.

    An integer with more digits than any id is none: Python refuses to write it.
    """
    if isinstance(value, str):
        return str(value)
    if not isinstance(value, Integral) or int(value).bit_length() > _MAX_ID_BITS:
        raise ParameterError(f"{name} = {show_value(value)} is not allowed; give {what}")
    return str(value)


def is_whole_number(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or NumPy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number of Python or NumPy that is also a float.

    True and False are none.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def to_texts(name: str, value: object) -> tuple[str, ...]:
    """Return an argument of several texts as a tuple; a single text is one, not its letters."""
    if isinstance(value, str):
        return (value,)
    what = "a list of texts"
    # The lines of a file end with a line end, so they are not yet ids.
    if not isinstance(value, Iterable) or isinstance(value, _NO_LISTS):
        raise ParameterError(f"{name} = {show_value(value)} is not allowed; give {what}")
    try:
        items = iter(value)
    except TypeError:
        # An array without dimensions.
        items = iter([value])
    return tuple(check_id(name, item, what) for item in items)


def show_value(value: object, *, most: int = 200) -> str:
    """Return a value for a message: in one line, and not too long, however it is nested."""
    try:
        text = repr(value) if isinstance(value, str) else reprlib.repr(value)
    except Exception:  # noqa: BLE001 - foreign objects may raise anything, and long numbers do
        text = f"<{type(value).__name__}>"
    return " ".join(text.split())[:most]


def _is_utf8(text: str) -> bool:
    """Return whether a text can be encoded: half a character cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_nul(value: Any) -> bool:
    """Return whether a text, or some text in a list or mapping, has a NUL character.

    Neither paths nor options can have one, and Python refuses to open such a path.
    """
    if isinstance(value, Mapping):
        return any(map(has_nul, value)) or any(map(has_nul, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_nul, value))
    return isinstance(value, str) and "\0" in value


def class_by_name(
    name: str, homes: Mapping[str, str], *, what: str, error: type[MhpcError] = ParameterError
) -> type[Any]:
    """Return the class that a name stands for, importing its module.

    Parameters
    ----------
    name : str
        One of the names.
    homes : mapping of str to str
        Where each is defined, as ``module:class``.
    what : str
        What the names are names of, for the error message.
    error : type
        The error to raise for an unknown name.
    """
    if name not in homes:
        known = quote_list(list(homes), most=20)
        raise error(f"no {what} {name!r}{suggest(name, homes)}; there are {known}")
    module, _, attribute = homes[name].partition(":")
    with no_fork:
        kind: type[Any] = getattr(import_module(module), attribute)
    return kind


_NO_LISTS = (bytes, bytearray, memoryview, IOBase)
"""What can be iterated but is no list of texts."""

_MAX_ID_BITS = 10_000
"""How long an integer may be that is an id: about 3,000 digits."""

_SAVED: dict[str, type[Any]] = {}
T = TypeVar("T")


def registered(name: str) -> Callable[[type[T]], type[T]]:
    """Let instances of a dataclass be saved in ``model.npz`` and in checkpoints.

    Parameters
    ----------
    name : str
        What files call the class, for good. ``METHOD.WHAT`` or ``RULE.WHAT`` for what belongs to
        one, such as ``"channel.fitted"``, by which a reader finds its module; a single word for
        data that every reader imports.
    """

    def register(kind: type[T]) -> type[T]:
        known = _SAVED.setdefault(name, kind)
        if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
            raise ValueError(f"{name!r} is the name of {known.__qualname__} already")
        _SAVED[name] = kind
        kind.saved_name = name  # type: ignore[attr-defined]
        return kind

    return register


def registered_types() -> Mapping[str, type[Any]]:
    """Return the classes that can be saved, by name, of those modules that are imported."""
    return _SAVED
