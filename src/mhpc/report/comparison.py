"""The methods that were judged, for a table with error bars."""

from collections.abc import Mapping
from typing import Any

from mhpc.core.choice import Judged
from mhpc.core.scorecard import View


def comparison(choice: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the candidates of a choice, as ``run.json`` has it: mean and error of each view."""
    return [_candidate(each, choice) for each in choice["candidates"]] if choice else []


def _candidate(each: Mapping[str, Any], choice: Mapping[str, Any]) -> dict[str, Any]:
    judged = Judged(**each)
    return {
        "name": judged.name,
        "closed": _loss(judged, "closed"),
        "specific": _loss(judged, "specific"),
        "seconds": judged.seconds,
        "chosen": _chosen(judged.name, choice),
    }


def _loss(judged: Judged, view: View) -> list[float]:
    return [judged.loss(view), judged.error(view)]


def _chosen(name: str, choice: Mapping[str, Any]) -> str | None:
    score, specific = name in choice["closed"], name in choice["specific"]
    if score and specific:
        return "both"
    return "score" if score else "specific" if specific else None
