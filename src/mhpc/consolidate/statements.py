"""Statements: answers taken apart into single labels, and what could be true of each instance."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.core.hierarchy import deepest
from mhpc.core.panel import Panel

INAUDIBLE = 1e-9
"""Statements weaker than this are left out."""

BLOCK_PAIRS = 1 << 22
"""Pairs of statements that are looked at together, so that memory stays bounded."""


@dataclass(frozen=True, eq=False)
class Statements:
    """What was said, one label each, sorted by instance.

    Attributes
    ----------
    instance, source, label : int arrays, (S,)
        Who said what of which.
    share : float array, (S,)
        1 / labels of the answer: all statements of an answer make one.
    strength : float array, (S,)
        Share x score of the vote x weight of the answer.
    """

    instance: IntArray
    source: IntArray
    label: IntArray
    share: FloatArray
    strength: FloatArray


def state(panel: Panel) -> Statements:
    """Return the most specific labels of every answer; an empty answer states nothing."""
    said = deepest(panel.augmented, panel.taxonomy)
    labels = np.diff(said.indptr)
    answer = np.repeat(np.arange(len(labels)), labels)
    share = 1.0 / labels[answer]
    strength = share * said.data
    if panel.weight is not None:
        strength = strength * panel.weight[answer]
    loud = strength > INAUDIBLE
    answer = answer[loud]
    return Statements(
        instance=panel.instance[answer],
        source=panel.source[answer],
        label=said.indices[loud].astype(np.int64),
        share=share[loud],
        strength=strength[loud],
    )


def candidates(statements: Statements, panel: Panel, known: Sparse | None = None) -> Sparse:
    """Return what could be true of each instance, (N, K) with ones.

    That is what was said of it, with ancestors; where the truth is known, its most specific
    labels and nothing else.
    """
    shape = (len(panel.instances), len(panel.taxonomy))
    entries = (np.ones(len(statements.label)), (statements.instance, statements.label))
    possible = (sparse.csr_array(entries, shape=shape) @ panel.taxonomy.closure).tocsr()
    if known is not None:
        asked = (np.diff(known.indptr) == 0).astype(float)
        open_rows = (sparse.diags_array(asked, format="csr") @ possible).tocsr()
        possible = (open_rows + deepest(known, panel.taxonomy)).tocsr()
    possible.eliminate_zeros()
    possible.data[:] = 1.0
    possible.sort_indices()
    return possible


def paired(start: IntArray, length: IntArray) -> tuple[IntArray, IntArray]:
    """Return every position beside each member of its range ``start .. start + length``.

    Examples
    --------
    >>> [side.tolist() for side in paired(np.array([4, 7]), np.array([2, 3]))]
    [[0, 0, 1, 1, 1], [4, 5, 7, 8, 9]]
    """
    position = np.repeat(np.arange(len(length)), length)
    passed = np.cumsum(length) - length
    member = np.arange(len(position)) + (start - passed)[position]
    return position, np.asarray(member, dtype=np.int64)


def echoes(statements: Statements, kinship: FloatArray | None = None) -> Sparse:
    """Return how far statements on an instance are one testimony, (S, S).

    1 within an answer, the kinship of their sources otherwise. Only statements on the same
    instance are looked at, a block at a time, so that no (N, M) array is needed.
    """
    if kinship is not None and not kinship.any():
        kinship = None
    group = _answers(statements) if kinship is None else statements.instance
    size = np.bincount(group)
    first, size = (np.cumsum(size) - size)[group], size[group]
    blocks = [
        _echoes_of_block(statements, kinship, begin, first[begin:end], size[begin:end])
        for begin, end in _blocks(size)
    ]
    if not blocks:
        return sparse.csr_array((0, 0))
    return sparse.vstack(blocks, format="csr")


def _answers(statements: Statements) -> IntArray:
    """Return a number for the answer that each statement belongs to."""
    here = np.stack([statements.instance, statements.source])
    return np.cumsum(np.diff(here, axis=1, prepend=here[:, :1]).any(axis=0))


def _blocks(size: IntArray) -> list[tuple[int, int]]:
    """Cut positions into runs whose sizes sum to about `BLOCK_PAIRS`."""
    run = np.cumsum(size) // BLOCK_PAIRS
    cuts = [0, *(np.flatnonzero(np.diff(run)) + 1).tolist(), len(size)]
    return [(begin, end) for begin, end in pairwise(cuts) if end > begin]


def _echoes_of_block(
    statements: Statements, kinship: FloatArray | None, begin: int, first: IntArray, size: IntArray
) -> Sparse:
    row, other = paired(first, size)
    alike = np.ones(len(row))
    if kinship is not None:
        source, of_other = statements.source[row + begin], statements.source[other]
        alike = np.where(source == of_other, 1.0, kinship[source, of_other])
    kept = alike > 0
    shape = (len(size), len(statements.source))
    return sparse.csr_array((alike[kept], (row[kept], other[kept])), shape=shape)
