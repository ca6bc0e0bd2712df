"""Methods by name, with every combination of the values that some parameters may have."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from mhpc.consolidate.method import Method
from mhpc.consolidate.registry import make_method, method_class
from mhpc.errors import ParameterError, nearest, quoted


def grid(
    names: Iterable[str], choices: Mapping[str, Sequence[Any]] | None = None
) -> dict[str, Method]:
    """Return methods, named by what tells them apart: ``"mhpc, lam=5"``.

    A method that lacks a parameter is taken without it; a parameter that all lack is refused.
    """
    names, choices = list(names), choices or {}
    known = {name: set(method_class(name).model_fields) for name in names}
    for parameter in choices:
        every = sorted(set().union(*known.values()))
        if parameter not in every:
            raise ParameterError(
                f"none of {quoted(names, most=20)} has a parameter {parameter!r}"
                f"{nearest(parameter, every)}; they have: {quoted(every, most=30)}"
            )
    found: dict[str, Method] = {}
    for name in names:
        own = [parameter for parameter in choices if parameter in known[name]]
        for values in product(*(choices[parameter] for parameter in own)):
            given = dict(zip(own, values, strict=True))
            title = ", ".join([name, *(f"{key}={value}" for key, value in given.items())])
            found[title] = make_method(name, given)
    return found
