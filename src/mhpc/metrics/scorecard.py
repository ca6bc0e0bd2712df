"""The lists of metrics; score()."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from mhpc.data.scorecard import Score, Scorecard, Ties, View
from mhpc.data.scores import Consolidation
from mhpc.data.votes import EncodedTruth
from mhpc.metrics import label_sets as sets
from mhpc.metrics.label_sets import compare_label_sets, levels
from mhpc.metrics.ranking import coverage_error, micro_auc, ranking_loss
from mhpc.numerics.arrays import Matrix, Sparse, selected


@dataclass(frozen=True)
class Metric:
    """How to measure scores against a truth, and which way is better."""

    name: str
    better: Literal["lower", "higher"]
    ties: Ties
    measure: Callable[[Sparse, Matrix], float]


@dataclass(frozen=True)
class SetMetric:
    """How to measure label sets against a truth, and which way is better."""

    name: str
    better: Literal["lower", "higher"]
    measure: Callable[[sets.LabelSets], float]


METRICS: tuple[Metric, ...] = (
    Metric("ranking_loss", "lower", "pessimistic", ranking_loss),
    Metric("micro_auc", "higher", "half", micro_auc),
    Metric("micro_auc_strict", "higher", "strict", partial(micro_auc, tie=0.0)),
    Metric("coverage_error", "lower", "pessimistic", coverage_error),
)
"""The paper's metrics, in its order; micro-AUC with ties as scikit-learn has it, and strict."""

SET_METRICS: tuple[SetMetric, ...] = (
    SetMetric("hierarchical_precision", "higher", sets.precision),
    SetMetric("hierarchical_recall", "higher", sets.recall),
    SetMetric("hierarchical_f", "higher", sets.f),
    SetMetric("micro_precision", "higher", sets.micro_precision),
    SetMetric("micro_recall", "higher", sets.micro_recall),
    SetMetric("micro_f", "higher", sets.micro_f),
    SetMetric("instance_f", "higher", sets.instance_f),
    SetMetric("exact_match", "higher", sets.exact_match),
    SetMetric("deepest_accuracy", "higher", sets.deepest_accuracy),
    SetMetric("tree_distance", "lower", sets.tree_distance),
)
"""What is told of label sets; cafaeval's pr, rc, f and their micro kin come first."""


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
    sets = None if decided is None else compare_label_sets(decided, truth, consolidation.taxonomy)
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
