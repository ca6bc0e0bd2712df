"""The facts of a run, gathered."""

from collections.abc import Mapping, Sequence

from mhpc.core.conflicts import Conflicts
from mhpc.core.consolidation import Consolidation
from mhpc.core.decision import Decision, Settled
from mhpc.core.scorecard import Scorecard
from mhpc.core.sources import SourceFacts
from mhpc.core.summary import Summary
from mhpc.core.tally import Tally


def summarise(
    consolidation: Consolidation,
    found: Tally,
    decided: Settled | Decision,
    sources: Sequence[SourceFacts],
    conflicts: Conflicts,
    scorecards: Sequence[Scorecard],
    seconds: Mapping[str, float],
) -> Summary:
    """Return what there is to tell of a run."""
    taxonomy = consolidation.taxonomy
    return Summary(
        method=consolidation.method,
        parameters=consolidation.parameters,
        converged=consolidation.converged,
        trace=consolidation.trace,
        choice=consolidation.choice,
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
