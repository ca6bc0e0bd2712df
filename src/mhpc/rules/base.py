"""Rule, FittedThreshold, closing under ancestors, depth bias."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.decision import Decision, FittedRule
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, Sparse
from mhpc.parameters import Parameters, registered

MOST = 20.0
"""A bias beyond this decides all by itself."""

DepthBias: TypeAlias = Annotated[float, Field(ge=-MOST, le=MOST)]


def cost_of_missing(bias: float) -> float:
    """Return how many wrong labels a missed one weighs as much as: 1, doubled by each 1 of bias."""
    return float(2.0**bias)


def shift_threshold(level: float, bias: float) -> float:
    """Return the level above which giving a label costs less than leaving it out.

    A label of probability p is worth giving if p * cost >= (1 - p) * odds, with the odds of the
    level at cost 1. Levels of 1 and more are of no probability, and are divided by the cost.
    """
    if bias == 0:
        return level
    cost = cost_of_missing(bias)
    return level / (level + cost * (1 - level)) if level < 1 else level / cost


class Rule(Parameters):
    """From scores to label sets that hold, with a label, all its ancestors."""

    name: ClassVar[str]

    depth_bias: DepthBias = 0.0
    """How deep to answer: 0 as the rule says, each 1 more lets a missed label weigh twice as much
    against a wrong one, each 1 less half as much."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedRule:
        """Find what depends on all instances.

        Parameters
        ----------
        consolidation : Consolidation
            The scores.
        labels_per_answer : float
            Mean size of the sources' answers, ancestors included.
        """
        raise NotImplementedError

    def decide(self, consolidation: Consolidation, *, labels_per_answer: float) -> Decision:
        """Return the label sets; parameters as in `fit`."""
        return apply_rule(
            self.fit(consolidation, labels_per_answer=labels_per_answer), consolidation
        )


def apply_rule(settled: FittedRule, consolidation: Consolidation) -> Decision:
    """Return the label sets by a rule that knows all it needs."""
    parts = [
        settled.decide(
            consolidation.score[span], consolidation.specific[span], consolidation.taxonomy
        )
        for span in instance_blocks(consolidation)
    ]
    return Decision(
        taxonomy=consolidation.taxonomy,
        instances=consolidation.instances,
        reason=sparse.vstack(parts, format="csr"),
        rule=settled.rule,
        parameters=settled.parameters,
    )


def at_or_above(score: Block, level: float) -> Sparse:
    """Return ones where a label reaches the level by itself."""
    if not isinstance(score, np.ndarray):
        at = np.flatnonzero(score.data >= level)
        ones = (np.ones(len(at), dtype=np.int16), score.indices[at])
        return sparse.csr_array((*ones, np.searchsorted(at, score.indptr)), shape=score.shape)
    row, label = np.nonzero(score >= level)
    ends = np.searchsorted(row, np.arange(len(score) + 1))
    return sparse.csr_array((np.ones(len(label), dtype=np.int16), label, ends), shape=score.shape)


def close_under_ancestors(own: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Return labels with all their ancestors, as in `Decision.reason`; ones in, 1 and 2 out."""
    implied = (own @ taxonomy.closure.astype(np.int16)).tocsr()
    # 2 for all that is reached, less 1 where a label does so by itself.
    implied.data = np.full(implied.nnz, 2, dtype=np.int8)
    reason = (implied - own.astype(np.int8)).tocsr()
    reason.sort_indices()
    return reason


@registered("threshold.fitted")
@dataclass(frozen=True)
class FittedThreshold:
    """The level, and how it came about.

    Attributes
    ----------
    threshold : float
        The lowest score that is enough.
    threshold_from : str
        given, method (its own), matched (sets as large as answers), expected-f or sure.
    rule : str
        The rule that found it.
    found : mapping
        The rule's other parameters, computed ones included.
    """

    threshold: float
    threshold_from: str
    rule: str
    found: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Any]:
        """The level, where it is from, and the rest."""
        return {"threshold": self.threshold, "threshold_from": self.threshold_from, **self.found}

    def decide(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the labels that reach the level, and what they imply."""
        return close_under_ancestors(at_or_above(score, self.threshold), taxonomy)
