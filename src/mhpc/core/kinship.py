"""Kinship: how skilled sources are, and how far they are the same voice."""

from dataclasses import dataclass

import numpy as np

from mhpc.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Kinship:
    """How skilled sources are and how far they are the same voice.

    Attributes
    ----------
    skill : float array, (M,)
        a, the correlation of a source's answers with what is common to all.
    alike : float array, (M, M)
        Kinship in [0, 1], 0 on the diagonal.
    """

    skill: FloatArray
    alike: FloatArray

    @property
    def voice(self) -> FloatArray:
        """1 / (1 + kinship with all others), (M,): two copies have half a voice each."""
        return np.asarray(1.0 / (1.0 + self.alike.sum(axis=1)))


def strangers(sources: int) -> Kinship:
    """Return that nothing is known: all of one skill, nobody's kin."""
    return Kinship(np.ones(sources), np.zeros((sources, sources)))
