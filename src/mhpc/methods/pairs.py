"""The pairs of an instance and a label that some source affirmed, beside all who could have.

Voting and Dawid-Skene score only these pairs. A label that nobody affirmed scores 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, panel_block
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import concatenate_ranges, row_blocks, row_indices

BLOCK_PAIRS = 1 << 16
"""Pairs of an answer and an affirmed pair in a block: few enough for the cache of a processor, and
for memory even if thousands of sources answer every instance."""

MAX_TABLE = 1 << 25
"""The largest number of cells to number with a table, which is faster than sorting them."""


@dataclass(frozen=True, eq=False)
class AffirmedPairs:
    """P pairs of an instance and a label that some answer contains, ancestors included.

    Attributes
    ----------
    n_labels : int
        K.
    instance, label : int arrays, (P,)
        The pairs, sorted by instance, then label.
    votes : csr_array, (A, P)
        The augmented answers.
    asked : csr_array, (A, P)
        1 if the answer is about the instance and the label is in the scope of its source.
    """

    n_labels: int
    instance: IntArray
    label: IntArray
    votes: Sparse
    asked: Sparse

    def locate(self, instance: IntArray, label: IntArray) -> IntArray:
        """Return the positions of pairs, all of which must be there."""
        cells = self.instance * self.n_labels + self.label
        return np.searchsorted(cells, instance * self.n_labels + label)

    def to_matrix(self, values: FloatArray, n_instances: int) -> Sparse:
        """Return one value per pair as a matrix of instances x labels."""
        shape = (n_instances, self.n_labels)
        return sparse.csr_array((values, (self.instance, self.label)), shape=shape)


def affirmed_pairs(panel: Panel, *, max_table: int = MAX_TABLE) -> AffirmedPairs:
    """Return the affirmed pairs of a panel.

    Costs, summed over the instances, the number of answers times the number of affirmed labels.
    """
    votes, K = panel.augmented, len(panel.taxonomy)
    instance = panel.instance[row_indices(votes)]
    cells, column = _number_cells(
        instance * K + votes.indices, len(panel.instances) * K, max_table=max_table
    )
    instance, label = np.divmod(cells, K)
    shape = (len(panel.instance), len(cells))
    by_pair = sparse.csr_array((votes.data, column, votes.indptr), shape=shape)
    return AffirmedPairs(K, instance, label, by_pair, _asked_pairs(panel, by_pair, instance, label))


def drop_weightless(panel: Panel) -> Panel:
    """Return the panel without answers of weight 0, which affirm nothing."""
    if panel.weight is None or (panel.weight > 0).all():
        return panel
    return panel.select_answers(panel.weight > 0)


def split_panel(panel: Panel, *, limit: int = BLOCK_PAIRS) -> Iterator[Panel]:
    """Divide a panel into blocks of instances with about `limit` entries in `asked` each."""
    if not len(panel.instances):
        yield panel
        return
    votes = np.append(0, np.cumsum(np.diff(panel.augmented.indptr)))
    first = np.searchsorted(panel.instance, np.arange(len(panel.instances) + 1))
    labels = np.minimum(np.diff(votes[first]), len(panel.taxonomy))
    for block in row_blocks(len(panel.instances), np.diff(first) * labels, limit):
        yield panel_block(panel, block)


def _number_cells(
    cells: IntArray, n_cells: int, *, max_table: int = MAX_TABLE
) -> tuple[IntArray, IntArray]:
    """Return the distinct cells in ascending order, and the position of every cell among them."""
    if n_cells > max_table:
        distinct, position = np.unique(cells, return_inverse=True)
        return distinct, position
    occurs = np.zeros(n_cells, dtype=bool)
    occurs[cells] = True
    distinct = np.flatnonzero(occurs)
    table = np.empty(n_cells, dtype=np.int64)
    table[distinct] = np.arange(len(distinct))
    return distinct, table[cells]


def _asked_pairs(panel: Panel, by_pair: Sparse, instance: IntArray, label: IntArray) -> Sparse:
    """Join every answer with the pairs of its instance that are in the scope of its source."""
    first = np.searchsorted(instance, np.arange(len(panel.instances) + 1))
    count = np.diff(first)[panel.instance]
    answer, column = concatenate_ranges(first[panel.instance], count)
    if panel.scope is not None:
        in_scope = _is_in_scope(panel.scope, panel.source[answer], label[column])
        column, count = column[in_scope], np.bincount(answer[in_scope], minlength=len(count))
    entries = (np.ones(len(column)), column, np.append(0, np.cumsum(count)))
    asked = sparse.csr_array(entries, shape=(len(count), len(instance)))
    return asked if panel.outside_scope is None else _add_votes(asked, by_pair)


def _add_votes(asked: Sparse, votes: Sparse) -> Sparse:
    """Return 1 also where an answer has a label that is outside the scope of its source."""
    given = votes.copy()
    given.data = np.ones(len(given.data))
    return asked.maximum(given).tocsr()


def _is_in_scope(scope: Sparse, source: IntArray, label: IntArray) -> BoolArray:
    """Mark the labels that are in the scope of their source; reads only these sources' scopes."""
    K = np.int64(scope.shape[1])
    sources, position = _number_cells(source, scope.shape[0])
    scope = scope[sources]
    return np.isin(position * K + label, row_indices(scope) * K + scope.indices)
