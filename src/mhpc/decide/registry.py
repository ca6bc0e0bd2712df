"""The rules by name. A rule's module is imported when it is asked for, not before."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mhpc.errors import ParameterError, nearest, quoted

if TYPE_CHECKING:
    from mhpc.decide.rule import Rule

RULES: Mapping[str, str] = MappingProxyType(
    {
        "expected-f": "mhpc.decide.expected_f:ExpectedF",
        "threshold": "mhpc.decide.threshold:Threshold",
        "sure": "mhpc.decide.sure:Sure",
        "one-path": "mhpc.decide.one_path:OnePath",
        "top-paths": "mhpc.decide.top_paths:TopPaths",
    }
)
"""Name and home of every rule, in the order in which they are shown."""


def rule_class(name: str) -> "type[Rule]":
    """Return the class of a rule."""
    if name not in RULES:
        raise ParameterError(
            f"no rule {name!r}{nearest(name, RULES)}; there are {quoted(list(RULES))}"
        )
    module, _, attribute = RULES[name].partition(":")
    found: type[Rule] = getattr(import_module(module), attribute)
    return found


def make_rule(name: str, **parameters: Any) -> "Rule":
    """Return a rule by name, with those of the parameters set that are not None."""
    given = {key: value for key, value in parameters.items() if value is not None}
    return rule_class(name)(**given)
