"""Metrics as values: a name, a direction, a way with ties, and the function."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from mhpc.core.arrays import Matrix, Sparse
from mhpc.core.scorecard import Ties
from mhpc.evaluate import sets
from mhpc.evaluate.ranking import coverage_error, micro_auc, ranking_loss


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
    measure: Callable[[sets.Sets], float]


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
