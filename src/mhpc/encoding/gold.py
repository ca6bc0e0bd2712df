"""Encode_truth, gold as a source, clamping, known sources."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from mhpc.data.hierarchy import deepest
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.panel import Panel
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import EncodedTruth, Truth, Unknown
from mhpc.encoding.panel import augment, locate_labels
from mhpc.errors import (
    DataError,
    MhpcWarning,
    UnknownInstanceError,
    UnknownLabelError,
    pluralize,
    suggest,
)
from mhpc.numerics.arrays import Block, IntArray, Matrix, Sparse, by_rows, dense

NAME = "gold"


def add_gold_labels(panel: Panel, gold: EncodedTruth) -> Panel:
    """Return the panel with what is known as the answers of a last source.

    So it teaches whatever learns from sources: their skills, the channel, what goes with what;
    and the judge, who hides it as any other.
    """
    return append_gold_source(panel, gold) if len(gold.rows) else panel


def append_gold_source(panel: Panel, gold: EncodedTruth) -> Panel:
    """Return the panel with the last source even where it answers nothing, as parts need it."""
    name = NAME
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


def clamp_gold(found: Consolidation, gold: EncodedTruth | None) -> Consolidation:
    """Return the consolidation with what is known as it is."""
    if gold is None or not len(gold.rows):
        return found
    return replace(
        found,
        score=_with_rows(found.score, gold.rows, gold.closed),
        specific=_with_rows(found.specific, gold.rows, gold.specific),
    )


def _with_rows(matrix: Matrix, rows: IntArray, values: Sparse) -> Matrix:
    return by_rows(partial(_replaced, rows=rows, values=values), matrix, positions=True)


def _replaced(at: IntArray, matrix: Block, *, rows: IntArray, values: Sparse) -> Block:
    """Return the matrix, which has the rows at given positions, with those that are known."""
    order = np.argsort(rows)
    place = np.minimum(np.searchsorted(rows, at, sorter=order), len(rows) - 1)
    known = np.flatnonzero(rows[order[place]] == at)
    source = order[place[known]]
    if not sparse.issparse(matrix):
        changed = np.array(matrix)
        changed[known] = dense(values[source])
        return changed
    others = np.setdiff1d(np.arange(len(at)), known)
    stacked = sparse.vstack([matrix[others], values[source]], format="csr")
    return stacked[np.argsort(np.concatenate([others, known]))]


def encode_truth(
    truth: Truth, taxonomy: Taxonomy, instances: Index, *, unknown: Unknown = "error"
) -> EncodedTruth:
    """Return the truth as sparse rows, with ancestors and without.

    Parameters
    ----------
    truth : Truth
        What is known.
    taxonomy, instances
        The axes to lay it on.
    unknown : "error", "drop" or "graft"
        What to do with labels the taxonomy lacks and instances nobody voted on; a truth never
        adds to either, so ``"graft"`` drops them too.
    """
    policy: Unknown = "error" if unknown == "error" else "drop"
    row = instances.locate(truth.instances)
    _check_instances(truth, instances, strange=np.flatnonzero(row == UNKNOWN), policy=policy)
    located = locate_labels(taxonomy, truth.labels, unknown=policy, origin=truth.origin)
    at = row[truth.instance]
    label = np.append(located.position, UNKNOWN)[truth.label]
    known = (at != UNKNOWN) & (label != UNKNOWN)
    # Who has none of the labels counts; who had some, all of them left out, is not known.
    told = (at != UNKNOWN) & ((label != UNKNOWN) | (truth.label == UNKNOWN))
    rows = np.unique(at[told])
    if not len(rows):
        raise UnknownLabelError(
            f"{truth.origin}: no label of it is in the taxonomy, so that nothing can be measured"
        )
    entries = (np.ones(known.sum()), (np.searchsorted(rows, at[known]), label[known]))
    given = sparse.coo_array(entries, shape=(len(rows), len(taxonomy))).tocsr()
    given.data[:] = 1.0
    closed = augment(given, taxonomy.closure)
    return EncodedTruth(rows, deepest(closed, taxonomy), closed)


def _check_instances(truth: Truth, instances: Index, *, strange: np.ndarray, policy: str) -> None:
    if len(strange) == len(truth.instances):
        raise UnknownInstanceError(
            f"{truth.origin}: none of its {pluralize(len(strange), 'instance')} has votes (it has "
            f"{truth.instances[0]!r}, the votes have {instances[0]!r}); are the ids the same?"
        )
    if not len(strange):
        return
    first = truth.instances[strange[0]]
    if policy == "error":
        raise UnknownInstanceError(
            f"{truth.origin}: instance {first!r} has no votes{suggest(first, instances)} "
            f"({pluralize(len(strange), 'such instance')} in all); remove it, or leave "
            "such instances out with --unknown drop"
        )
    warnings.warn(
        f"{truth.origin}: {pluralize(len(strange), 'instance')} without votes left out "
        f"(first: {first!r})",
        MhpcWarning,
        stacklevel=4,
    )


def align_sources(panel: Panel, sources: Index, scope: Sparse | None) -> Panel:
    """Return the panel with its sources counted as an earlier one counts them, and its scope."""
    place = sources.locate(panel.sources)
    strange = np.flatnonzero(place == UNKNOWN)
    if len(strange):
        name = panel.sources[strange[0]]
        raise DataError(
            f"source {name!r} has no answers in the earlier run{suggest(name, sources)}, so that "
            "nothing is known of it; correct it, leave its answers out, or consolidate all "
            "answers together"
        )
    source = place[panel.source]
    order = np.lexsort((source, panel.instance))
    return replace(
        panel,
        sources=sources,
        instance=panel.instance[order],
        source=source[order],
        raw=panel.raw[order],
        augmented=panel.augmented[order],
        scope=scope,
    )
