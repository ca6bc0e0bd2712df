"""Disputes: labels that some answers to an instance uphold and others contradict."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.core.entries import canonical, changes
from mhpc.core.hierarchy import spread
from mhpc.core.panel import Panel
from mhpc.core.taxonomy import Taxonomy
from mhpc.explain.said import Said, able, by_instance


@dataclass(frozen=True, eq=False)
class Disputes:
    """What is said of instances, and the (instance, label) cells in dispute, in order.

    A label is upheld by an answer that says it or a label below it, and contradicted by one that
    could say it and neither does nor stops at an ancestor of it: who says "flower" does not
    contradict "monarda", who says "fuchsia" does.

    Attributes
    ----------
    upheld : csr_array, (N, K)
        By how many answers each label is upheld.
    row, label : int arrays, (C,)
        The cells that somebody upholds and somebody contradicts.
    support, against : float arrays, (C,)
        By how many.
    """

    upheld: Sparse
    row: IntArray
    label: IntArray
    support: FloatArray
    against: FloatArray


def disputes_in(panel: Panel, said: Said) -> Disputes:
    """Return the disputes; costs what is said times the depth of the hierarchy."""
    upheld = canonical((by_instance(panel) @ said.closed).tocsr())
    row = np.repeat(np.arange(upheld.shape[0]), np.diff(upheld.indptr))
    label = upheld.indices.astype(np.int64)
    rest = panel.answers_per_instance[row] - upheld.data
    some = np.flatnonzero(rest > 0)
    row, label, support = row[some], label[some], upheld.data[some]
    against = rest[some] - _unable(panel, row, label) - _vague(panel, said, row, label)
    kept = against > 0
    return Disputes(upheld, row[kept], label[kept], support[kept], against[kept])


def strictly_above(taxonomy: Taxonomy) -> Sparse:
    """Return every label with all its ancestors, itself left out, (K, K)."""
    above = (taxonomy.closure - sparse.eye_array(len(taxonomy), format="csr")).tocsr()
    above.eliminate_zeros()
    return above


def _unable(panel: Panel, row: IntArray, label: IntArray) -> FloatArray:
    """Return how many answers to the instance of each cell could not have said its label."""
    if panel.scope is None:
        return np.zeros(len(row))
    size = panel.answers_per_instance[row]
    cell = np.repeat(np.arange(len(row)), size)
    within = np.arange(len(cell)) - np.repeat(np.cumsum(size) - size, size)
    answer = np.searchsorted(panel.instance, row)[cell] + within
    unable = ~able(panel.scope, panel.source[answer], label[cell])
    return np.bincount(cell[unable], minlength=len(row)).astype(float)


def _vague(panel: Panel, said: Said, row: IntArray, label: IntArray) -> FloatArray:
    """Return how many answers that could say the label of each cell stop at an ancestor of it."""
    K = len(panel.taxonomy)
    answer = np.repeat(np.arange(len(panel.instance)), np.diff(said.deepest.indptr))
    key = panel.instance[answer] * np.int64(K) + said.deepest.indices
    order = np.argsort(key, kind="stable")
    key, answer = key[order], answer[order]
    cells = sparse.csr_array(
        (np.ones(len(label)), label, np.arange(len(label) + 1)), shape=(len(label), K)
    )
    cell, above, _ = spread(cells, strictly_above(panel.taxonomy))
    cell, answer = _joined(cell, row[cell] * np.int64(K) + above, key, answer)
    if panel.scope is not None:
        speaks = able(panel.scope, panel.source[answer], label[cell])
        cell, answer = cell[speaks], answer[speaks]
    # With several parents an answer may stop at two ancestors, and is vague once.
    pair = np.sort(cell * np.int64(max(len(panel.instance), 1)) + answer)
    pair = pair[changes(pair)] if len(pair) else pair
    return np.bincount(pair // max(len(panel.instance), 1), minlength=len(label)).astype(float)


def _joined(
    cell: IntArray, wanted: IntArray, key: IntArray, answer: IntArray
) -> tuple[IntArray, IntArray]:
    """Pair every cell with the answers whose key, among ordered ones, is the one it wants."""
    if not len(key):
        return cell[:0], answer[:0]
    begins = np.flatnonzero(changes(key))
    sizes = np.diff(np.append(begins, len(key)))
    place = np.minimum(np.searchsorted(key[begins], wanted), len(begins) - 1)
    found = np.flatnonzero(key[begins[place]] == wanted)
    place = place[found]
    size = sizes[place]
    within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    return np.repeat(cell[found], size), answer[np.repeat(begins[place], size) + within]
