"""Metrics as values: a name, a direction, a way with ties, and the function."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from mhpc.core.arrays import Matrix, Sparse
from mhpc.core.scorecard import Ties
from mhpc.evaluate.ranking import coverage_error, micro_auc, ranking_loss


@dataclass(frozen=True)
class Metric:
    """How to measure scores against a truth, and which way is better."""

    name: str
    better: Literal["lower", "higher"]
    ties: Ties
    measure: Callable[[Sparse, Matrix], float]


METRICS: tuple[Metric, ...] = (
    Metric("ranking_loss", "lower", "pessimistic", ranking_loss),
    Metric("micro_auc", "higher", "half", micro_auc),
    Metric("micro_auc_strict", "higher", "strict", partial(micro_auc, tie=0.0)),
    Metric("coverage_error", "lower", "pessimistic", coverage_error),
)
"""The paper's metrics, in its order; micro-AUC with ties as scikit-learn has it, and strict."""
