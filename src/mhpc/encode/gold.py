"""Gold: instances whose labels are known, as one more source, and in the result as they are."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from mhpc.core.arrays import Block, IntArray, Matrix, Sparse, dense
from mhpc.core.consolidation import Consolidation
from mhpc.core.index import Index
from mhpc.core.panel import Panel
from mhpc.core.rows import by_rows
from mhpc.core.truth import EncodedTruth

NAME = "gold"


def with_gold(panel: Panel, gold: EncodedTruth) -> Panel:
    """Return the panel with what is known as the answers of a last source.

    So it teaches whatever learns from sources: their skills, the channel, what goes with what;
    and the judge, who hides it as any other.
    """
    return taught(panel, gold) if len(gold.rows) else panel


def taught(panel: Panel, gold: EncodedTruth) -> Panel:
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


def clamped(found: Consolidation, gold: EncodedTruth | None) -> Consolidation:
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
