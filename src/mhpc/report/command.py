"""The command that repeats a run."""

import shlex
from collections.abc import Mapping
from typing import Any

_FLAGS = {"parameters": "--set", "columns": "--column"}


def command(settings: Mapping[str, Any]) -> str:
    """Return ``mhpc consolidate VOTES …`` as a shell takes it; what is as it comes is left out."""
    words = ["mhpc", "consolidate", settings["votes"]]
    for name, value in settings.items():
        if name == "votes" or value in (None, {}, _USUAL.get(name)):
            continue
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if isinstance(value, Mapping):
            words += [
                word for key, each in value.items() for word in (flag, f"{key}={_text(each)}")
            ]
        elif not (settings.get("apply") and name == "taxonomy"):
            words += [flag, _text(value)]
    return shlex.join([*words, "-o", "OUT/"])


def _text(value: Any) -> str:
    return "none" if value is None else str(value)


_USUAL = {"seed": 0, "scope": "all", "unknown": "error", "top": 20, "engine": "local"}
"""Settings as they come."""
