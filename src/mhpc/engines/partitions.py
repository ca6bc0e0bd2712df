"""Panels of some instances each; a sample of them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mhpc.data.index import UNKNOWN, Index
from mhpc.data.panel import Panel, sampling_order
from mhpc.data.summary import Model
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import EncodedTruth, Truth, Unknown
from mhpc.encoding.gold import encode_truth
from mhpc.encoding.panel import LocatedLabels, encode_scope, locate_labels
from mhpc.errors import MhpcWarning
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.read.partitioned import VotesSurvey, all_instances, instances_among, read_part
from mhpc.read.votes import DroppedVotes
from mhpc.steps import add_known, encode_votes


@dataclass(frozen=True, eq=False)
class PartitionPlan:
    """All that is needed to make the panel of any part, anywhere the votes can be read.

    Attributes
    ----------
    survey : Survey
        The votes.
    count : int
        Into how many parts.
    taxonomy : Taxonomy
        The labels, those that were grafted included.
    scope : csr_array, (M, K), or None
        As in `Panel`, before gold is a source.
    gold : pair of Index and EncodedTruth, or None
        What is known, its rows counting the ids of the index.
    earlier : pair of Index and csr_array, or None
        Sources and scope of the run that is applied.
    """

    survey: VotesSurvey
    count: int
    taxonomy: Taxonomy
    scope: Sparse | None = None
    gold: tuple[Index, EncodedTruth] | None = None
    earlier: tuple[Index, Sparse | None] | None = None


@dataclass(frozen=True, eq=False)
class Partition:
    """The panel of some instances, in the order of the votes, and where each appears first."""

    panel: Panel
    first: IntArray
    rows: int
    dropped: tuple[DroppedVotes, ...] = ()

    def __sizeof__(self) -> int:
        """Return the bytes of the answers, for whoever has to decide what stays in memory."""
        matrices = (self.panel.raw, self.panel.augmented)
        parts = (part for m in matrices for part in (m.data, m.indices, m.indptr))
        ids = 80 * len(self.panel.instances)
        arrays = (*parts, self.panel.instance, self.panel.source)
        return ids + sum(int(part.nbytes) for part in arrays)


def plan_partitions(
    survey: VotesSurvey,
    taxonomy: Taxonomy,
    *,
    count: int,
    unknown: Unknown,
    gold: Truth | None,
    earlier: Model | None,
) -> PartitionPlan:
    """Settle what concerns all parts; what `encode` refuses of the whole is refused here.

    Parameters
    ----------
    survey, taxonomy, unknown
        The votes, and what `encode` takes.
    count : int
        How many parts.
    gold : Truth or None
        What is known of some instances.
    earlier : Model or None
        The run that is applied.
    """
    located = locate_labels(
        taxonomy, survey.labels, unknown=unknown, origin=survey.origin,
        describe=lambda label: _who(survey, label),
    )  # fmt: skip
    whole = PartitionPlan(survey, count, located.taxonomy, _scope(survey, located, unknown))
    if gold is not None:
        whole = replace(whole, gold=_known(whole, gold, unknown))
    if earlier is not None:
        whole = replace(whole, earlier=(earlier.sources, earlier.scope))
    # A panel without answers meets what is refused of sources.
    _add_known(whole, nobody(whole))
    return whole


def load(whole: PartitionPlan, part: int) -> Partition:
    """Read and encode one part."""
    found = read_part(whole.survey, part, parts=whole.count)
    with warnings.catch_warnings():
        # What the taxonomy lacks was told of, once, when the votes were divided.
        warnings.simplefilter("ignore", MhpcWarning)
        panel = encode_votes(found.votes, whole.taxonomy, unknown="drop")
    panel = _add_known(whole, replace(panel, scope=whole.scope))
    return Partition(panel, found.first_rows, found.rows, found.dropped)


def nobody(whole: PartitionPlan) -> Panel:
    """Return the panel of no instances: labels, sources and scope as the votes have them."""
    nothing, empty = np.zeros(0, dtype=np.int64), sparse.csr_array((0, len(whole.taxonomy)))
    return Panel(
        taxonomy=whole.taxonomy,
        instances=Index(()),
        sources=whole.survey.sources,
        instance=nothing,
        source=nothing,
        raw=empty,
        augmented=empty,
        scope=whole.scope,
    )


def shape_of(whole: PartitionPlan) -> Panel:
    """Return a panel without instances, otherwise as all parts are."""
    return _add_known(whole, nobody(whole))


def _who(survey: VotesSurvey, label: int) -> str:
    source, instance = survey.first_votes[label]
    return f", given by source {source!r} to instance {instance!r}"


def _scope(survey: VotesSurvey, located: LocatedLabels, unknown: Unknown) -> Sparse | None:
    if survey.used_labels is None:
        return None
    source, label = survey.used_labels[0], located.position[survey.used_labels[1]]
    known = label != UNKNOWN
    raw = sparse.csr_array(
        (np.ones(known.sum()), (source[known], label[known])),
        shape=(len(survey.sources), len(located.taxonomy)),
    )
    everyone = np.arange(len(survey.sources))
    return encode_scope(
        survey.scope, located.taxonomy, survey.sources, everyone, raw, unknown=unknown
    )


def _known(whole: PartitionPlan, gold: Truth, unknown: Unknown) -> tuple[Index, EncodedTruth]:
    here = instances_among(whole.survey, gold.instances)
    if len(here) < len(gold.instances) and unknown == "error":
        # The message names the nearest of all.
        here = all_instances(whole.survey)
    elif not len(here):
        here = Index((whole.survey.instance,))
    return here, encode_truth(gold, whole.taxonomy, here, unknown=unknown)


def _add_known(plan: PartitionPlan, panel: Panel) -> Panel:
    """Return the panel with its gold labels, and with the sources of the run that is applied."""
    gold = None
    if plan.gold is not None:
        ids, encoded = plan.gold
        gold = _select_gold(encoded, ids.locate(panel.instances))
    return add_known(panel, gold=gold, known_sources=plan.earlier)


def _select_gold(gold: EncodedTruth, at: IntArray) -> EncodedTruth:
    """Return what is known of instances, given by where each is in the index of the gold."""
    row = np.full(max(int(gold.rows.max(initial=-1)), int(at.max(initial=-1))) + 2, UNKNOWN)
    row[gold.rows] = np.arange(len(gold.rows))
    found = row[at]
    here = np.flatnonzero(found != UNKNOWN)
    return EncodedTruth(here, gold.specific[found[here]], gold.closed[found[here]])


def drawn(part: Partition, most: int) -> tuple[IntArray, IntArray]:
    """Return the lots and first rows of those instances that could be in a sample."""
    drawn = sampling_order(part.panel)
    if len(drawn) > most:
        kept = np.lexsort((part.first, drawn))[:most]
        return drawn[kept], part.first[kept]
    return drawn, part.first


def sampled(part: Partition, last: tuple[int, int]) -> Partition | None:
    """Return the instances up to the last lot and, among equal lots, the last first row."""
    drawn = sampling_order(part.panel)
    at = np.flatnonzero((drawn < last[0]) | ((drawn == last[0]) & (part.first <= last[1])))
    if not len(at):
        return None
    return Partition(part.panel.select_instances(at), part.first[at], part.rows)


def joined(parts: Sequence[Partition]) -> Panel:
    """Return one panel of the instances of all, in the order of first appearance."""
    panels = [part.panel for part in parts]
    begins = np.cumsum([0, *(len(panel.instances) for panel in panels)])
    order = np.argsort(np.concatenate([part.first for part in parts]))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    ids = [id_ for panel in panels for id_ in panel.instances]
    instance = np.concatenate(
        [place[panel.instance + begin] for panel, begin in zip(panels, begins, strict=False)]
    )
    source = np.concatenate([panel.source for panel in panels])
    rows = np.lexsort((source, instance))
    return replace(
        panels[0],
        instances=Index(tuple(ids[at] for at in order)),
        instance=instance[rows],
        source=source[rows],
        raw=sparse.vstack([panel.raw for panel in panels], format="csr")[rows],
        augmented=sparse.vstack([panel.augmented for panel in panels], format="csr")[rows],
        gold=_joined_gold(panels, begins, place),
    )


def _joined_gold(panels: list[Panel], begins: IntArray, place: IntArray) -> EncodedTruth | None:
    known = [(panel.gold, begin) for panel, begin in zip(panels, begins, strict=False)]
    if any(gold is None for gold, _ in known):
        return None
    found = [(gold, begin) for gold, begin in known if gold is not None]
    rows = np.concatenate([place[gold.rows + begin] for gold, begin in found])
    order = np.argsort(rows)
    return EncodedTruth(
        rows[order],
        sparse.vstack([gold.specific for gold, _ in found], format="csr")[order],
        sparse.vstack([gold.closed for gold, _ in found], format="csr")[order],
    )
