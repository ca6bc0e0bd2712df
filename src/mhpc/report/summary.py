"""The facts of a run, gathered."""

from collections.abc import Mapping, Sequence

import numpy as np

from mhpc.core.consolidation import Consolidation
from mhpc.core.decision import Decision
from mhpc.core.panel import Panel
from mhpc.core.scorecard import Scorecard
from mhpc.core.sources import SourceFacts
from mhpc.core.summary import Summary


def summarise(
    panel: Panel,
    consolidation: Consolidation,
    decision: Decision,
    sources: Sequence[SourceFacts],
    scorecards: Sequence[Scorecard],
    seconds: Mapping[str, float],
) -> Summary:
    """Return what there is to tell of a run."""
    sizes = np.diff(decision.reason.indptr)
    return Summary(
        method=consolidation.method,
        parameters=consolidation.parameters,
        converged=consolidation.converged,
        trace=consolidation.trace,
        choice=consolidation.choice,
        counts={
            "instances": len(panel.instances),
            "sources": len(panel.sources),
            "answers": len(panel.instance),
            "labels": len(panel.taxonomy),
            "levels": int(panel.taxonomy.depth.max()),
        },
        decision={
            "rule": decision.rule,
            **decision.parameters,
            "labels_per_instance": float(sizes.mean()),
            "instances_without_label": int((sizes == 0).sum()),
        },
        sources=tuple(sources),
        scorecards=tuple(scorecards),
        seconds=dict(seconds),
    )
