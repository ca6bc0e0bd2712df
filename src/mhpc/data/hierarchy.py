"""Moving scores along a taxonomy: up to ancestors, down to labels that nobody named.

Matrices have one column per label; ``taxonomy.parents`` and ``taxonomy.closure`` relate a label to
its parents, and to itself with all its ancestors.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import (
    canonical,
    cell_numbers,
    concatenate_ranges,
    csr_from_sorted,
    max_of_each,
    max_of_equal,
    row_blocks,
    row_indices,
    run_starts,
)

TABLE_CELLS = 1 << 22
"""Cells of the table in which `deepest` marks labels, one byte each."""

BLOCK_TERMS = 1 << 23
"""Values that `max_along` compares at a time: labels of a DAG may have thousands of ancestors."""

STRIP_CELLS = 1 << 17
"""Instances x labels that `fill_down` works on at a time: so few that they stay in the cache."""

_TINY = 1e-300


def propagate_up(scores: Block, taxonomy: Taxonomy) -> Block:
    """Return, for each label, the highest score among itself and its descendants, (N, K).

    Sparse scores stay sparse and cost their number times the depth; dense ones cost N times the
    number of edges. Scores must not be negative.
    """
    if not isinstance(scores, np.ndarray):
        return close_rows(scores, taxonomy)
    highest = np.array(scores, order="F")
    for labels in reversed(taxonomy.levels):
        for label in labels:
            for parent in taxonomy.parents_of(label):
                np.maximum(highest[:, parent], highest[:, label], out=highest[:, parent])
    return highest


def close_rows(matrix: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Return the highest value of each row among every label and its descendants, (n, K).

    A row that has all ancestors already, of a large and deep taxonomy, has far more pairs of a
    label and an ancestor than labels: values are then handed to parents, level by level, so that
    the cost follows the entries of the result. Without stored zeros.
    """
    if taxonomy.has_small_closure:
        return max_along(matrix, taxonomy.closure)
    K, depth, parents = len(taxonomy), taxonomy.depth, taxonomy.parents
    n_parents = np.diff(parents.indptr)
    waiting: dict[int, list[tuple[IntArray, FloatArray]]] = {}
    cell, value = cell_numbers(matrix), np.asarray(matrix.data, dtype=np.float64)
    _sort_by_level(cell, value, depth[matrix.indices], waiting)
    complete = [(cell[:0], value[:0])]
    for level in range(max(waiting, default=0), 0, -1):
        parts = waiting.pop(level, [])
        if not parts:
            continue
        cell, value = max_of_equal(*map(np.concatenate, zip(*parts, strict=True)))
        complete.append((cell, value))
        label = cell % K
        entry, edge = concatenate_ranges(parents.indptr[label], n_parents[label])
        above = parents.indices[edge].astype(np.int64)
        _sort_by_level((cell - label)[entry] + above, value[entry], depth[above], waiting)
    cell, value = map(np.concatenate, zip(*complete, strict=True))
    order = np.argsort(cell)
    order = order[value[order] > 0]
    row, label = np.divmod(cell[order], K)
    return csr_from_sorted(row, label, value[order], shape=matrix.shape)


def _sort_by_level(
    cell: IntArray,
    value: FloatArray,
    level: IntArray,
    waiting: dict[int, list[tuple[IntArray, FloatArray]]],
) -> None:
    """Add cells and their values to those that wait for their level."""
    order = np.argsort(level, kind="stable")
    level = level[order]
    starts = np.flatnonzero(run_starts(level)) if len(level) else np.zeros(0, dtype=np.int64)
    for start, part in zip(starts, np.split(order, starts[1:]), strict=bool(len(starts))):
        waiting.setdefault(int(level[start]), []).append((cell[part], value[part]))


def most_specific(votes: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Return what each label has beyond its best child: the vote for it and nothing below it.

    For votes of 0 and 1 with ancestors these are the deepest labels of each answer. A vote of 0.4
    for a label leaves 0.6 of a certain parent with the parent.

    Parameters
    ----------
    votes : csr_array, (n, K)
        No label lower than any of its children, as after `propagate_up`.
    taxonomy : Taxonomy
        K labels.
    """
    excess = (votes - max_along(votes, taxonomy.parents)).tocsr()
    excess.eliminate_zeros()
    return excess


def deepest(sets: Sparse, taxonomy: Taxonomy, *, table_cells: int = TABLE_CELLS) -> Sparse:
    """Keep those labels of every row that have no child in it, with their values."""
    sets = canonical(sets)
    is_kept = (sets.data != 0) & ~has_child(sets, taxonomy, table_cells=table_cells)
    kept = np.flatnonzero(is_kept)
    indptr = np.append(0, np.cumsum(is_kept))[sets.indptr]
    entries = (sets.data[kept].astype(np.float64), sets.indices[kept], indptr)
    return sparse.csr_array(entries, shape=sets.shape)


def has_child(sets: Sparse, taxonomy: Taxonomy, *, table_cells: int = TABLE_CELLS) -> BoolArray:
    """Return whether each stored label has a child in its row, (nnz,).

    The parents of the labels of some rows are marked in a dense table, of which only the marks are
    removed again, so that the cost does not depend on the number of labels.

    Parameters
    ----------
    sets : csr_array, (n, K)
        Entries at the labels of each set.
    taxonomy : Taxonomy
        K labels.
    table_cells : int
        The size of the table.
    """
    width, parents = len(taxonomy) + 1, taxonomy.parents
    only_parent = _only_parents(taxonomy)
    found = np.zeros(sets.nnz, dtype=bool)
    n_marks = count_related(sets, parents)
    blocks = list(row_blocks(sets.shape[0], np.maximum(width, n_marks), table_cells))
    n_rows = max((rows.stop - rows.start for rows in blocks), default=0)
    table = np.zeros(n_rows * width, dtype=bool)
    for rows in blocks:
        entries = slice(sets.indptr[rows.start], sets.indptr[rows.stop])
        label = sets.indices[entries]
        sizes = np.diff(sets.indptr[rows.start : rows.stop + 1])
        row_start = np.repeat(np.arange(len(sizes)) * width, sizes)
        if only_parent is not None:
            marked = row_start + only_parent[label]
        else:
            entry, edge = concatenate_ranges(parents.indptr[label], np.diff(parents.indptr)[label])
            marked = row_start[entry] + parents.indices[edge]
        table[marked] = True
        found[entries] = table[row_start + label]
        table[marked] = False
    return found


def _only_parents(taxonomy: Taxonomy) -> IntArray | None:
    """Return the parent of every label, K for a root; None if some label has several."""
    n_parents = np.diff(taxonomy.parents.indptr)
    if n_parents.max(initial=0) > 1:
        return None
    parent = np.full(len(taxonomy), len(taxonomy))
    parent[n_parents == 1] = taxonomy.parents.indices
    return parent


def count_related(matrix: Sparse, relation: Sparse) -> IntArray:
    """Return how many labels those of each row relate to, (n,), each of them counted."""
    n_related = np.diff(relation.indptr).astype(np.int64)[matrix.indices]
    counts: IntArray = np.diff(np.append(0, np.cumsum(n_related))[matrix.indptr])
    return counts


def max_along(matrix: Sparse, relation: Sparse, *, block_terms: int = BLOCK_TERMS) -> Sparse:
    """Return the largest value, per row, among the labels that relate to each label.

    This is the matrix product with the maximum in place of the sum.

    Parameters
    ----------
    matrix : csr_array, (n, K)
        Values of labels.
    relation : csr_array, (K, K)
        An entry (j, k) if label j relates to label k, such as ``taxonomy.parents``.
    block_terms : int
        Values that are compared at a time.
    """
    blocks = list(row_blocks(matrix.shape[0], count_related(matrix, relation), block_terms))
    if len(blocks) > 1:
        parts = [max_along(matrix[rows], relation, block_terms=block_terms) for rows in blocks]
        return sparse.vstack(parts, format="csr")
    row, label, value = expand_along(matrix, relation)
    return max_of_each(row, label, value, shape=matrix.shape)


def expand_along(matrix: Sparse, relation: Sparse) -> tuple[IntArray, IntArray, FloatArray]:
    """List every entry once for each label that its label relates to: (row, label, value).

    These are the terms of the matrix product before they are summed; parameters as in `max_along`.
    """
    n_related = np.diff(relation.indptr)[matrix.indices]
    entry, related = concatenate_ranges(relation.indptr[matrix.indices], n_related)
    labels = relation.indices[related].astype(np.int64)
    return row_indices(matrix)[entry], labels, matrix.data[entry]


def fill_down(
    mean: FloatArray,
    evidence: FloatArray,
    popularity: FloatArray,
    taxonomy: Taxonomy,
    *,
    strength: float,
    total: float | None = None,
    strip_cells: int = STRIP_CELLS,
) -> FloatArray:
    """Share out the score of every label among its children, from the roots down, (N, K).

    The share of a child is what answers say, shrunk towards how popular it is below its parent:
    labels that nobody named are ranked by popularity, and no parent scores below its child. ::

        score_k = score_p (n y_k + t r_k) / (n y_p + t)    for a parent p,
        score_k = (n y_k + t r_k) / (n + t)                for a root.

    With several parents this is the mean over them, but at most the lowest of their scores.

    Parameters
    ----------
    mean : float array, (N, K)
        y, the mean answer with ancestors, smoothed or not.
    evidence : float array, (N,)
        n, the number of answers to an instance.
    popularity : float array, (K,)
        How often each label is given, by itself or through a descendant; r is its share of its
        parent's.
    taxonomy : Taxonomy
        K labels.
    strength : float
        t, the number of answers that popularity counts for.
    total : float, optional
        The number of answers that popularity is counted in; by default those of these instances.
    strip_cells : int
        How many instances x labels to work on at a time.
    """
    scores = np.empty_like(mean)
    answers = max(float(evidence.sum()) if total is None else total, 1.0)
    expected_roots = strength * (popularity[taxonomy.roots] / answers)
    levels = [_expect_level(labels, popularity, taxonomy, strength) for labels in taxonomy.levels]
    for rows in row_blocks(len(mean), len(taxonomy), strip_cells):
        # Labels are rows here, so that a label and its parent are two contiguous runs of memory.
        votes = np.multiply(mean[rows].T, evidence[rows], order="C")
        # A row of zeros instead of one zero: NumPy is five times as fast.
        np.maximum(votes, np.zeros(votes.shape[1]), out=votes)
        roots = votes[taxonomy.roots] + expected_roots[:, None]
        roots *= _inverse(evidence[rows] + strength)
        scores[rows] = _fill_strip(votes, roots, levels, strength).T
    return scores


@dataclass(frozen=True, eq=False)
class _Level:
    """The labels of a level, and what `fill_down` needs to know of them.

    Attributes
    ----------
    labels : int array, (L,)
        The labels.
    branching : int array
        Those that have children.
    parents : tuple of (positions, parents, expected)
        For the first parents of the labels, the second ones and so on: the positions in `labels` of
        those that have one, the parent of each, (l,), and the t r_k below it, (l, 1).
    n_parents : int array, (L, 1)
        How many parents each label has.
    """

    labels: IntArray
    branching: IntArray
    parents: tuple[tuple[IntArray, IntArray, FloatArray], ...]
    n_parents: IntArray


def _expect_level(
    labels: IntArray, popularity: FloatArray, taxonomy: Taxonomy, strength: float
) -> _Level:
    n_children = np.diff(taxonomy.children.indptr)
    first, n_parents = taxonomy.parents.indptr[labels], np.diff(taxonomy.parents.indptr)[labels]
    parents = []
    for number in range(n_parents.max(initial=0)):
        positions = np.flatnonzero(n_parents > number)
        parent = taxonomy.parents.indices[first[positions] + number]
        # One more answer, shared evenly: a label that nobody named is unlikely, not impossible.
        even_share = 1.0 / n_children[parent]
        share = (popularity[labels[positions]] + even_share) / (popularity[parent] + 1.0)
        parents.append((positions, parent, (strength * np.minimum(share, 1.0))[:, None]))
    return _Level(labels, labels[n_children[labels] > 0], tuple(parents), n_parents[:, None])


def _fill_strip(
    votes: FloatArray, roots: FloatArray, levels: list[_Level], strength: float
) -> FloatArray:
    """Return the scores of some instances, (K, n), from the votes n y, (K, n), level by level."""
    score = np.empty_like(votes)
    # Score per vote of a child: score_p / (n y_p + t), for every label p that has children.
    score_per_vote = np.empty_like(votes)
    for level in levels:
        if not level.parents:
            score[level.labels] = np.minimum(roots, 1.0)
        else:
            score[level.labels] = _average_over_parents(votes, score, score_per_vote, level)
        above = level.branching
        score_per_vote[above] = score[above] * _inverse(votes[above] + strength)
    return score


def _average_over_parents(
    votes: FloatArray, score: FloatArray, score_per_vote: FloatArray, level: _Level
) -> FloatArray:
    """Return the scores of the labels of a level, (L, n): the mean over their parents."""
    votes = votes[level.labels]
    total, lowest = _share_of_parent(votes, score, score_per_vote, *level.parents[0][1:])
    for positions, parent, expected in level.parents[1:]:
        part, limit = _share_of_parent(votes[positions], score, score_per_vote, parent, expected)
        total[positions] += part
        lowest[positions] = np.minimum(lowest[positions], limit)
    several = np.flatnonzero(level.n_parents > 1)
    if len(several):
        mean = total[several] / level.n_parents[several]
        total[several] = np.minimum(mean, lowest[several])
    return total


def _share_of_parent(
    votes: FloatArray,
    score: FloatArray,
    score_per_vote: FloatArray,
    parent: IntArray,
    expected: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the share of labels in the score of one parent each, and that score, (l, n)."""
    share, limit = votes + expected, score[parent]
    share *= score_per_vote[parent]
    np.minimum(share, limit, out=share)
    return share, limit


def _inverse(values: FloatArray) -> FloatArray:
    """Return 1 / values; 0 for values of 0, which have no parts to share."""
    if values.min(initial=np.inf) > _TINY:
        return np.asarray(1.0 / values)
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > _TINY)
