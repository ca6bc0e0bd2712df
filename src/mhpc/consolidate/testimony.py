"""Testimony: every statement beside everything that could be true of its instance."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.consolidate.kinds import EXACT, Relatives, kinds, relatives
from mhpc.consolidate.statements import Statements, candidates, echoes, paired, state
from mhpc.core.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.core.memory import as_text, memory_budget
from mhpc.core.panel import Panel
from mhpc.errors import TooLargeError

ENOUGH_OTHERS = 1.5
"""Other voices from which on they alone judge an answer: two of them, not quite independent."""

UNSEEN = 0.5
"""What every label is taken to have been said beyond what was said."""

BYTES = 200
"""Memory that a pair of a statement and a candidate takes while it is learnt from."""


@dataclass(frozen=True, eq=False)
class Testimony:
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
    situation: IntArray
    habit: IntArray
    labels_said: int
    relatives: Relatives

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


def hear(panel: Panel, kinship: FloatArray | None, known: Sparse | None) -> Testimony:
    """Lay statements and candidates out. Memory goes with P and with the pairs of kin."""
    K, said = np.int64(len(panel.taxonomy)), state(panel)
    possible = candidates(said, panel, known)
    number = np.diff(possible.indptr)
    label = possible.indices.astype(np.int64)
    _refuse_what_does_not_fit(int(number[said.instance].sum()))
    statement, candidate = paired(possible.indptr[said.instance], number[said.instance])
    source, what, true = said.source[statement], said.label[statement], label[candidate]
    echo = echoes(said, kinship)
    voice = 1.0 / (echo @ said.share)
    volume = voice * said.strength
    at_instance = np.bincount(said.instance, volume, minlength=len(panel.instances))
    popular = np.bincount(said.label, volume, minlength=int(K)) + UNSEEN
    return Testimony(
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
        kind=kinds(panel.taxonomy, what, true),
        situation=_numbered(source * K + true),
        habit=_numbered((source * K + true) * K + what),
        labels_said=len(np.unique(said.label)),
        relatives=relatives(panel.taxonomy),
    )


def _refuse_what_does_not_fit(pairs: int) -> None:
    needed, budget = BYTES * pairs, memory_budget()
    if needed > budget:
        raise TooLargeError(
            f"one-truth looks at {pairs:,} statements beside what they may mean at once, which "
            f"needs about {as_text(needed)}, and {as_text(budget)} may be used; "
            "raise --memory, or use --method dawid-skene"
        )


def _numbered(key: IntArray) -> IntArray:
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)
