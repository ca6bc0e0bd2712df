"""Answers weighted by the skill of their source, with correlated sources sharing one weight."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition, drop_gold
from mhpc.data.profiles import SourceDependence
from mhpc.methods.source_dependence import count_answers, estimate_dependence
from mhpc.numerics.arrays import FloatArray
from mhpc.numerics.sparse import incidence, row_blocks
from mhpc.parameters import registered

SourceWeighting: TypeAlias = Literal["equal", "learned"]
"""Whether all sources have the same weight, or weights by skill, shared by correlated sources."""

BLOCK_CELLS = 1 << 22
"""Instances x sources that are worked on at a time."""


@registered("source-weights")
@dataclass(frozen=True, eq=False)
class SourceWeights:
    """The weights that the answers of sources have.

    A source that shares no instance with another has the mean skill and is independent. Fewer than
    three sources have the same skill, because skill explains any agreement between them. Gold
    labels count like the answers of an independent source that is always right, whose skill is 1,
    and do not change the weights of other answers.

    Attributes
    ----------
    dependence : SourceDependence
        The skill of all sources and the dependence between them.
    mean : float
        The mean skill of the sources with answers, gold aside.
    """

    dependence: SourceDependence
    mean: float

    def __call__(self, panel: Panel) -> Panel:
        """Return a panel of these sources with a weight for every answer.

        The weight is skill / mean skill x independence, and thus 1 for an independent source of
        mean skill.
        """
        skill = self.dependence.skill[panel.source] / self.mean
        return replace(panel, weight=answer_independence(panel, self.dependence) * skill)


def learn_source_weights(
    partitions: PanelPartitions, weighting: SourceWeighting
) -> SourceWeights | None:
    """Return the weights estimated from all answers; None if all sources are equal."""
    if weighting == "equal":
        return None
    return _make_weights(estimate_dependence(partitions), *partitions.sum(count_answers))


def apply_weights(panel: Panel, weights: SourceWeights | None) -> Panel:
    """Return the panel with its answers weighted; the same panel without weights."""
    return panel if weights is None else weights(panel)


def weight_answers(panel: Panel, dependence: SourceDependence | None = None) -> Panel:
    """Return the panel with its answers weighted by its own, or by a given, dependence."""
    if dependence is None:
        dependence = estimate_dependence(SinglePartition(panel))
    return _make_weights(dependence, *count_answers(panel))(panel)


def weight_by_independence(panel: Panel, *, dependence: SourceDependence) -> Panel:
    """Return the panel with its answers weighted by their independence alone; gold counts fully."""
    independence = answer_independence(panel, dependence)
    return replace(panel, weight=np.where(panel.is_gold, 1.0, independence))


def _make_weights(dependence: SourceDependence, answers: FloatArray) -> SourceWeights:
    skill = dependence.skill[answers > 0]
    return SourceWeights(dependence, float(np.average(skill)) if len(skill) else 1.0)


def answer_independence(
    panel: Panel, dependence: SourceDependence, *, block_cells: int = BLOCK_CELLS
) -> FloatArray:
    """Return the independence of every answer, (A,).

    1 / (1 + summed dependence on the other sources that answered the same instance): a source
    keeps its full weight where the sources that it depends on did not answer.
    """
    A, N, M = len(panel.instance), len(panel.instances), len(panel.sources)
    if not dependence.matrix.nnz:
        return np.ones(A)
    answered = incidence(panel.instance, panel.source, shape=(N, M))
    on_others = np.empty(A)
    # Answers are sorted by instance: a block of instances is a block of answers.
    for block in row_blocks(N, M, block_cells):
        first, last = np.searchsorted(panel.instance, (block.start, block.stop))
        summed = (answered[block] @ dependence.matrix).toarray()
        rows = panel.instance[first:last] - block.start
        on_others[first:last] = summed[rows, panel.source[first:last]]
    return np.asarray(1.0 / (1.0 + on_others))


def count_effective_sources(partitions: PanelPartitions) -> tuple[float, float]:
    """Return how many independent sources the mean instance was answered by, and how many sources.

    Dependent sources count as fewer: two copies are one independent source. Instances without
    answers do not count.
    """
    sums = partial(_sum_independence, dependence=estimate_dependence(partitions))
    independent, answers, instances = partitions.sum(sums)
    return independent / max(instances, 1), answers / max(instances, 1)


def _sum_independence(panel: Panel, *, dependence: SourceDependence) -> tuple[float, int, int]:
    """Return the independence of all answers, their number, and that of answered instances."""
    panel = drop_gold(panel)
    independence = answer_independence(panel, dependence)
    return float(independence.sum()), len(independence), len(np.unique(panel.instance))
