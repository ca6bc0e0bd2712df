"""``run.json``: all that is needed to understand a run and to repeat it."""

import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from typing import Any

from mhpc.core.summary import Summary

_PACKAGES = ("mhpc", "numpy", "scipy", "duckdb")


def run_document(
    settings: dict[str, Any], inputs: Mapping[str, Any], summary: Summary
) -> dict[str, Any]:
    """Return the content of ``run.json``; `inputs` are the fingerprints of what was read."""
    return {
        "settings": settings,
        "inputs": dict(inputs),
        "versions": {"python": platform.python_version(), **versions()},
        **plain(summary),
    }


def versions() -> dict[str, str]:
    """Return the versions of what figures depend on."""
    return {package: version(package) for package in _PACKAGES}


def plain(value: Any) -> Any:
    """Return dataclasses, mappings and sequences as what JSON knows; nan becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
