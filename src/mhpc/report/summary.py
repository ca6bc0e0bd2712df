"""RunSummary and run.json."""

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from typing import Any

from mhpc.data.decision import Decision, FittedRule
from mhpc.data.disagreement import Disagreements
from mhpc.data.profiles import SourceProfile
from mhpc.data.scorecard import Scorecard
from mhpc.data.scores import Consolidation
from mhpc.data.summary import RunCounts, RunSummary


def summarize(
    consolidation: Consolidation,
    found: RunCounts,
    decided: FittedRule | Decision,
    sources: Sequence[SourceProfile],
    conflicts: Disagreements,
    scorecards: Sequence[Scorecard],
    seconds: Mapping[str, float],
) -> RunSummary:
    """Return what there is to tell of a run."""
    taxonomy = consolidation.taxonomy
    return RunSummary(
        method=consolidation.method,
        parameters=consolidation.parameters,
        converged=consolidation.converged,
        trace=consolidation.trace,
        selection=consolidation.selection,
        notes=consolidation.notes,
        counts={
            "instances": found.instances,
            "sources": found.by_source.shape[1],
            "answers": found.answers,
            "labels": len(taxonomy),
            "levels": int(taxonomy.depth.max()),
        },
        decision={
            "rule": decided.rule,
            **decided.parameters,
            "labels_per_instance": found.chosen / found.instances,
            "instances_without_label": found.without,
        },
        sources=tuple(sources),
        conflicts=conflicts,
        scorecards=tuple(scorecards),
        seconds=dict(seconds),
    )


_PACKAGES = ("mhpc", "numpy", "scipy", "duckdb")


def run_document(
    settings: dict[str, Any], inputs: Mapping[str, Any], summary: RunSummary
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
