"""The summary of a run, and ``run.json``."""

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
from mhpc.report.sentences import (
    describe_exclusive,
    describe_left_out,
    describe_similarity,
    describe_sufficient_sources,
)

_PACKAGES = ("mhpc", "numpy", "scipy", "duckdb")
"""The packages on which results depend."""


def summarize(
    consolidation: Consolidation,
    counts: RunCounts,
    decision: FittedRule | Decision,
    sources: Sequence[SourceProfile],
    conflicts: Disagreements,
    scorecards: Sequence[Scorecard],
    seconds: Mapping[str, float],
) -> RunSummary:
    """Collect what a run did and found."""
    taxonomy = consolidation.taxonomy
    return RunSummary(
        method=consolidation.method,
        parameters=consolidation.parameters,
        converged=consolidation.converged,
        trace=consolidation.trace,
        combination=consolidation.combination,
        notes=(
            *describe_exclusive(counts.exclusive),
            *describe_left_out(consolidation.combination),
            *describe_sufficient_sources(sources),
            *describe_similarity(consolidation.combination),
            *consolidation.notes,
        ),
        technical_notes=consolidation.notes,
        counts={
            "instances": counts.instances,
            # Those with a profile: gold labels are encoded as a source, but are none.
            "sources": len(sources),
            "answers": sum(source.answers for source in sources),
            "labels": len(taxonomy),
            "levels": int(taxonomy.depth.max()),
        },
        decision={
            "rule": decision.rule,
            **decision.parameters,
            "labels_per_instance": counts.chosen / counts.instances,
            "instances_without_label": counts.without_label,
        },
        sources=tuple(sources),
        conflicts=conflicts,
        scorecards=tuple(scorecards),
        seconds=dict(seconds),
        names=taxonomy.names_of(
            weakness.label for source in sources for weakness in source.weaknesses
        ),
    )


def run_document(
    settings: dict[str, Any], inputs: Mapping[str, Any], summary: RunSummary
) -> dict[str, Any]:
    """Return the content of ``run.json``; `inputs` are the sizes and hashes of the files read."""
    return {
        "settings": settings,
        "inputs": dict(inputs),
        "versions": {"python": platform.python_version(), **versions()},
        **to_json(summary),
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages on which results depend."""
    return {package: version(package) for package in _PACKAGES}


_PLAIN = frozenset({str, int, bool, type(None)})
"""Types that JSON has, and whose values need no conversion."""


def to_json(value: Any) -> Any:
    """Convert dataclasses, mappings and sequences to what JSON has; nan becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        return to_json(asdict(value))
    if isinstance(value, dict):
        return {str(key): to_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        # Lists may have a number or an id for every label of a large taxonomy.
        return [entry if type(entry) in _PLAIN else to_json(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
