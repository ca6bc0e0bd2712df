"""The base class of methods, rules and settings, and classes that are found by name."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mhpc.errors import MhpcError, ParameterError, quote_list, suggest


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
        f"{sign} {field[key]:g}"
        for key, sign in _BOUNDS.items()
        if key in field and isinstance(field[key], int | float)
    ]
    kind = {"null": "none", "object": "key=value", "array": "list"}.get(
        field["type"], field["type"]
    )
    return f"{kind} {', '.join(bounds)}".strip()


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
    return f"{title}: {name} = {repr(first['input'])[:200]} is not allowed; give {allowed}"


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
    kind: type[Any] = getattr(import_module(module), attribute)
    return kind


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
