"""The rules by name. The module of a rule is imported when the rule is first used."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mhpc.parameters import class_by_name

if TYPE_CHECKING:
    from mhpc.rules.base import Rule

RULES: Mapping[str, str] = MappingProxyType(
    {
        "expected-f": "mhpc.rules.expected_f:ExpectedF",
        "threshold": "mhpc.rules.threshold:Threshold",
        "min-probability": "mhpc.rules.threshold:MinProbability",
        "one-path": "mhpc.rules.paths:OnePath",
        "top-paths": "mhpc.rules.paths:TopPaths",
    }
)
"""Where every rule is defined, in the order in which rules are listed."""


def rule_class(name: str) -> "type[Rule]":
    """Return the class of a rule."""
    return class_by_name(name, RULES, what="rule")


def make_rule(name: str, **parameters: Any) -> "Rule":
    """Return a rule by name, with those parameters that are not None."""
    options = {key: value for key, value in parameters.items() if value is not None}
    return rule_class(name)(**options)
