"""Agreement between sources: pairs of answers to the same instance, compared label by label.

Two answers contradict each other if one of them gives a most specific label that the other one
contradicts, as defined in `mhpc.explanation.disagreement`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from mhpc.data.disagreement import ConfusedPair
from mhpc.data.panel import Panel, panel_rows, sample_rows
from mhpc.data.taxonomy import Taxonomy
from mhpc.explanation.disagreement import (
    AnswerLabels,
    collect_labels,
    expand_ancestors,
    in_scope,
    proper_ancestors,
)
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import (
    concatenate_ranges,
    count_cells,
    row_blocks,
    row_indices,
    values_at,
)
from mhpc.system.parallel import parallel_map

MAX_PAIRS = 1 << 21
"""Pairs of answers that are compared, about; more would not change the picture."""

PAIRS_PER_BLOCK = 1 << 15
"""Pairs of answers that are compared at a time: so few that tables of their labels are small."""


@dataclass(frozen=True, eq=False)
class PairwiseAgreement:
    """How often sources agree and labels are confused; can be added over blocks of instances.

    Attributes
    ----------
    instances : int
        The number of instances compared.
    common, agreed : csr_array, (M, M)
        The instances that both sources answered, and those on which neither contradicts the
        other; each pair is stored once, in the row of the source that comes first.
    confused : csr_array, (K, K)
        How often two answers contradict each other by these two labels; each pair is stored once,
        in the row of the label that comes first.
    """

    instances: int
    common: Sparse
    agreed: Sparse
    confused: Sparse

    def __add__(self, other: "PairwiseAgreement") -> "PairwiseAgreement":
        return PairwiseAgreement(
            self.instances + other.instances,
            self.common + other.common,
            self.agreed + other.agreed,
            self.confused + other.confused,
        )


def compare_answers(
    panel: Panel, *, max_pairs: int = MAX_PAIRS, pairs_per_block: int = PAIRS_PER_BLOCK
) -> PairwiseAgreement:
    """Compare the answers to each instance pair by pair.

    Parameters
    ----------
    panel : Panel
        The answers.
    max_pairs : int
        If there are more pairs, a sample of the instances is compared that has about so many.
    pairs_per_block : int
        The number of pairs to compare at a time.
    """
    panel = _sample(panel, max_pairs)
    labels = collect_labels(panel)
    # Bytes, of which tables take the least memory.
    labels = AnswerLabels(labels.closed.astype(np.int8), labels.deepest.astype(np.int8))
    M, K = len(panel.sources), len(panel.taxonomy)
    empty = sparse.csr_array((M, M))
    agreement = PairwiseAgreement(len(panel.instances), empty, empty, sparse.csr_array((K, K)))
    compare = partial(_compare_pairs, n_sources=M, taxonomy=panel.taxonomy, scope=panel.scope)
    blocks = _pair_blocks(panel, labels, pairs_per_block)
    return sum(parallel_map(compare, blocks), start=agreement)


def _sample(panel: Panel, max_pairs: int) -> Panel:
    answers = panel.answers_per_instance
    pairs = int((answers * (answers - 1)).sum()) // 2
    if pairs <= max_pairs:
        return panel
    return panel_rows(panel, sample_rows(panel, max(1, len(answers) * max_pairs // pairs)))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of answers to the same instance, the earlier answer first.

    Attributes
    ----------
    source : int array, (a,)
        The sources of some consecutive answers.
    closed, deepest : csr_array, (a, K)
        Their labels, as in `AnswerLabels`.
    first, second : int arrays, (P,)
        The pairs, as positions among these answers.
    """

    source: IntArray
    closed: Sparse
    deepest: Sparse
    first: IntArray
    second: IntArray


def _pair_blocks(panel: Panel, labels: AnswerLabels, limit: int) -> Iterator[_Pairs]:
    """Divide the pairs of answers to the same instance into blocks of at most `limit` pairs."""
    begin = np.searchsorted(panel.instance, panel.instance, side="left")
    earlier = np.arange(len(panel.instance)) - begin
    for block in row_blocks(len(earlier), earlier, limit):
        owner, first = concatenate_ranges(begin[block], earlier[block])
        start = begin[block.start]
        answers = slice(start, block.stop)
        yield _Pairs(
            source=panel.source[answers],
            closed=labels.closed[answers],
            deepest=labels.deepest[answers],
            first=first - start,
            second=owner + (block.start - start),
        )


def _compare_pairs(
    pairs: _Pairs, *, n_sources: int, taxonomy: Taxonomy, scope: Sparse | None
) -> PairwiseAgreement:
    P, K = len(pairs.first), len(taxonomy)
    of_first = _find_contradicted(pairs, pairs.first, pairs.second, taxonomy, scope)
    of_second = _find_contradicted(pairs, pairs.second, pairs.first, taxonomy, scope)
    contradicted = np.concatenate([of_first.pair, of_second.pair])
    agreed = np.bincount(contradicted, minlength=P) == 0
    first, second = pairs.source[pairs.first], pairs.source[pairs.second]
    shape = (n_sources, n_sources)
    return PairwiseAgreement(
        instances=0,
        common=count_cells(first, second, shape=shape),
        agreed=count_cells(first[agreed], second[agreed], shape=shape),
        confused=_pair_labels(of_first, of_second, taxonomy, P, K),
    )


@dataclass(frozen=True, eq=False)
class _Contradicted:
    """The (pair, label) cells, in order, of labels that the other answer contradicts."""

    pair: IntArray
    label: IntArray


def _find_contradicted(
    pairs: _Pairs,
    answer: IntArray,
    opponent: IntArray,
    taxonomy: Taxonomy,
    scope: Sparse | None,
) -> _Contradicted:
    """Find the most specific labels of each answer that its opponent contradicts."""
    given = pairs.deepest[answer]
    pair, label = row_indices(given), given.indices.astype(np.int64)
    against = ~_contains(pairs.closed, opponent[pair], label)
    if scope is not None:
        against &= in_scope(scope, pairs.source[opponent[pair]], label)
    pair, label = pair[against], label[against]
    cell, ancestor = expand_ancestors(label, taxonomy)
    vague = np.zeros(len(label), dtype=bool)
    vague[cell[_contains(pairs.deepest, opponent[pair[cell]], ancestor)]] = True
    return _Contradicted(pair[~vague], label[~vague])


def _contains(matrix: Sparse, row: IntArray, column: IntArray) -> BoolArray:
    return values_at(matrix, row, column) > 0


def _pair_labels(
    of_first: _Contradicted, of_second: _Contradicted, taxonomy: Taxonomy, P: int, K: int
) -> Sparse:
    """Pair each contradicted label with the nearest contradicted label of the other answer.

    The nearest is the one with the deepest common ancestor: if one answer is a fuchsia and an oak,
    and the other one a monarda and a finch, the flowers are confused.
    """
    size = np.bincount(of_second.pair, minlength=P)
    start = np.cumsum(size) - size
    cell, position = concatenate_ranges(start[of_first.pair], size[of_first.pair])
    first, second = of_first.label[cell], of_second.label[position]
    depth = _common_depth(first, second, taxonomy)
    deepest = np.zeros(len(of_first.pair))
    np.maximum.at(deepest, cell, depth)
    nearest = depth == deepest[cell]
    lower, upper = np.minimum(first, second)[nearest], np.maximum(first, second)[nearest]
    return count_cells(lower, upper, shape=(K, K))


def _common_depth(first: IntArray, second: IntArray, taxonomy: Taxonomy) -> FloatArray:
    """Return the level of the deepest label above both, 0 where there is none."""
    K = np.int64(len(taxonomy))
    pair, inverse = np.unique(first * K + second, return_inverse=True)
    ancestors = proper_ancestors(np.concatenate([first, second]), taxonomy)
    shared = ancestors[pair // K].multiply(ancestors[pair % K]).tocsr()
    depth = np.zeros(len(pair))
    np.maximum.at(depth, row_indices(shared), taxonomy.depth[shared.indices].astype(float))
    return np.asarray(depth[inverse])


def find_confused_pairs(
    agreement: PairwiseAgreement, taxonomy: Taxonomy, *, limit: int
) -> tuple[ConfusedPair, ...]:
    """Return the pairs of labels that sources confuse, the largest excess over chance first.

    The excess is the number of times that two answers contradict each other by the two labels,
    minus the number expected if labels met in proportion to how often each is contradicted: where
    instances have many labels, frequent labels meet without being confused.
    """
    pairs = agreement.confused.tocoo()
    met = np.asarray((agreement.confused + agreement.confused.T).sum(axis=1)).ravel()
    excess = pairs.data - met[pairs.row] * met[pairs.col] / max(met.sum(), 1.0)
    order = np.lexsort((pairs.col, pairs.row, -excess))[:limit]
    confused = []
    for position in order[excess[order] > 0]:
        first, second = int(pairs.row[position]), int(pairs.col[position])
        ancestor = find_common_ancestor(first, second, taxonomy)
        under = None if ancestor is None else taxonomy.labels[ancestor]
        first_id, second_id = taxonomy.labels[first], taxonomy.labels[second]
        confused.append(ConfusedPair(first_id, second_id, int(pairs.data[position]), under))
    return tuple(confused)


def find_common_ancestor(first: int, second: int, taxonomy: Taxonomy) -> int | None:
    """Return the deepest label above both, the first of several; None where there is none."""
    shared = np.intersect1d(taxonomy.ancestors_of(first), taxonomy.ancestors_of(second))
    return int(shared[np.argmax(taxonomy.depth[shared])]) if len(shared) else None
