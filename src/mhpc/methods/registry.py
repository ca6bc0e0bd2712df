"""The methods by name. The module of a method is imported when the method is first used."""

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
"""Where every method is defined, in the order in which methods are listed."""

DEFAULT = "auto"
"""The method to use when none is named."""


def method_class(name: str) -> "type[BaseMethod]":
    """Return the class of a method."""
    return class_by_name(name, METHODS, what="method", error=UnknownMethodError)


def make_method(
    name: str | None = None, parameters: Mapping[str, Any] | None = None, *, seed: int | None = None
) -> "BaseMethod":
    """Return a method by name, or the default one, with some of its parameters set.

    Parameters
    ----------
    name : str, optional
        A registered name.
    parameters : mapping, optional
        Values of its parameters; the others have their defaults.
    seed : int, optional
        For a method that draws at random, unless its parameters contain another seed.
    """
    kind, values = method_class(name or DEFAULT), dict(parameters or {})
    if seed is not None and "seed" in kind.model_fields:
        values = {"seed": seed, **values}
    return kind(**values)


def make_grid(
    names: Iterable[str], choices: Mapping[str, Sequence[Any]] | None = None
) -> "dict[str, Method]":
    """Return methods with all combinations of parameter values, named like ``"mhpc, lam=5"``.

    Parameters
    ----------
    names : iterable of str
        Registered names.
    choices : mapping of str to sequence, optional
        The values of each parameter. A method without the parameter is used without it; a
        parameter that no method has is refused.
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
    methods: dict[str, Method] = {}
    for name in names:
        parameters = [parameter for parameter in choices if parameter in known[name]]
        for values in product(*(choices[parameter] for parameter in parameters)):
            chosen = dict(zip(parameters, values, strict=True))
            title = ", ".join([name, *(f"{key}={value}" for key, value in chosen.items())])
            methods[title] = make_method(name, chosen)
    return methods
