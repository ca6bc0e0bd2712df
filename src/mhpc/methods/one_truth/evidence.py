"""Statements beside candidate truths, and how they relate."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from mhpc.data.hierarchy import deepest
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import TooLargeError
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.system.memory import format_size, memory_budget

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


def extract_statements(panel: Panel) -> Statements:
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


def redundancy(statements: Statements, kinship: FloatArray | None = None) -> Sparse:
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


EXACT, VAGUE, NEAR, FAR = range(4)
"""The true label itself, an ancestor of it, a sibling or descendant, any other label."""


def relate_labels(taxonomy: Taxonomy, said: IntArray, true: IntArray) -> IntArray:
    """Return the kind of every pair of a label said and a label true.

    In a DAG an ancestor may be a sibling too; it is vague then, since it is not wrong.

    Examples
    --------
    >>> from mhpc.data.taxonomy import build_taxonomy
    >>> taxonomy = build_taxonomy(["plant", "oak", "elm"], [("oak", "plant"), ("elm", "plant")])
    >>> kinds(taxonomy, np.array([1, 0, 2, 1]), np.array([1, 1, 1, 0])).tolist()
    [0, 1, 2, 2]
    """
    pairs, back = np.unique(said * np.int64(len(taxonomy)) + true, return_inverse=True)
    said, true = np.divmod(pairs, len(taxonomy))
    above, below = _held(taxonomy.closure, true, said), _held(taxonomy.closure, said, true)
    near = below | _siblings(taxonomy, said, true)
    found = np.select([said == true, above, near], [EXACT, VAGUE, NEAR], FAR)
    return np.asarray(found[back], dtype=np.int64)


def _held(matrix: Sparse, row: IntArray, column: IntArray) -> BoolArray:
    """Mark the cells that a matrix holds."""
    width = np.int64(matrix.shape[1])
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.isin(row * width + column, rows * width + matrix.indices)


def _siblings(taxonomy: Taxonomy, one: IntArray, other: IntArray) -> BoolArray:
    """Mark the pairs with a parent in common; roots are siblings of each other."""
    root = np.diff(taxonomy.parents.indptr) == 0
    shared = taxonomy.parents[one].multiply(taxonomy.parents[other]).sum(axis=1)
    return np.asarray((np.asarray(shared).ravel() > 0) | (root[one] & root[other]))


@dataclass(frozen=True, eq=False)
class LabelRelations:
    """Who is near and far of whom, such that weights can be summed without K x K pairs.

    Attributes
    ----------
    closure : csr_array, (K, K)
        Every label with its ancestors.
    families : csr_array, (F, K)
        Ones at labels that are siblings of each other.
    family : int array, (K,)
        The family that holds a label and all its siblings.
    both : csr_array, (K, K)
        Ones at siblings one of which lies above the other, as happens in a DAG.
    """

    closure: Sparse
    families: Sparse
    family: IntArray
    both: Sparse

    @property
    def ancestors(self) -> IntArray:
        """How many labels lie above each, (K,)."""
        return np.asarray(np.diff(self.closure.indptr) - 1, dtype=np.int64)

    def weigh(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the summed weights of the labels near and far of every label, (K,) each."""
        above, below = self.closure @ weight - weight, self.closure.T @ weight - weight
        beside = (self.families @ weight)[self.family] - weight
        # A sibling above is vague, not near; one below has been counted as a descendant.
        near = below + beside - self.both @ weight
        return near, weight.sum() - weight - above - near


def label_relations(taxonomy: Taxonomy) -> LabelRelations:
    """Return who is near of whom.

    There is a family for the children of each label, one for the roots, and, since its siblings
    come from several families, one for each label that has several parents.
    """
    parents, K = taxonomy.parents, len(taxonomy)
    number = np.diff(parents.indptr)
    several = np.flatnonzero(number > 1)
    roots = sparse.csr_array((number == 0).astype(float)[None, :])
    blended = (parents[several] @ taxonomy.children).tocsr()
    blended.data[:] = 1.0
    families = sparse.vstack([taxonomy.children, roots, blended], format="csr")
    family = np.full(K, K)
    family[number == 1] = parents.indices[parents.indptr[:-1][number == 1]]
    family[several] = K + 1 + np.arange(len(several))
    return LabelRelations(taxonomy.closure, families, family, _both(taxonomy))


def _both(taxonomy: Taxonomy) -> Sparse:
    """Return the pairs of siblings one of which lies above the other, either way round."""
    closed = taxonomy.closure.tocoo()
    kin = (closed.row != closed.col) & _siblings(taxonomy, closed.row, closed.col)
    below, above = closed.row[kin], closed.col[kin]
    entries = (np.ones(2 * len(below)), (np.r_[below, above], np.r_[above, below]))
    return sparse.csr_array(entries, shape=taxonomy.closure.shape)


ENOUGH_OTHERS = 1.5
"""Other voices from which on they alone judge an answer: two of them, not quite independent."""

UNSEEN = 0.5
"""What every label is taken to have been said beyond what was said."""

BYTES = 200
"""Memory that a pair of a statement and a candidate takes while it is learnt from."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that stays the same while profiles and truths are learnt.

    S statements, C candidates (what could be true, all instances together), P pairs of a
    statement and a candidate of its instance, sorted by statement, then candidate.

    Attributes
    ----------
    statements : Statements
        What was said.
    possible : csr_array, (N, K)
        The candidates, a row an instance.
    owner, label : int arrays, (C,)
        The instance and the label of each candidate.
    popular : float array, (K,)
        How often each label is said, as a share.
    voice : float array, (S,)
        1 for an answer of its own, 1/2 for each of two copies.
    judged : bool array, (S,)
        Where enough others spoke about the instance to judge the statement without it.
    echo : csr_array, (S, S)
        How far statements are one testimony.
    statement, candidate : int arrays, (P,)
        The two ends of each pair.
    kind : int array, (P,)
        What the statement is if the candidate is true.
    situation, habit : int arrays, (P,)
        Numbers of the (source, true label) and of the (source, true label, label said).
    labels_said : int
        How many different labels were ever said.
    relatives : Relatives
        Who is near and far of whom.
    """

    statements: Statements
    possible: Sparse
    owner: IntArray
    label: IntArray
    popular: FloatArray
    voice: FloatArray
    judged: BoolArray
    echo: Sparse
    statement: IntArray
    candidate: IntArray
    kind: IntArray
    source_truth_id: IntArray
    confusion_id: IntArray
    labels_said: int
    label_relations: LabelRelations

    def shares(self) -> FloatArray:
        """Return what share of the statements on its instance names each candidate, (C,)."""
        exact = self.kind == EXACT
        strength = self.statements.strength[self.statement[exact]]
        named = np.bincount(self.candidate[exact], strength, minlength=len(self.owner))
        total = np.bincount(self.owner, named, minlength=self.possible.shape[0])[self.owner]
        return np.divide(named, total, out=np.zeros(len(named)), where=total > 0)

    def by_candidate(self, value: FloatArray) -> Sparse:
        """Return values of candidates as a matrix, (N, K)."""
        return sparse.csr_array(
            (value, self.possible.indices, self.possible.indptr), shape=self.possible.shape
        )


def build_evidence(panel: Panel, kinship: FloatArray | None, known: Sparse | None) -> Evidence:
    """Lay statements and candidates out. Memory goes with P and with the pairs of kin."""
    K, said = np.int64(len(panel.taxonomy)), extract_statements(panel)
    possible = candidates(said, panel, known)
    number = np.diff(possible.indptr)
    label = possible.indices.astype(np.int64)
    _check_memory(int(number[said.instance].sum()))
    statement, candidate = paired(possible.indptr[said.instance], number[said.instance])
    source, what, true = said.source[statement], said.label[statement], label[candidate]
    echo = redundancy(said, kinship)
    voice = 1.0 / (echo @ said.share)
    volume = voice * said.strength
    at_instance = np.bincount(said.instance, volume, minlength=len(panel.instances))
    popular = np.bincount(said.label, volume, minlength=int(K)) + UNSEEN
    return Evidence(
        statements=said,
        possible=possible,
        owner=np.repeat(np.arange(len(number)), number),
        label=label,
        popular=popular / popular.sum(),
        voice=voice,
        judged=at_instance[said.instance] - echo @ volume > ENOUGH_OTHERS,
        echo=echo,
        statement=statement,
        candidate=candidate,
        kind=relate_labels(panel.taxonomy, what, true),
        source_truth_id=_numbered(source * K + true),
        confusion_id=_numbered((source * K + true) * K + what),
        labels_said=len(np.unique(said.label)),
        label_relations=label_relations(panel.taxonomy),
    )


def _check_memory(pairs: int) -> None:
    needed, budget = BYTES * pairs, memory_budget()
    if needed > budget:
        raise TooLargeError(
            f"one-truth looks at {pairs:,} statements beside what they may mean at once, which "
            f"needs about {format_size(needed)}, and {format_size(budget)} may be used; "
            "raise --memory, or use --method dawid-skene"
        )


def _numbered(key: IntArray) -> IntArray:
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)
