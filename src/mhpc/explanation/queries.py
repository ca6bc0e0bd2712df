"""Questions about a result: why an instance has a label, and what a person should review."""

from dataclasses import replace
from itertools import zip_longest
from typing import Literal

import numpy as np

from mhpc.data.decision import Decision
from mhpc.data.disagreement import (
    Disagreement,
    Disagreements,
    Explanation,
    Strategy,
    select_recorded,
)
from mhpc.data.index import UNKNOWN, draw_order
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition, drop_gold
from mhpc.data.scores import Consolidation
from mhpc.data.summary import RunCounts
from mhpc.data.taxonomy import unknown_label_message
from mhpc.errors import UnknownInstanceError, UnknownLabelError, suggest
from mhpc.explanation.agreement import PairwiseAgreement, compare_answers, find_confused_pairs
from mhpc.explanation.disagreement import (
    collect_labels,
    compute_gains,
    find_agreed_labels,
    find_disputes,
    find_even_score,
)
from mhpc.explanation.effects import complete_scores, compute_effects
from mhpc.explanation.labels import ScoredPanel, explain_all
from mhpc.explanation.sources import count_run, examine_block
from mhpc.methods.scope import with_inferred_scope
from mhpc.numerics.arrays import IntArray, Sparse

AGREEMENT_SAMPLE = 20_000
"""Instances on which answers are compared with each other."""

MAX_CONFUSED_PAIRS = 50
"""Pairs of confused labels that a run records."""

CELLS_PER_BLOCK = 1 << 22
"""Answers x labels whose effects are held in memory at a time."""


def explain_instance(
    panel: Panel,
    consolidation: Consolidation,
    decision: Decision,
    instance: str,
    label: str | None = None,
) -> Explanation:
    """Explain the labels of an instance, or one label, by id, name or path."""
    position = panel.instances.locate([instance])
    if position[0] == UNKNOWN:
        nearest = suggest(instance, panel.instances)
        raise UnknownInstanceError(f"instance {instance!r} has no votes{nearest}")
    labels = None if label is None else _locate_label(panel, label)
    return explain_instances(panel, consolidation, decision, position, labels)[0]


def _locate_label(panel: Panel, label: str) -> IntArray:
    position = panel.taxonomy.locate([label])
    if position[0] == UNKNOWN:
        raise UnknownLabelError(unknown_label_message(panel.taxonomy, label))
    return position


def explain_instances(
    panel: Panel,
    consolidation: Consolidation,
    decision: Decision,
    instances: IntArray,
    labels: IntArray | None = None,
    *,
    cells_per_block: int = CELLS_PER_BLOCK,
) -> tuple[Explanation, ...]:
    """Explain instances, given by positions in increasing order, in blocks that fit in memory.

    Parameters
    ----------
    panel, consolidation, decision
        The result.
    instances : int array
        Positions of instances, in increasing order.
    labels : int array, optional
        The labels to explain; by default those that are chosen or disputed.
    cells_per_block : int
        Answers x labels whose effects are computed at a time.
    """
    scoped, consolidation = with_inferred_scope(panel), complete_scores(panel, consolidation)
    cells = int(panel.answers_per_instance[instances].sum()) * len(panel.taxonomy)
    blocks = -(-cells // cells_per_block)
    explanations: list[Explanation] = []
    for block in np.array_split(instances, max(1, min(blocks, len(instances)))):
        if len(block):
            effects, how = compute_effects(panel, consolidation, block)
            score, reason = consolidation.score[block], decision.reason[block]
            even_score = find_even_score(decision.parameters)
            scored = ScoredPanel(
                panel=scoped.select_instances(block),
                score=score,
                specific=consolidation.specific[block],
                reason=reason,
                gain=compute_gains(score, reason, panel.taxonomy, even_score=even_score)
                if decision.gain is None
                else decision.gain[block],
                effects=effects,
                how=how,
            )
            explanations += explain_all(scored, labels)
    return tuple(explanations)


def find_conflicts(
    panel: Panel,
    consolidation: Consolidation,
    decision: Decision,
    *,
    limit: int,
    pairs: int | None = None,
    strategy: Strategy = "gain",
    seed: int = 0,
) -> Disagreements:
    """Find the instances that a person should review, and the labels that sources confuse.

    Parameters
    ----------
    panel, consolidation, decision
        The result.
    limit : int
        The largest number of instances to return.
    pairs : int, optional
        The largest number of pairs of labels; by default the same.
    strategy : "gain", "random" or "mixed"
        Instances with the largest expected gain; a random sample of those without gold labels; or
        by turns one of each.
    seed : int
        Which random sample.
    """
    scoped, consolidation = with_inferred_scope(panel), complete_scores(panel, consolidation)
    counts = count_run(scoped, consolidation, decision, limit=limit)
    pairs = limit if pairs is None else pairs
    partition = SinglePartition(scoped)
    found = find_disagreements(partition, scoped.scope, counts, limit=pairs, every_label=True)
    if strategy == "gain":
        return found
    rows = draw_instances(panel, seed)[:limit]
    drawn: dict[int, Literal["gain", "random"]] = dict.fromkeys(rows.tolist(), "random")
    if strategy == "mixed":
        ranked = panel.instances.locate(case.instance for case in found.instances)
        drawn = mix_orders(ranked, rows, limit)
    cases = _describe_instances(scoped, consolidation, decision, np.array(list(drawn), dtype=int))
    cases = tuple(replace(case, drawn=how) for case, how in zip(cases, drawn.values(), strict=True))
    found = replace(found, instances=cases)
    return replace(found, names=panel.taxonomy.names_of(found.labels()))


def draw_instances(panel: Panel, seed: int = 0) -> IntArray:
    """Return all instances without gold labels in random order, the same whenever it is asked.

    Every beginning of it is a uniformly random sample. It depends on the ids and the seed alone.
    """
    rows = np.arange(len(panel.instances))
    if panel.gold is not None:
        rows = np.setdiff1d(rows, panel.gold.rows)
    return rows[draw_order(panel.instances.select(rows), seed=seed)]


def mix_orders(
    ranked: IntArray, drawn: IntArray, limit: int
) -> dict[int, Literal["gain", "random"]]:
    """Return at most `limit` instances by turns from two orders, and which one each is from.

    An instance that both orders reach counts as one of the first order, which has nothing to do
    with chance. The others of the second are then a random sample of all that the first leaves.
    """
    mixed: dict[int, Literal["gain", "random"]] = {}
    for by_gain, random in zip_longest(ranked.tolist(), drawn.tolist()):
        if by_gain is not None and (by_gain in mixed or len(mixed) < limit):
            mixed[by_gain] = "gain"
        if len(mixed) == limit:
            break
        if random is not None:
            mixed.setdefault(random, "random")
    return mixed


def _describe_instances(
    panel: Panel, consolidation: Consolidation, decision: Decision, rows: IntArray
) -> tuple[Disagreement, ...]:
    """Return what sources disagree on, for instances in any order; maybe on nothing."""
    if not len(rows):
        return ()
    order = np.argsort(rows)
    part = panel.select_instances(rows[order])
    examined = examine_block(
        part,
        consolidation.score[rows[order]],
        decision.reason[rows[order]],
        even_score=find_even_score(decision.parameters),
        gain=None if decision.gain is None else decision.gain[rows[order]],
        limit=len(rows),
    )
    records = examined.counts.disagreements.to_records(part.taxonomy)
    disputed = {case.instance: case for case in records}
    supported = find_disputes(part, collect_labels(part)).supported
    agreed = find_agreed_labels(part, supported, np.arange(len(rows)))
    answers, labels = drop_gold(part).answers_per_instance, part.taxonomy.labels
    cases = [
        disputed.get(instance)
        or Disagreement(
            instance,
            gain=float(examined.gain[row]),
            answers=int(answers[row]),
            agreed=labels[agreed[row]] if agreed[row] >= 0 else None,
            disputed=(),
        )
        for row, instance in enumerate(part.instances)
    ]
    return tuple(cases[position] for position in np.argsort(order))


def find_disagreements(
    partitions: PanelPartitions,
    scope: Sparse | None,
    counts: RunCounts,
    *,
    limit: int = MAX_CONFUSED_PAIRS,
    every_label: bool = False,
) -> Disagreements:
    """Return the ranked instances of a run, and at most `limit` pairs of confused labels.

    Unless `every_label`, these are as many instances as a run records.
    """
    instances = counts.disagreements.to_records(partitions.taxonomy)
    agreement = compare_sample(partitions, scope)
    disagreements = Disagreements(
        instances=instances if every_label else select_recorded(instances),
        disputed=counts.disagreements.count,
        to_review=counts.disagreements.to_review,
        confusions=find_confused_pairs(agreement, partitions.taxonomy, limit=limit),
    )
    return replace(disagreements, names=partitions.taxonomy.names_of(disagreements.labels()))


def compare_sample(partitions: PanelPartitions, scope: Sparse | None) -> PairwiseAgreement:
    """Compare the answers to each instance with each other, on a sample if there are many."""
    sample = drop_gold(partitions.sample(AGREEMENT_SAMPLE))
    return compare_answers(sample if scope is None else replace(sample, scope=scope))
