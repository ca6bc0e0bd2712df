"""Gold labels: encoding a truth, adding it to a panel as a source, and keeping its scores."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from mhpc.data.hierarchy import deepest
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.panel import Panel
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import ABSTAINED, NONE_OF_THESE, EncodedTruth, LabelPolicy, Policy, Truth
from mhpc.encoding.labels import locate_labels
from mhpc.encoding.panel import augment
from mhpc.errors import (
    MhpcWarning,
    UnknownInstanceError,
    UnknownLabelError,
    option,
    pluralize,
    suggest,
    warn,
)
from mhpc.numerics.arrays import Block, IntArray, Matrix, Sparse, by_rows, dense
from mhpc.numerics.sparse import incidence

GOLD_SOURCE = "gold"
"""The name of the source that gives the gold labels."""


def append_gold_source(panel: Panel, gold: EncodedTruth) -> Panel:
    """Add gold labels to a panel, as the answers of one more source, the last.

    They are the truth, not the answers of a source: methods that estimate something of the sources
    drop them (`mhpc.data.panel.drop_gold`), or take them as known. The source is added even if it
    has no answers, since all partitions of a panel have the same sources.
    """
    name = GOLD_SOURCE
    while name in panel.sources:
        name += "*"
    sources = Index((*panel.sources, name))
    instance = np.concatenate([panel.instance, gold.rows])
    order = np.argsort(instance, kind="stable")
    scope = None
    if panel.scope is not None:
        everything = sparse.csr_array(np.ones((1, len(panel.taxonomy))))
        scope = sparse.vstack([panel.scope, everything], format="csr")
    return replace(
        panel,
        sources=sources,
        instance=instance[order],
        source=np.append(panel.source, np.full(len(gold.rows), len(panel.sources)))[order],
        raw=sparse.vstack([panel.raw, gold.specific], format="csr")[order],
        augmented=sparse.vstack([panel.augmented, gold.closed], format="csr")[order],
        scope=scope,
        gold=gold,
    )


def clamp_gold(consolidation: Consolidation, gold: EncodedTruth | None) -> Consolidation:
    """Return the consolidation with scores of 1 and 0 for the instances with gold labels."""
    if gold is None or not len(gold.rows):
        return consolidation
    return replace(
        consolidation,
        score=_replace_rows(consolidation.score, gold.rows, gold.closed),
        specific=_replace_rows(consolidation.specific, gold.rows, gold.specific),
    )


def _replace_rows(matrix: Matrix, rows: IntArray, values: Sparse) -> Matrix:
    return by_rows(partial(_replace_block_rows, rows=rows, values=values), matrix, positions=True)


def _replace_block_rows(
    positions: IntArray, block: Block, *, rows: IntArray, values: Sparse
) -> Block:
    """Replace some rows of a block that has the rows of a matrix at `positions`."""
    order = np.argsort(rows)
    nearest = np.minimum(np.searchsorted(rows, positions, sorter=order), len(rows) - 1)
    replaced = np.flatnonzero(rows[order[nearest]] == positions)
    replacement = values[order[nearest[replaced]]]
    if not sparse.issparse(block):
        changed = np.array(block)
        changed[replaced] = dense(replacement)
        return changed
    kept = np.setdiff1d(np.arange(len(positions)), replaced)
    stacked = sparse.vstack([block[kept], replacement], format="csr")
    return stacked[np.argsort(np.concatenate([kept, replaced]))]


def encode_truth(
    truth: Truth,
    taxonomy: Taxonomy,
    instances: Index,
    *,
    unknown: Policy = "error",
) -> EncodedTruth:
    """Encode a truth as sparse rows, with ancestors and without.

    Parameters
    ----------
    truth : Truth
        The true labels of some instances.
    taxonomy, instances
        The columns and rows.
    unknown : LabelPolicy, or "error", "drop", "graft", "nearest" or "ancestor"
        What to do with labels that the taxonomy lacks. A truth adds none to it, so ``"graft"``
        drops them. Instances without votes are refused by ``"error"``, and dropped otherwise.
    """
    policy = LabelPolicy.of(unknown)
    row = instances.locate(truth.instances)
    _check_instances(
        truth, instances, unknown=np.flatnonzero(row == UNKNOWN), refuse=policy.refuses()
    )
    located = locate_labels(
        taxonomy, truth.labels, unknown=policy, origin=truth.origin, can_graft=False
    )
    instance = row[truth.instance]
    label = np.append(located.position, [ABSTAINED, NONE_OF_THESE])[truth.label]
    known = (instance != UNKNOWN) & (label >= 0)
    # An instance with none of the labels counts; one whose labels were all dropped does not.
    counts = (instance != UNKNOWN) & (label != ABSTAINED)
    rows = np.unique(instance[counts])
    if not len(rows):
        raise UnknownLabelError(
            f"{truth.origin}: none of its labels is in the taxonomy, so nothing can be measured"
        )
    shape = (len(rows), len(taxonomy))
    labels = incidence(np.searchsorted(rows, instance[known]), label[known], shape=shape)
    labels.data[:] = 1.0
    closed = augment(labels, taxonomy.closure_of(labels.indices))
    is_random = None
    if truth.is_random is not None:
        is_random = np.isin(rows, row[truth.is_random])
    return EncodedTruth(rows, deepest(closed, taxonomy), closed, is_random)


def _check_instances(truth: Truth, instances: Index, *, unknown: IntArray, refuse: bool) -> None:
    if len(unknown) == len(truth.instances):
        raise UnknownInstanceError(
            f"{truth.origin}: none of its instances has votes (it has "
            f"{truth.instances[0]!r}, the votes have {instances[0]!r}); are the ids the same?"
        )
    if not len(unknown):
        return
    first = truth.instances[unknown[0]]
    if refuse:
        raise UnknownInstanceError(
            f"{truth.origin}: instance {first!r} has no votes{suggest(first, instances)} "
            f"({pluralize(len(unknown), 'such instance')} in all); remove it, or leave "
            f"such instances out with {option('unknown', 'drop')}"
        )
    warn(
        f"{truth.origin}: {pluralize(len(unknown), 'instance')} without votes left out "
        f"(first: {first!r})",
        MhpcWarning,
        stacklevel=4,
    )
