"""The command that repeats a run."""

import shlex
from collections.abc import Mapping
from typing import Any

from mhpc.settings import RunSettings

_FLAGS = {"parameters": "--set", "columns": "--column"}
_USUAL = {name: field.default for name, field in RunSettings.model_fields.items()}
"""Settings as they come."""


def command(settings: Mapping[str, Any]) -> str:
    """Return ``mhpc consolidate VOTES …`` as a shell takes it; what is as it comes is left out."""
    words = ["mhpc", "consolidate", settings["votes"]]
    for name, value in settings.items():
        if name == "votes" or value in (None, {}, _USUAL.get(name)):
            continue
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            words += [
                word for key, each in value.items() for word in (flag, f"{key}={_text(each)}")
            ]
        elif not (settings.get("apply") and name == "taxonomy"):
            words += [flag, _text(value)]
    return shlex.join([*words, "-o", "OUT/"])


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
