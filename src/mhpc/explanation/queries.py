"""Ask a result: why this label, and what a human should look at."""

from dataclasses import replace

import numpy as np

from mhpc.data.disagreement import Conflicts, Explanation
from mhpc.data.index import UNKNOWN
from mhpc.data.panel import Panel, Parts, Whole
from mhpc.data.summary import Tally
from mhpc.data.taxonomy import unknown_label_message
from mhpc.errors import UnknownInstanceError, UnknownLabelError, nearest
from mhpc.explanation.agreement import Confrontations, confront, confusions
from mhpc.explanation.disagreement import EVEN
from mhpc.explanation.effects import effects_in
from mhpc.explanation.labels import Findings, explanations
from mhpc.explanation.sources import counted
from mhpc.methods.source_weights import scope_in
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.result import Result

LOOKED_AT = 20_000
"""Instances on which answers are held against each other."""

CONFUSIONS = 50
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
            f"instance {instance!r} has no votes{nearest(instance, result.panel.instances)}"
        )
    return explain_some(result, at, None if label is None else _located(result.panel, label))[0]


def explain_some(
    result: Result, instances: IntArray, labels: IntArray | None = None
) -> tuple[Explanation, ...]:
    """Explain instances, given by rising positions, as many at a time as fit."""
    panel = within_scope(result.panel)
    cells = int(panel.answers_per_instance[instances].sum()) * len(panel.taxonomy)
    # What is found by consolidating anew is found for all at once.
    parts = -(-cells // _CELLS) if result.consolidation.learnt else 1
    return tuple(
        each
        for some in np.array_split(instances, max(1, min(parts, len(instances))))
        if len(some)
        for each in explanations(panel.part(some), _findings(result, some), labels)
    )


def _findings(result: Result, instances: IntArray) -> Findings:
    effects, how = effects_in(result, instances)
    return Findings(
        score=result.consolidation.score[instances],
        specific=result.consolidation.specific[instances],
        reason=result.decision.reason[instances],
        level=result.decision.parameters.get("level") or EVEN,
        effects=effects,
        how=how,
    )


def conflicts(result: Result, *, top: int = 50) -> Conflicts:
    """Return the instances on which one more opinion is worth most, and labels that are confused.

    Parameters
    ----------
    result : Result
        As `mhpc.consolidate` gives it.
    top : int
        How many instances, and pairs of labels, to return at most.
    """
    panel = within_scope(result.panel)
    found = counted(panel, result.consolidation, result.decision, most=top)
    return conflicts_of(Whole(panel), panel.scope, found, most=top)


def conflicts_of(
    parts: Parts, scope: Sparse | None, found: Tally, *, most: int = CONFUSIONS
) -> Conflicts:
    """Return what a tally found contested, and what a sample of answers shows to be confused."""
    return Conflicts(
        instances=found.contested.told(parts.taxonomy.labels),
        disputed=found.contested.count,
        confusions=confusions(confronted(parts, scope), parts.taxonomy, most=most),
    )


def confronted(parts: Parts, scope: Sparse | None) -> Confrontations:
    """Hold answers against each other, on all instances or on so many that stand for all."""
    sample = parts.sample(LOOKED_AT)
    return confront(sample if scope is None else replace(sample, scope=scope))


def spoken_about(parts: Parts, shape: Panel) -> Sparse | None:
    """Return what sources can speak about: as it was given, or as their silence shows.

    Who never says a label that others keep saying does not contradict them, whatever method
    made the scores.
    """
    return shape.scope if shape.scope is not None else scope_in(parts)


def within_scope(panel: Panel) -> Panel:
    """Return the panel with what its sources can speak about."""
    scope = spoken_about(Whole(panel), panel)
    return panel if scope is None else replace(panel, scope=scope)


def _located(panel: Panel, label: str) -> IntArray:
    position = panel.taxonomy.locate([label])
    if position[0] == UNKNOWN:
        raise UnknownLabelError(unknown_label_message(panel.taxonomy, label))
    return position
