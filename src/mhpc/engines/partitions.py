"""Partitions: panels of some instances each, planned once and loaded anywhere, and joined again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mhpc.data.denials import Denials, join_parts
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.panel import Panel, sampling_order
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import ABSTAINED, NONE_OF_THESE, EncodedTruth, LabelPolicy, Policy, Truth
from mhpc.encoding.gold import encode_truth
from mhpc.encoding.known_sources import KnownSources
from mhpc.encoding.labels import LocatedLabels, locate_labels
from mhpc.encoding.panel import encode_scope
from mhpc.errors import silence_warnings
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.read.partitioned import VotesSurvey, all_instances, instances_among, read_part
from mhpc.read.votes import DroppedVotes
from mhpc.steps import add_known, encode_votes


@dataclass(frozen=True, eq=False)
class PartitionPlan:
    """All that is needed to load any partition, wherever the votes can be read.

    Attributes
    ----------
    survey : VotesSurvey
        The votes.
    count : int
        How many partitions.
    taxonomy : Taxonomy
        The labels, including those that were grafted.
    position : int array
        The positions of the labels of the survey in it, as in `LocatedLabels`.
    scope : csr_array, (M, K), or None
        As in `Panel`, without the source of gold labels.
    gold : pair of Index and EncodedTruth, or None
        The gold labels; their rows are positions in the index.
    earlier : KnownSources or None
        The sources of the run that is applied.
    """

    survey: VotesSurvey
    count: int
    taxonomy: Taxonomy
    position: IntArray
    scope: Sparse | None = None
    gold: tuple[Index, EncodedTruth] | None = None
    earlier: KnownSources | None = None


@dataclass(frozen=True, eq=False)
class Partition:
    """A panel of some instances, in the order of the votes.

    Attributes
    ----------
    panel : Panel
        The instances.
    first_rows : int array, (N,)
        The row of the votes in which each appears first.
    rows : int
        How many rows of the votes they have.
    dropped : tuple of DroppedVotes
        Rows that do not count.
    """

    panel: Panel
    first_rows: IntArray
    rows: int
    dropped: tuple[DroppedVotes, ...] = ()

    def __sizeof__(self) -> int:
        """Return the bytes of the answers; Dask decides by it what stays in memory."""
        matrices = (self.panel.raw, self.panel.augmented)
        stored = [
            array for matrix in matrices for array in (matrix.data, matrix.indices, matrix.indptr)
        ]
        ids = 80 * len(self.panel.instances)
        arrays = (*stored, self.panel.instance, self.panel.source)
        return ids + sum(int(array.nbytes) for array in arrays)


def plan_partitions(
    survey: VotesSurvey,
    taxonomy: Taxonomy,
    *,
    count: int,
    unknown: Policy,
    gold: Truth | None,
    earlier: KnownSources | None,
) -> PartitionPlan:
    """Find out what concerns all partitions, and refuse what `encode` would refuse.

    Parameters
    ----------
    survey, taxonomy, unknown
        The votes, and what `encode` takes.
    count : int
        How many partitions.
    gold : Truth or None
        The known labels of some instances.
    earlier : KnownSources or None
        The sources of the run that is applied.
    """
    located = locate_labels(
        taxonomy, survey.labels, unknown=unknown, origin=survey.origin,
        describe=lambda label: _describe_first_vote(survey, label),
        count_share=lambda missing: float(survey.votes_per_label[missing].sum() / survey.rows),
    )  # fmt: skip
    scope = _encode_scope(survey, located, unknown)
    plan = PartitionPlan(survey, count, located.taxonomy, located.position, scope, earlier=earlier)
    if gold is not None:
        plan = replace(plan, gold=_encode_gold(plan, gold, unknown))
    # The checks of sources apply to a panel without answers too.
    make_template(plan)
    return plan


def load_partition(plan: PartitionPlan, number: int) -> Partition:
    """Read and encode one partition."""
    part = read_part(plan.survey, number, parts=plan.count)
    # The plan has located the labels, and warned about those that the taxonomy lacks.
    label = np.append(plan.position, [ABSTAINED, NONE_OF_THESE])[part.votes.label]
    votes = replace(part.votes, labels=plan.taxonomy.labels, label=label)
    with silence_warnings():
        # The plan has warned about new sources, too.
        panel = encode_votes(votes, plan.taxonomy)
        panel = _add_known(plan, replace(panel, scope=plan.scope))
    return Partition(panel, part.first_rows, part.rows, part.dropped)


def make_template(plan: PartitionPlan) -> Panel:
    """Return a panel without instances, with the taxonomy, sources and scope of all partitions."""
    no_answers = np.zeros(0, dtype=np.int64)
    no_labels = sparse.csr_array((0, len(plan.taxonomy)))
    no_denials = Denials(no_answers, no_answers, no_answers, np.zeros(0))
    panel = Panel(
        taxonomy=plan.taxonomy,
        instances=Index(()),
        sources=plan.survey.sources,
        instance=no_answers,
        source=no_answers,
        raw=no_labels,
        augmented=no_labels,
        scope=plan.scope,
        denials=no_denials if "negative" in plan.survey.columns else None,
    )
    return _add_known(plan, panel)


def draw_lots(part: Partition, n: int) -> tuple[IntArray, IntArray]:
    """Return the lots and the first rows of the instances that could be in a sample of `n`.

    The instances with the lowest lots are the sample; among equal lots, those that come first.
    """
    lots = sampling_order(part.panel)
    if len(lots) <= n:
        return lots, part.first_rows
    lowest = np.lexsort((part.first_rows, lots))[:n]
    return lots[lowest], part.first_rows[lowest]


def select_up_to(part: Partition, last: tuple[int, int]) -> Partition | None:
    """Return the instances of a partition up to the last lot and first row of a sample."""
    lots, (last_lot, last_row) = sampling_order(part.panel), last
    is_tied = (lots == last_lot) & (part.first_rows <= last_row)
    rows = np.flatnonzero((lots < last_lot) | is_tied)
    if not len(rows):
        return None
    return Partition(part.panel.select_instances(rows), part.first_rows[rows], part.rows)


def join_partitions(parts: Sequence[Partition]) -> Panel:
    """Return one panel of the instances of all partitions, in the order of the votes."""
    panels = [part.panel for part in parts]
    offsets = np.cumsum([0, *(len(panel.instances) for panel in panels)])[:-1]
    order = np.argsort(np.concatenate([part.first_rows for part in parts]))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    ids = [id_ for panel in panels for id_ in panel.instances]
    places = [place[offset:] for offset in offsets]
    instance = np.concatenate(
        [own[panel.instance] for panel, own in zip(panels, places, strict=True)]
    )
    source = np.concatenate([panel.source for panel in panels])
    rows = np.lexsort((source, instance))
    return replace(
        panels[0],
        instances=Index(tuple(ids[position] for position in order)),
        instance=instance[rows],
        source=source[rows],
        raw=sparse.vstack([panel.raw for panel in panels], format="csr")[rows],
        augmented=sparse.vstack([panel.augmented for panel in panels], format="csr")[rows],
        gold=_join_gold(panels, offsets, place),
        abstained=join_parts([panel.abstained for panel in panels], places),
        denials=join_parts([panel.denials for panel in panels], places),
    )


def _join_gold(panels: list[Panel], offsets: IntArray, place: IntArray) -> EncodedTruth | None:
    golds = [panel.gold for panel in panels if panel.gold is not None]
    if len(golds) < len(panels):
        return None
    rows = np.concatenate(
        [place[gold.rows + offset] for gold, offset in zip(golds, offsets, strict=True)]
    )
    order = np.argsort(rows)
    return EncodedTruth(
        rows[order],
        sparse.vstack([gold.specific for gold in golds], format="csr")[order],
        sparse.vstack([gold.closed for gold in golds], format="csr")[order],
    )


def _describe_first_vote(survey: VotesSurvey, label: int) -> str:
    source, instance = survey.first_votes[label]
    return f", given by source {source!r} to instance {instance!r}"


def _encode_scope(survey: VotesSurvey, located: LocatedLabels, unknown: Policy) -> Sparse | None:
    if survey.used_labels is None:
        return None
    source, label = survey.used_labels[0], located.position[survey.used_labels[1]]
    is_known = label >= 0
    raw = sparse.csr_array(
        (np.ones(is_known.sum()), (source[is_known], label[is_known])),
        shape=(len(survey.sources), len(located.taxonomy)),
    )
    sources = np.arange(len(survey.sources))
    return encode_scope(
        survey.scope, located.taxonomy, survey.sources, sources, raw, unknown=unknown
    )


def _encode_gold(plan: PartitionPlan, gold: Truth, unknown: Policy) -> tuple[Index, EncodedTruth]:
    instances = instances_among(plan.survey, gold.instances)
    if len(instances) < len(gold.instances) and LabelPolicy.of(unknown).refuses():
        # The message suggests the most similar of all.
        instances = all_instances(plan.survey)
    elif not len(instances):
        instances = Index((plan.survey.instance,))
    return instances, encode_truth(gold, plan.taxonomy, instances, unknown=unknown)


def _add_known(plan: PartitionPlan, panel: Panel) -> Panel:
    """Return a panel with its gold labels, and with the sources of the run that is applied."""
    gold = None
    if plan.gold is not None:
        ids, encoded = plan.gold
        gold = _select_gold(encoded, ids.locate(panel.instances))
    return add_known(panel, gold=gold, known_sources=plan.earlier)


def _select_gold(gold: EncodedTruth, positions: IntArray) -> EncodedTruth:
    """Return the gold labels of instances, given by their positions in the index of the gold."""
    size = max(int(gold.rows.max(initial=-1)), int(positions.max(initial=-1))) + 2
    row_of = np.full(size, UNKNOWN)
    row_of[gold.rows] = np.arange(len(gold.rows))
    gold_rows = row_of[positions]
    known = np.flatnonzero(gold_rows != UNKNOWN)
    return EncodedTruth(known, gold.specific[gold_rows[known]], gold.closed[gold_rows[known]])
