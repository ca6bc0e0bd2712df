"""Votes by what they claim, counted."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.consolidate.voices import Hearing, Sources, hearing, listen
from mhpc.core.arrays import BoolArray, FloatArray, Sparse
from mhpc.core.hierarchy import most_specific
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts


@dataclass(frozen=True, eq=False)
class Tally:
    """Votes summed over the answers of every instance, (N, K), and how many answers, (N,)."""

    votes: Sparse
    answers: FloatArray

    def without(self, other: "Tally") -> "Tally":
        """Return what is left when some answers are taken away."""
        rest = (self.votes - other.votes).tocsr()
        rest.data = np.maximum(rest.data, 0.0)
        rest.eliminate_zeros()
        return Tally(rest, np.maximum(self.answers - other.answers, 0.0))


@dataclass(frozen=True, eq=False)
class Claims:
    """How answers are read, the same in every part: who is heard, and whether they are sets.

    Attributes
    ----------
    heard : Hearing or None
        How much sources count.
    sets : bool
        Whether no answer has a score.
    """

    heard: Hearing | None
    sets: bool

    def of(self, panel: Panel) -> tuple[Panel, Sparse]:
        """Return the panel as it is heard, and what its answers claim."""
        return listen(panel, self.heard), _claimed(panel, self.sets)


def claims_in(parts: Parts, sources: Sources = "equal") -> Claims:
    """Return how the answers of all parts are to be read."""
    heard = hearing(parts, sources)
    (scored,) = parts.total(_scored)
    return Claims(heard, sets=scored == 0)


def claims(panel: Panel) -> Sparse:
    """Return what answers say of labels themselves: as said, or with scores beyond their children.

    A model that gives 0.9 to an animal and 0.8 to a dog claims a dog, and hardly a mere animal.
    """
    return _claimed(panel, _scored(panel)[0] == 0)


def tally(panel: Panel, claimed: Sparse, answers: BoolArray | None = None) -> Tally:
    """Sum up what was claimed, in all answers or in some of them."""
    some = np.ones(len(panel.instance), dtype=bool) if answers is None else answers
    weight = np.ones(len(some)) if panel.weight is None else panel.weight
    instance, weight = panel.instance[some], weight[some]
    N = len(panel.instances)
    by = sparse.csr_array((weight, (instance, np.arange(len(instance)))), shape=(N, len(instance)))
    votes = (by @ claimed[some]).tocsr()
    votes.eliminate_zeros()
    return Tally(votes, np.bincount(instance, weight, minlength=N).astype(float))


def _scored(panel: Panel) -> tuple[int]:
    return (int(np.count_nonzero(panel.raw.data != 1.0)),)


def _claimed(panel: Panel, sets: bool) -> Sparse:
    return panel.raw if sets else most_specific(panel.augmented, panel.taxonomy)
