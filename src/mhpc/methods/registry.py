"""METHODS, make_method, parameter grids."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mhpc.errors import ParameterError, UnknownMethodError, quote_list, suggest
from mhpc.parameters import class_by_name

if TYPE_CHECKING:
    from mhpc.methods.base import BaseMethod, Method

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "sa": "mhpc.methods.averaging:SA",
        "wa": "mhpc.methods.averaging:WA",
        "majority": "mhpc.methods.voting:Majority",
        "wawa": "mhpc.methods.voting:Wawa",
        "inat": "mhpc.methods.voting:INat",
        "dawid-skene": "mhpc.methods.dawid_skene:DawidSkene",
        "one-truth": "mhpc.methods.one_truth:OneTruth",
        "mlcm": "mhpc.methods.mlcm:MLCM",
        "mpc-u": "mhpc.methods.mhpc:MPCU",
        "mhpc": "mhpc.methods.mhpc:MHPC",
        "mhpc-local": "mhpc.methods.mhpc:LocalMHPC",
        "cross-source": "mhpc.methods.cross_source:CrossSource",
        "channel": "mhpc.methods.channel:Channel",
        "auto": "mhpc.selection.auto:Auto",
    }
)
"""Name and home of every method, in the order in which they are shown."""

DEFAULT = "auto"
"""What consolidates when no method is named."""


def method_class(name: str) -> "type[BaseMethod]":
    """Return the class of a method."""
    return class_by_name(name, METHODS, what="method", error=UnknownMethodError)


def make_method(
    name: str | None = None, parameters: Mapping[str, Any] | None = None, *, seed: int | None = None
) -> "BaseMethod":
    """Return a method by name, or the default one, with some of its parameters set.

    The seed goes to a method that draws at random, unless its parameters name another.
    """
    kind, given = method_class(name or DEFAULT), dict(parameters or {})
    if seed is not None and "seed" in kind.model_fields:
        given = {"seed": seed, **given}
    return kind(**given)


def grid(
    names: Iterable[str], choices: Mapping[str, Sequence[Any]] | None = None
) -> "dict[str, Method]":
    """Return methods, named by what tells them apart: ``"mhpc, lam=5"``.

    A method that lacks a parameter is taken without it; a parameter that all lack is refused.
    """
    names, choices = list(names), choices or {}
    known = {name: set(method_class(name).model_fields) for name in names}
    for parameter in choices:
        every = sorted(set().union(*known.values()))
        if parameter not in every:
            raise ParameterError(
                f"none of {quote_list(names, most=20)} has a parameter {parameter!r}"
                f"{suggest(parameter, every)}; they have: {quote_list(every, most=30)}"
            )
    found: dict[str, Method] = {}
    for name in names:
        own = [parameter for parameter in choices if parameter in known[name]]
        for values in product(*(choices[parameter] for parameter in own)):
            given = dict(zip(own, values, strict=True))
            title = ", ".join([name, *(f"{key}={value}" for key, value in given.items())])
            found[title] = make_method(name, given)
    return found
