"""Ask a result: why this label, and what a human should look at."""

from dataclasses import replace

import numpy as np

from mhpc.data.disagreement import Disagreements, Explanation
from mhpc.data.index import UNKNOWN
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.data.summary import RunCounts
from mhpc.data.taxonomy import unknown_label_message
from mhpc.errors import UnknownInstanceError, UnknownLabelError, suggest
from mhpc.explanation.agreement import PairwiseAgreement, compare_answers, find_confused_pairs
from mhpc.explanation.disagreement import EVEN
from mhpc.explanation.effects import effects_in
from mhpc.explanation.labels import ScoredPanel, explanations
from mhpc.explanation.sources import count_run
from mhpc.methods.scope import with_inferred_scope
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.result import Result

AGREEMENT_SAMPLE = 20_000
"""Instances on which answers are held against each other."""

MAX_CONFUSED_PAIRS = 50
"""Pairs of labels that are told."""

_CELLS = 1 << 22
"""Answers x labels whose effects are held at a time."""


def explain(result: Result, instance: str, label: str | None = None) -> Explanation:
    """Return why an instance has a label or has not: who says what, and what that does.

    Parameters
    ----------
    result : Result
        As `mhpc.consolidate` gives it.
    instance : str
        Its id.
    label : str, optional
        An id, or a name or path that only one label has. Unless given: all labels that were chosen
        or are in dispute.
    """
    at = result.panel.instances.locate([instance])
    if at[0] == UNKNOWN:
        raise UnknownInstanceError(
            f"instance {instance!r} has no votes{suggest(instance, result.panel.instances)}"
        )
    return explain_some(result, at, None if label is None else _located(result.panel, label))[0]


def explain_some(
    result: Result, instances: IntArray, labels: IntArray | None = None
) -> tuple[Explanation, ...]:
    """Explain instances, given by rising positions, as many at a time as fit."""
    panel = with_inferred_scope(result.panel)
    cells = int(panel.answers_per_instance[instances].sum()) * len(panel.taxonomy)
    # What is found by consolidating anew is found for all at once.
    parts = -(-cells // _CELLS) if result.consolidation.fitted else 1
    return tuple(
        each
        for some in np.array_split(instances, max(1, min(parts, len(instances))))
        if len(some)
        for each in explanations(panel.select_instances(some), _findings(result, some), labels)
    )


def _findings(result: Result, instances: IntArray) -> ScoredPanel:
    effects, how = effects_in(result, instances)
    return ScoredPanel(
        score=result.consolidation.score[instances],
        specific=result.consolidation.specific[instances],
        reason=result.decision.reason[instances],
        level=result.decision.parameters.get("threshold") or EVEN,
        effects=effects,
        how=how,
    )


def conflicts(result: Result, *, top: int = 50) -> Disagreements:
    """Return the instances on which one more opinion is worth most, and labels that are confused.

    Parameters
    ----------
    result : Result
        As `mhpc.consolidate` gives it.
    top : int
        How many instances, and pairs of labels, to return at most.
    """
    panel = with_inferred_scope(result.panel)
    found = count_run(panel, result.consolidation, result.decision, most=top)
    return find_disagreements(SinglePartition(panel), panel.scope, found, most=top)


def find_disagreements(
    parts: PanelPartitions,
    scope: Sparse | None,
    found: RunCounts,
    *,
    most: int = MAX_CONFUSED_PAIRS,
) -> Disagreements:
    """Return what a tally found contested, and what a sample of answers shows to be confused."""
    return Disagreements(
        instances=found.disagreements.told(parts.taxonomy.labels),
        disputed=found.disagreements.count,
        confusions=find_confused_pairs(compare_sample(parts, scope), parts.taxonomy, most=most),
    )


def compare_sample(parts: PanelPartitions, scope: Sparse | None) -> PairwiseAgreement:
    """Hold answers against each other, on all instances or on so many that stand for all."""
    sample = parts.sample(AGREEMENT_SAMPLE)
    return compare_answers(sample if scope is None else replace(sample, scope=scope))


def _located(panel: Panel, label: str) -> IntArray:
    position = panel.taxonomy.locate([label])
    if position[0] == UNKNOWN:
        raise UnknownLabelError(unknown_label_message(panel.taxonomy, label))
    return position
