"""What the paper printed: read from one data file, never typed into an experiment."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> Mapping[str, Any]:
    """Return the paper's figures, as printed."""
    text = (files("mhpc.paper") / "published.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def published_value(set_: str, method: str, sources: int | None, metric: str) -> float | None:
    """Return the printed figure of a method on a set, or None where none is printed."""
    rows = [*published()["varying_sources"], *published()["medical"]["values"]]
    for row in rows:
        if (row["set"], row["method"], row.get("sources")) == (set_, method, sources):
            return float(row[metric])
    return None


def published_lambda(set_: str) -> float:
    """Return the lambda that the paper chose for a set; one for all medical ones."""
    chosen = published()["lambda"]
    return float(chosen.get(set_, chosen["medical"]))
