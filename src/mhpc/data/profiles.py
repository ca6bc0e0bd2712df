"""SourceProfile, Proportion, Weakness, SourceDependence."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.parameters import registered

Copy: TypeAlias = Literal["copy", "near-copy"]


class Proportion(NamedTuple):
    """A share and its 95 % interval; nan where there is nothing to have a share of."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Weakness:
    """A subtree in which a source errs more than elsewhere.

    Of the most specific labels that it said there, at `label` or below, `wrong` of `said` are not
    in the result.
    """

    label: str
    said: int
    wrong: int


@dataclass(frozen=True)
class SourceProfile:
    """One row of ``sources.csv``.

    Attributes
    ----------
    source : str
        Its id.
    answers : int
        Instances it answered.
    coverage : float
        The share of all instances that is.
    mean_depth : float
        Mean level of the labels it gave, 1 the top; nan if it gave none.
    accurate, vague, wrong : Share
        Of the most specific labels it said: the result has the label and nothing below it; it has
        the label and one below it; it does not have the label. The three make up 1.
    independence : float
        What its answers count beside those of its kin: 1 alone, 1/2 for each of two copies.
    nearest_source : str
        The source that it is most alike beyond what skill explains; empty if to none.
    dependence : float
        How alike, from 0 to 1.
    copy : "copy", "near-copy" or None
        Whether all but a twentieth of what skill leaves open is its kin's, or more than half.
    weaknesses : tuple of Weakness
        Where in the hierarchy it errs more than elsewhere, the most first.
    """

    source: str
    answers: int
    coverage: float
    mean_depth: float
    accurate: Proportion
    vague: Proportion
    wrong: Proportion
    independence: float
    nearest_source: str
    dependence: float
    copy: Copy | None = None
    weaknesses: tuple[Weakness, ...] = ()


@registered("source-dependence")
@dataclass(frozen=True, eq=False)
class SourceDependence:
    """How skilled sources are and how far they are the same voice.

    Attributes
    ----------
    skill : float array, (M,)
        a, the correlation of a source's answers with what is common to all.
    matrix : csr_array, (M, M)
        Kinship in [0, 1], 0 on the diagonal. Few are anyone's kin where sources are many.
    """

    skill: FloatArray
    matrix: Sparse

    @property
    def independence(self) -> FloatArray:
        """1 / (1 + kinship with all others), (M,): two copies have half a voice each."""
        return np.asarray(1.0 / (1.0 + np.asarray(self.matrix.sum(axis=1)).ravel()))

    @property
    def nearest(self) -> tuple[IntArray, FloatArray]:
        """The nearest kin of every source and how near it is, 0 where it has none, (M,) each."""
        if not self.matrix.nnz:
            return np.zeros(len(self.skill), dtype=np.int64), np.zeros(len(self.skill))
        return (
            np.asarray(self.matrix.argmax(axis=1)).ravel(),
            np.asarray(self.matrix.max(axis=1).toarray()).ravel(),
        )


def independent_sources(sources: int) -> SourceDependence:
    """Return that nothing is known: all of one skill, nobody's kin."""
    return SourceDependence(np.ones(sources), sparse.csr_array((sources, sources)))
