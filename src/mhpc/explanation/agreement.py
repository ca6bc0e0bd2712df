"""Confrontations: answers of two sources to the same instance, held against each other.

Two answers contradict each other if one of them holds a most specific label that the other could
say and contradicts, as in `Disputes`.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.disagreement import ConfusedPair
from mhpc.data.hierarchy import expand_along
from mhpc.data.panel import Panel, panel_rows, sample_rows
from mhpc.data.taxonomy import Taxonomy
from mhpc.explanation.disagreement import Said, collect_answers, in_scope, strictly_above
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import canonical, values_at

_PAIRS = 1 << 21
"""Pairs of answers that are looked at, about; more would not change what is seen."""

_AT_ONCE = 1 << 17
"""Pairs that are worked on at a time."""


@dataclass(frozen=True, eq=False)
class PairwiseAgreement:
    """What came of pairs of answers; it adds up over instances.

    Attributes
    ----------
    instances : int
        How many were looked at.
    common, agreed : csr_array, (M, M)
        Instances that both sources answered, and those on which neither contradicts the other;
        each pair once, the earlier source first.
    confused : csr_array, (K, K)
        How often two answers contradicted each other by these two labels, the earlier label first.
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


def compare_answers(panel: Panel) -> PairwiseAgreement:
    """Hold the answers to each instance against each other; where they are too many, to some."""
    panel = _sampled(panel)
    said = collect_answers(panel)
    M, K = len(panel.sources), len(panel.taxonomy)
    nothing = sparse.csr_array((M, M))
    found = PairwiseAgreement(len(panel.instances), nothing, nothing, sparse.csr_array((K, K)))
    for one, other in _pairs(panel):
        found += _confronted(panel, said, one, other)
    return found


def find_confused_pairs(
    found: PairwiseAgreement, taxonomy: Taxonomy, *, most: int
) -> tuple[ConfusedPair, ...]:
    """Return the pairs of labels that sources say for each other, the most striking first.

    That is, by how much oftener two answers contradict each other by the two labels than they would
    if every label were met as often as it is, but by any other: where instances have many labels,
    frequent ones meet without being confused.
    """
    pairs = found.confused.tocoo()
    met = np.asarray((found.confused + found.confused.T).sum(axis=1)).ravel()
    excess = pairs.data - met[pairs.row] * met[pairs.col] / max(met.sum(), 1.0)
    order = np.lexsort((pairs.col, pairs.row, -excess))[:most]
    order = order[excess[order] > 0]
    return tuple(
        ConfusedPair(
            taxonomy.labels[pairs.row[at]],
            taxonomy.labels[pairs.col[at]],
            int(pairs.data[at]),
            _name(taxonomy, common_ancestor(int(pairs.row[at]), int(pairs.col[at]), taxonomy)),
        )
        for at in order
    )


def common_ancestor(one: int, other: int, taxonomy: Taxonomy) -> int | None:
    """Return the deepest label above both, the first of several; None where there is none."""
    shared = np.intersect1d(taxonomy.ancestors_of(one), taxonomy.ancestors_of(other))
    return int(shared[np.argmax(taxonomy.depth[shared])]) if len(shared) else None


def _name(taxonomy: Taxonomy, label: int | None) -> str | None:
    return None if label is None else taxonomy.labels[label]


def _sampled(panel: Panel) -> Panel:
    answers = panel.answers_per_instance
    pairs = int((answers * (answers - 1)).sum()) // 2
    if pairs <= _PAIRS:
        return panel
    return panel_rows(panel, sample_rows(panel, max(1, len(answers) * _PAIRS // pairs)))


def _pairs(panel: Panel) -> list[tuple[IntArray, IntArray]]:
    """Return the pairs of answers to the same instance, the earlier source first, in parts."""
    begin = np.searchsorted(panel.instance, panel.instance, side="left")
    earlier = np.arange(len(panel.instance)) - begin
    total = np.cumsum(earlier)
    found, start = [], 0
    while start < len(total):
        before = total[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(total, before + _AT_ONCE, side="right")))
        count = earlier[start:stop]
        other = np.repeat(np.arange(start, stop), count)
        within = np.arange(len(other)) - np.repeat(np.cumsum(count) - count, count)
        found.append((begin[other] + within, other))
        start = stop
    return found


def _confronted(panel: Panel, said: Said, one: IntArray, other: IntArray) -> PairwiseAgreement:
    P, K, M = len(one), len(panel.taxonomy), len(panel.sources)
    mine, theirs = (_contradicted(panel, said, *pair) for pair in ((one, other), (other, one)))
    fine = (np.bincount(mine.pair, minlength=P) + np.bincount(theirs.pair, minlength=P)) == 0
    places = (panel.source[one], panel.source[other])
    return PairwiseAgreement(
        0,
        _counts(np.ones(P), *places, M),
        _counts(fine.astype(float), *places, M),
        _confused(mine, theirs, panel.taxonomy, P, K),
    )


@dataclass(frozen=True, eq=False)
class _Labels:
    """Labels of one answer of each pair that the other contradicts: (pair, label), in order."""

    pair: IntArray
    label: IntArray


def _contradicted(panel: Panel, said: Said, speaker: IntArray, hearer: IntArray) -> _Labels:
    """Return the most specific labels of each speaker that its hearer contradicts."""
    spoken = said.deepest[speaker]
    pair = np.repeat(np.arange(len(speaker)), np.diff(spoken.indptr))
    label = spoken.indices.astype(np.int64)
    against = ~_in(said.closed, hearer[pair], label)
    if panel.scope is not None:
        against &= in_scope(panel.scope, panel.source[hearer[pair]], label)
    pair, label = pair[against], label[against]
    cells = sparse.csr_array(
        (np.ones(len(label)), label, np.arange(len(label) + 1)),
        shape=(len(label), len(panel.taxonomy)),
    )
    cell, above, _ = expand_along(cells, strictly_above(panel.taxonomy))
    vague = np.zeros(len(label), dtype=bool)
    vague[cell[_in(said.deepest, hearer[pair[cell]], above)]] = True
    return _Labels(pair[~vague], label[~vague])


def _in(matrix: Sparse, row: IntArray, column: IntArray) -> BoolArray:
    return values_at(matrix, row, column) > 0


def _confused(mine: _Labels, theirs: _Labels, taxonomy: Taxonomy, pairs: int, K: int) -> Sparse:
    """Pair each contradicted label with the nearest of the other answer's contradicted ones.

    Near are those with the deepest common ancestor: who sees a fuchsia and an oak where another
    sees a monarda and a finch confuses the flowers.
    """
    size = np.bincount(theirs.pair, minlength=pairs)
    first = np.cumsum(size) - size
    fan = size[mine.pair]
    cell = np.repeat(np.arange(len(mine.pair)), fan)
    within = np.arange(len(cell)) - np.repeat(np.cumsum(fan) - fan, fan)
    one, other = mine.label[cell], theirs.label[first[mine.pair[cell]] + within]
    depth = _common_depth(one, other, taxonomy)
    best = np.zeros(len(mine.pair))
    np.maximum.at(best, cell, depth)
    near = depth == best[cell]
    low, high = np.minimum(one, other)[near], np.maximum(one, other)[near]
    return _counts(np.ones(len(low)), low, high, K)


def _common_depth(one: IntArray, other: IntArray, taxonomy: Taxonomy) -> FloatArray:
    """Return the level of the deepest label above both, 0 where there is none."""
    K = len(taxonomy)
    pair, back = np.unique(one * np.int64(K) + other, return_inverse=True)
    above = strictly_above(taxonomy)
    shared = above[pair // K].multiply(above[pair % K]).tocsr()
    row = np.repeat(np.arange(len(pair)), np.diff(shared.indptr))
    depth = np.zeros(len(pair))
    np.maximum.at(depth, row, taxonomy.depth[shared.indices].astype(float))
    return np.asarray(depth[back])


def _counts(values: FloatArray, row: IntArray, column: IntArray, size: int) -> Sparse:
    return canonical(sparse.coo_array((values, (row, column)), shape=(size, size)).tocsr())
