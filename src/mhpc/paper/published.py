"""The published figures, read from one data file and never typed into an experiment."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> Mapping[str, Any]:
    """Return the figures of the paper as printed."""
    text = (files("mhpc.paper") / "published.json").read_text(encoding="utf-8")
    figures: dict[str, Any] = json.loads(text)
    return figures


def published_value(set_: str, method: str, sources: int | None, metric: str) -> float | None:
    """Return the published figure of a method on a set, or None if there is none."""
    rows = [*published()["varying_sources"], *published()["medical"]["values"]]
    for row in rows:
        if (row["set"], row["method"], row.get("sources")) == (set_, method, sources):
            return float(row[metric])
    return None


def published_lambda(set_: str) -> float:
    """Return the lambda that the paper chose for a set; the medical sets share one."""
    chosen = published()["lambda"]
    return float(chosen.get(set_, chosen["medical"]))
