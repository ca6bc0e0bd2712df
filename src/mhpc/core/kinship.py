"""Kinship: how skilled sources are, and how far they are the same voice."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse


@dataclass(frozen=True, eq=False)
class Kinship:
    """How skilled sources are and how far they are the same voice.

    Attributes
    ----------
    skill : float array, (M,)
        a, the correlation of a source's answers with what is common to all.
    alike : csr_array, (M, M)
        Kinship in [0, 1], 0 on the diagonal. Few are anyone's kin where sources are many.
    """

    skill: FloatArray
    alike: Sparse

    @property
    def voice(self) -> FloatArray:
        """1 / (1 + kinship with all others), (M,): two copies have half a voice each."""
        return np.asarray(1.0 / (1.0 + np.asarray(self.alike.sum(axis=1)).ravel()))

    @property
    def nearest(self) -> tuple[IntArray, FloatArray]:
        """The nearest kin of every source and how near it is, 0 where it has none, (M,) each."""
        if not self.alike.nnz:
            return np.zeros(len(self.skill), dtype=np.int64), np.zeros(len(self.skill))
        return (
            np.asarray(self.alike.argmax(axis=1)).ravel(),
            np.asarray(self.alike.max(axis=1).toarray()).ravel(),
        )


def strangers(sources: int) -> Kinship:
    """Return that nothing is known: all of one skill, nobody's kin."""
    return Kinship(np.ones(sources), sparse.csr_array((sources, sources)))
