"""The files of a run: one way to write them, whether votes came from files or from memory."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mhpc.data.disagreement import Disagreements
from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.profiles import SourceProfile
from mhpc.data.summary import Model, RunCounts, RunSummary
from mhpc.explanation.queries import find_disagreements
from mhpc.explanation.sources import profile_sources
from mhpc.methods.scope import effective_scope
from mhpc.model import write_model
from mhpc.report.summary import run_document
from mhpc.write.tables import write_sources, write_taxonomy


@dataclass(frozen=True, eq=False)
class WrittenRun:
    """What was counted while the tables of a run were written."""

    counts: RunCounts
    sources: tuple[SourceProfile, ...]
    conflicts: Disagreements


def write_tables(
    folder: Path,
    partitions: PanelPartitions,
    template: Panel,
    model: Model | None,
    write_results: Callable[..., RunCounts],
) -> WrittenRun:
    """Write all files of a run except ``run.json``, and count on the way.

    Parameters
    ----------
    folder : Path
        Where to write.
    partitions, template
        The votes, and a panel with their taxonomy, sources and scope.
    model : Model or None
        What was fitted.
    write_results : callable
        Writes the scores and label sets into a folder; takes it, and the scope of the sources.
    """
    write_taxonomy(folder / "taxonomy.csv", template.taxonomy)
    if model is not None and model.fitted is not None:
        write_model(folder, model)
    scope = effective_scope(partitions, template)
    counts = write_results(folder, scope=scope)
    sources = profile_sources(partitions, template, counts)
    conflicts = find_disagreements(partitions, scope, counts)
    write_sources(folder / "sources.csv", sources)
    return WrittenRun(counts, sources, conflicts)


def write_document(
    folder: Path, settings: dict[str, Any], inputs: Mapping[str, Any], summary: RunSummary
) -> None:
    """Write ``run.json``, which is what makes a folder the output of a run."""
    document = run_document(settings, inputs, summary)
    (folder / "run.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
