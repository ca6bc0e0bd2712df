"""A consolidation, what was decided of it, and a truth become a Scorecard."""

from collections.abc import Sequence

from mhpc.core.arrays import Sparse
from mhpc.core.consolidation import Consolidation
from mhpc.core.rows import selected
from mhpc.core.scorecard import Score, Scorecard, View
from mhpc.core.truth import EncodedTruth
from mhpc.evaluate.metrics import METRICS, SET_METRICS, Metric
from mhpc.evaluate.sets import laid_beside, levels


def score(
    consolidation: Consolidation,
    truth: EncodedTruth,
    *,
    view: View = "closed",
    metrics: Sequence[Metric] = METRICS,
    decided: Sparse | None = None,
) -> Scorecard:
    """Measure those instances whose truth is known: their scores, and their label sets if given.

    `decided` has an entry where an instance is given a label, (N, K), closed under ancestors.
    """
    true = truth.view(view)
    scores = selected(consolidation.view(view), truth.rows)
    sets = None if decided is None else laid_beside(decided, truth, consolidation.taxonomy)
    return Scorecard(
        method=consolidation.method,
        view=view,
        instances=len(truth.rows),
        scores=tuple(
            Score(metric.name, metric.measure(true, scores), metric.better, metric.ties)
            for metric in metrics
        ),
        sets=tuple(
            Score(metric.name, metric.measure(sets), metric.better, "none")
            for metric in SET_METRICS
        )
        if sets
        else (),
        levels=levels(sets) if sets else (),
    )
