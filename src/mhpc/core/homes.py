"""Classes by name, each imported from its home when it is asked for, not before."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from mhpc.errors import MhpcError, ParameterError, nearest, quoted


def class_by_name(
    name: str, homes: Mapping[str, str], *, what: str, error: type[MhpcError] = ParameterError
) -> type[Any]:
    """Return the class of a name.

    Parameters
    ----------
    name : str
        One of the names.
    homes : mapping
        The home of each, as ``module:class``.
    what : str
        What the names are of, for the error about one that there is not.
    error : type
        That error.
    """
    if name not in homes:
        raise error(
            f"no {what} {name!r}{nearest(name, homes)}; there are {quoted(list(homes), most=20)}"
        )
    module, _, attribute = homes[name].partition(":")
    found: type[Any] = getattr(import_module(module), attribute)
    return found
