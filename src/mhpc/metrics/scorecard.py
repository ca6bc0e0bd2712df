"""All metrics of a consolidation and its label sets, in one scorecard."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from mhpc.data.scorecard import Score, Scorecard, Ties, View
from mhpc.data.scores import Consolidation
from mhpc.data.votes import EncodedTruth
from mhpc.metrics import label_sets
from mhpc.metrics.label_sets import LabelSets
from mhpc.metrics.ranking import coverage_error, micro_auc, ranking_loss
from mhpc.numerics.arrays import Matrix, Sparse, selected


@dataclass(frozen=True)
class Metric:
    """A metric of scores: ``measure(truth, scores)``."""

    name: str
    better: Literal["lower", "higher"]
    ties: Ties
    measure: Callable[[Sparse, Matrix], float]


@dataclass(frozen=True)
class SetMetric:
    """A metric of label sets."""

    name: str
    better: Literal["lower", "higher"]
    measure: Callable[[LabelSets], float]


METRICS: tuple[Metric, ...] = (
    Metric("ranking_loss", "lower", "pessimistic", ranking_loss),
    Metric("micro_auc", "higher", "half", micro_auc),
    Metric("micro_auc_strict", "higher", "strict", partial(micro_auc, tie=0.0)),
    Metric("coverage_error", "lower", "pessimistic", coverage_error),
)
"""The paper's metrics, in its order; micro-AUC with ties as in scikit-learn, and strict."""

SET_METRICS: tuple[SetMetric, ...] = (
    SetMetric("hierarchical_precision", "higher", label_sets.precision),
    SetMetric("hierarchical_recall", "higher", label_sets.recall),
    SetMetric("hierarchical_f", "higher", label_sets.f),
    SetMetric("micro_precision", "higher", label_sets.micro_precision),
    SetMetric("micro_recall", "higher", label_sets.micro_recall),
    SetMetric("micro_f", "higher", label_sets.micro_f),
    SetMetric("instance_f", "higher", label_sets.instance_f),
    SetMetric("exact_match", "higher", label_sets.exact_match),
    SetMetric("deepest_accuracy", "higher", label_sets.deepest_accuracy),
    SetMetric("tree_distance", "lower", label_sets.tree_distance),
)
"""The metrics of label sets; cafaeval's pr, rc, f and their micro averages come first."""


def score(
    consolidation: Consolidation,
    truth: EncodedTruth,
    *,
    view: View = "closed",
    metrics: Sequence[Metric] = METRICS,
    decided: Sparse | None = None,
) -> Scorecard:
    """Measure the scores, and the label sets if given, of instances with a known truth.

    Parameters
    ----------
    consolidation : Consolidation
        The scores.
    truth : EncodedTruth
        The true labels of some of the instances.
    view : "closed" or "specific"
        Whether to compare scores with the true labels and all their ancestors, or with the deepest
        true labels only.
    metrics : sequence of Metric
        The metrics of the scores.
    decided : csr_array, (N, K), optional
        An entry at every label that an instance was given, closed under ancestors.
    """
    true_labels = truth.view(view)
    scores = selected(consolidation.view(view), truth.rows)
    sets = None
    if decided is not None:
        sets = label_sets.compare_label_sets(decided, truth, consolidation.taxonomy)
    return Scorecard(
        method=consolidation.method,
        view=view,
        instances=len(truth.rows),
        scores=tuple(
            Score(metric.name, metric.measure(true_labels, scores), metric.better, metric.ties)
            for metric in metrics
        ),
        sets=tuple(
            Score(metric.name, metric.measure(sets), metric.better, "none")
            for metric in SET_METRICS
        )
        if sets
        else (),
        levels=label_sets.levels(sets) if sets else (),
    )
