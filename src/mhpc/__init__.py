"""Consolidate the labels that many sources assign from one taxonomy, without knowing the truth.

    import mhpc

    result = mhpc.consolidate("votes.csv", "taxonomy.csv")
    result.labels, result.scores, result.sources

The public names are listed in ``__init__.pyi``, for type checkers and for Python alike. Each is
imported when it is first used, so that ``mhpc --help`` does not wait for NumPy.
"""

import logging
from functools import cache
from importlib import import_module
from typing import Any

from mhpc.process import no_fork

# A library is silent unless it is asked: logging.getLogger("mhpc").setLevel("INFO").
logging.getLogger("mhpc").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mhpc")
    if name == "__all__":
        return __dir__()
    with no_fork:
        module = None if name.startswith("__") else _modules().get(name)
        if module is None:
            raise AttributeError(f"module 'mhpc' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted(_modules())


@cache
def _modules() -> dict[str, str]:
    """Return the module of every public name: those of the stub, and every registered method."""
    import ast
    from importlib.resources import files

    from mhpc.methods.registry import METHODS

    # The package may be in a zip archive.
    stub = ast.parse((files("mhpc") / "__init__.pyi").read_text(encoding="utf-8"))
    listed = {
        alias.name: statement.module or ""
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    methods = (home.partition(":") for home in METHODS.values())
    return {**{name: module for module, _, name in methods}, **listed}
