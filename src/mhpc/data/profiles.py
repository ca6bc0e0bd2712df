"""What is known about sources: their profiles in a result, their skill and dependence."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.parameters import registered


@dataclass(frozen=True)
class BySource:
    """Marks an array of a fitted method that has one row per source, and columns if it has pairs.

    ``Annotated[FloatArray, BySource()]`` is all that a class has to say, so that a model can be
    applied to votes of sources which it does not know.

    Attributes
    ----------
    new : float or None
        What the row of a new source is filled with; None: the mean of the known sources.
    pairs : bool
        Whether the array has one column per source as well.
    """

    new: float | None = None
    pairs: bool = False


SourceRelation: TypeAlias = Literal["near-duplicate", "correlated"]


class Proportion(NamedTuple):
    """A proportion and its 95 % interval; nan if there is nothing to count."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Weakness:
    """A subtree of the taxonomy in which a source errs more than elsewhere.

    Of the `given` most specific labels that it gave there, at `label` or below, `wrong` are not in
    the result.
    """

    label: str
    given: int
    wrong: int


@dataclass(frozen=True)
class SourceProfile:
    """One row of ``sources.csv``.

    Attributes
    ----------
    source : str
        Its id.
    answers : int
        The number of instances that it answered.
    coverage : float
        Their proportion among all instances.
    mean_depth : float
        The mean level of the labels it gave, 1 at the top; nan if it gave none.
    accurate, vague, wrong : Proportion
        Of the most specific labels it gave: the result has the label and nothing below it; the
        result has the label and one below it; the result does not have the label. They add up to 1.
    independence : float
        The weight of its answers beside those of dependent sources: 1 if it is independent, 1/2 for
        each of two copies.
    nearest_source : str
        The source that it agrees with most beyond what skill explains; empty if with none.
    dependence : float
        The dependence between the two, from 0 to 1.
    relation : "near-duplicate", "correlated" or None
        To the nearest source: near-duplicate if the dependence is at least 0.95, correlated if it
        is above 0.5.
    weaknesses : tuple of Weakness
        Where in the taxonomy it errs more than elsewhere, the most significant first.
    same_set : float
        The proportion of its answers whose most specific labels are exactly those of the label set:
        how often the source alone would give the same result; nan if it did not answer.
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
    relation: SourceRelation | None = None
    weaknesses: tuple[Weakness, ...] = ()
    same_set: float = math.nan


@registered("source-dependence")
@dataclass(frozen=True, eq=False)
class SourceDependence:
    """How skilled sources are, and how far they depend on each other.

    Attributes
    ----------
    skill : float array, (M,)
        a, the correlation of the answers of a source with what is common to all sources.
    matrix : csr_array, (M, M)
        The dependence between two sources, in [0, 1]; 0 on the diagonal. Of many sources, few
        depend on each other.
    """

    skill: Annotated[FloatArray, BySource()]
    matrix: Annotated[Sparse, BySource(new=0.0, pairs=True)]

    @property
    def independence(self) -> FloatArray:
        """1 / (1 + summed dependence on all others), (M,): 1/2 for each of two copies."""
        return np.asarray(1.0 / (1.0 + np.asarray(self.matrix.sum(axis=1)).ravel()))

    @property
    def nearest(self) -> tuple[IntArray, FloatArray]:
        """The source that each depends on most, and how far, 0 if on none, (M,) each."""
        if not self.matrix.nnz:
            return np.zeros(len(self.skill), dtype=np.int64), np.zeros(len(self.skill))
        return (
            np.asarray(self.matrix.argmax(axis=1)).ravel(),
            np.asarray(self.matrix.max(axis=1).toarray()).ravel(),
        )


def independent_sources(n_sources: int) -> SourceDependence:
    """Return the dependence of equally skilled, independent sources."""
    return SourceDependence(np.ones(n_sources), sparse.csr_array((n_sources, n_sources)))
