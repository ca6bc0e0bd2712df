"""Votes of any size as panels of some instances each, alike in sources and labels."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from mhpc.core.arrays import IntArray, Sparse
from mhpc.core.index import UNKNOWN, Index
from mhpc.core.model import Model
from mhpc.core.panel import Panel
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import EncodedTruth, Truth
from mhpc.encode.gold import taught
from mhpc.encode.known import of_known_sources
from mhpc.encode.labels import Located, Unknown, locate_labels
from mhpc.encode.panel import encode
from mhpc.encode.scope import encode_scope
from mhpc.encode.truth import encode_truth
from mhpc.errors import MhpcWarning
from mhpc.read.part import read_part
from mhpc.read.repeats import LeftOut
from mhpc.read.survey import Survey, all_instances, instances_among


@dataclass(frozen=True, eq=False)
class Partitions:
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

    survey: Survey
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
    left_out: tuple[LeftOut, ...] = ()

    def __sizeof__(self) -> int:
        """Return the bytes of the answers, for whoever has to decide what stays in memory."""
        matrices = (self.panel.raw, self.panel.augmented)
        parts = (part for m in matrices for part in (m.data, m.indices, m.indptr))
        ids = 80 * len(self.panel.instances)
        arrays = (*parts, self.panel.instance, self.panel.source)
        return ids + sum(int(part.nbytes) for part in arrays)


def divided(
    survey: Survey,
    taxonomy: Taxonomy,
    *,
    count: int,
    unknown: Unknown,
    gold: Truth | None,
    earlier: Model | None,
) -> Partitions:
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
        who=lambda label: _who(survey, label),
    )  # fmt: skip
    whole = Partitions(survey, count, located.taxonomy, _scope(survey, located, unknown))
    if gold is not None:
        whole = replace(whole, gold=_known(whole, gold, unknown))
    if earlier is not None:
        whole = replace(whole, earlier=(earlier.sources, earlier.scope))
    # A panel without answers meets what is refused of sources.
    _encoded(whole, nobody(whole))
    return whole


def load(whole: Partitions, part: int) -> Partition:
    """Read and encode one part."""
    found = read_part(whole.survey, part, parts=whole.count)
    with warnings.catch_warnings():
        # What the taxonomy lacks was told of, once, when the votes were divided.
        warnings.simplefilter("ignore", MhpcWarning)
        panel = encode(found.votes, whole.taxonomy, unknown="drop")
    panel = _encoded(whole, replace(panel, scope=whole.scope))
    return Partition(panel, found.first, found.rows, found.left_out)


def nobody(whole: Partitions) -> Panel:
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


def shape_of(whole: Partitions) -> Panel:
    """Return a panel without instances, otherwise as all parts are."""
    return _encoded(whole, nobody(whole))


def _who(survey: Survey, label: int) -> str:
    source, instance = survey.said_first[label]
    return f", said by source {source!r} of instance {instance!r}"


def _scope(survey: Survey, located: Located, unknown: Unknown) -> Sparse | None:
    if survey.said is None:
        return None
    source, label = survey.said[0], located.position[survey.said[1]]
    known = label != UNKNOWN
    raw = sparse.csr_array(
        (np.ones(known.sum()), (source[known], label[known])),
        shape=(len(survey.sources), len(located.taxonomy)),
    )
    everyone = np.arange(len(survey.sources))
    return encode_scope(
        survey.scope, located.taxonomy, survey.sources, everyone, raw, unknown=unknown
    )


def _known(whole: Partitions, gold: Truth, unknown: Unknown) -> tuple[Index, EncodedTruth]:
    here = instances_among(whole.survey, gold.instances)
    if len(here) < len(gold.instances) and unknown == "error":
        # The message names the nearest of all.
        here = all_instances(whole.survey)
    elif not len(here):
        here = Index((whole.survey.instance,))
    return here, encode_truth(gold, whole.taxonomy, here, unknown=unknown)


def _encoded(whole: Partitions, panel: Panel) -> Panel:
    """Return the panel with what is known, or with the sources of the run that is applied."""
    if whole.gold is not None:
        ids, gold = whole.gold
        at = ids.locate(panel.instances)
        panel = taught(panel, _of_these(gold, at))
    if whole.earlier is not None:
        panel = of_known_sources(panel, *whole.earlier)
    return panel


def _of_these(gold: EncodedTruth, at: IntArray) -> EncodedTruth:
    """Return what is known of instances, given by where each is in the index of the gold."""
    row = np.full(max(int(gold.rows.max(initial=-1)), int(at.max(initial=-1))) + 2, UNKNOWN)
    row[gold.rows] = np.arange(len(gold.rows))
    found = row[at]
    here = np.flatnonzero(found != UNKNOWN)
    return EncodedTruth(here, gold.specific[found[here]], gold.closed[found[here]])
