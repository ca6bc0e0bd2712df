"""The methods by name. A method's module is imported when it is asked for, not before."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mhpc.core.homes import class_by_name
from mhpc.errors import UnknownMethodError

if TYPE_CHECKING:
    from mhpc.consolidate.method import MethodParameters

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "sa": "mhpc.consolidate.sa:SA",
        "wa": "mhpc.consolidate.wa:WA",
        "majority": "mhpc.consolidate.majority:Majority",
        "wawa": "mhpc.consolidate.wawa:Wawa",
        "inat": "mhpc.consolidate.inat:INat",
        "dawid-skene": "mhpc.consolidate.dawid_skene:DawidSkene",
        "one-truth": "mhpc.consolidate.one_truth:OneTruth",
        "mlcm": "mhpc.consolidate.mlcm:MLCM",
        "mpc-u": "mhpc.consolidate.mpc_u:MPCU",
        "mhpc": "mhpc.consolidate.mhpc:MHPC",
        "cross-source": "mhpc.consolidate.cross_source:CrossSource",
        "channel": "mhpc.consolidate.channel:Channel",
        "auto": "mhpc.choose.auto:Auto",
    }
)
"""Name and home of every method, in the order in which they are shown."""

DEFAULT = "auto"
"""What consolidates when no method is named."""


def method_class(name: str) -> "type[MethodParameters]":
    """Return the class of a method."""
    return class_by_name(name, METHODS, what="method", error=UnknownMethodError)


def make_method(
    name: str | None = None, parameters: Mapping[str, Any] | None = None, *, seed: int | None = None
) -> "MethodParameters":
    """Return a method by name, or the default one, with some of its parameters set.

    The seed goes to a method that draws at random, unless its parameters name another.
    """
    kind, given = method_class(name or DEFAULT), dict(parameters or {})
    if seed is not None and "seed" in kind.model_fields:
        given = {"seed": seed, **given}
    return kind(**given)
