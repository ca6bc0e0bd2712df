"""A consolidation and a truth become a Scorecard."""

from collections.abc import Sequence

from mhpc.core.consolidation import Consolidation
from mhpc.core.rows import selected
from mhpc.core.scorecard import Score, Scorecard, View
from mhpc.core.truth import EncodedTruth
from mhpc.evaluate.metrics import METRICS, Metric


def score(
    consolidation: Consolidation,
    truth: EncodedTruth,
    *,
    view: View = "closed",
    metrics: Sequence[Metric] = METRICS,
) -> Scorecard:
    """Measure the scores of those instances whose truth is known."""
    true = truth.view(view)
    scores = selected(consolidation.view(view), truth.rows)
    return Scorecard(
        method=consolidation.method,
        view=view,
        instances=len(truth.rows),
        scores=tuple(
            Score(metric.name, metric.measure(true, scores), metric.better, metric.ties)
            for metric in metrics
        ),
    )
