"""What all rules share: fitting, deciding block by block, ancestors, and the depth bias."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.decision import Decision, FittedRule, ThresholdOrigin
from mhpc.data.hierarchy import close_rows
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, Sparse
from mhpc.parameters import Parameters, registered

MAX_DEPTH_BIAS = 20.0
"""With a larger bias the scores would no longer matter."""

DepthBias: TypeAlias = Annotated[float, Field(ge=-MAX_DEPTH_BIAS, le=MAX_DEPTH_BIAS)]


class Rule(Parameters):
    """A way to turn scores into label sets that contain, with a label, all its ancestors."""

    name: ClassVar[str]

    depth_bias: DepthBias = 0.0
    """How deep to answer. A missed label costs 2^depth_bias times as much as a wrong one: 0 is
    neutral, 1 gives deeper labels, -1 stops earlier."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedRule:
        """Determine what depends on all instances, such as a threshold.

        Parameters
        ----------
        consolidation : Consolidation
            The scores.
        labels_per_answer : float
            The mean number of labels in an answer, ancestors included.
        """
        raise NotImplementedError

    def decide(self, consolidation: Consolidation, *, labels_per_answer: float) -> Decision:
        """Fit the rule and return the label sets; parameters as in `fit`."""
        fitted = self.fit(consolidation, labels_per_answer=labels_per_answer)
        return apply_rule(fitted, consolidation)


def apply_rule(rule: FittedRule, consolidation: Consolidation) -> Decision:
    """Return the label sets of all instances, decided block by block."""
    score, specific, taxonomy = consolidation.score, consolidation.specific, consolidation.taxonomy
    blocks = [
        rule.decide(score[rows], specific[rows], taxonomy)
        for rows in instance_blocks(consolidation)
    ]
    return Decision(
        taxonomy=taxonomy,
        instances=consolidation.instances,
        reason=sparse.vstack(blocks, format="csr"),
        rule=rule.rule,
        parameters=rule.parameters,
    )


@registered("threshold.fitted")
@dataclass(frozen=True)
class FittedThreshold:
    """A threshold for all instances and labels, and where it comes from.

    Attributes
    ----------
    threshold : float
        The lowest score of a label that is given.
    threshold_from : ThresholdOrigin
        "given" by the user, of the "method", "matched" to the size of the answers, "expected-f" or
        "min-probability".
    rule : str
        The name of the rule.
    details : mapping
        The other parameters of the rule, computed ones included.
    """

    threshold: float
    threshold_from: ThresholdOrigin
    rule: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Any]:
        """The threshold, where it comes from, and the other parameters."""
        return {"threshold": self.threshold, "threshold_from": self.threshold_from, **self.details}

    def decide(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the labels that reach the threshold, with their ancestors."""
        return close_under_ancestors(at_or_above(score, self.threshold), taxonomy)


def at_or_above(score: Block, threshold: float) -> Sparse:
    """Return ones at the scores that reach a threshold, which is above 0."""
    K = score.shape[1]
    if isinstance(score, np.ndarray):
        cell = np.flatnonzero(score >= threshold)
        label, indptr = cell % K, np.searchsorted(cell, np.arange(len(score) + 1) * K)
    else:
        position = np.flatnonzero(score.data >= threshold)
        label, indptr = score.indices[position], np.searchsorted(position, score.indptr)
    ones = np.ones(len(label), dtype=np.int16)
    return sparse.csr_array((ones, label, indptr), shape=score.shape)


def close_under_ancestors(labels: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Add all ancestors to label sets.

    Parameters
    ----------
    labels : csr_array, (n, K)
        Ones at the labels of each set.
    taxonomy : Taxonomy
        K labels.

    Returns
    -------
    csr_array of int8, (n, K)
        As `Decision.reason`: 1 at the labels themselves, 2 at ancestors that they imply.
    """
    if taxonomy.has_small_closure:
        implied = (labels @ taxonomy.closure.astype(np.int16)).tocsr()
    else:
        implied = close_rows(labels, taxonomy)
    # 2 for all labels of the closed set, minus 1 for those that were there before.
    implied.data = np.full(implied.nnz, 2, dtype=np.int8)
    reason = (implied - labels.astype(np.int8)).tocsr()
    reason.sort_indices()
    return reason


def cost_of_missing(depth_bias: float) -> float:
    """Return the cost of a missed label relative to that of a wrong one, 2^depth_bias."""
    return float(2.0**depth_bias)


def shift_threshold(threshold: float, depth_bias: float) -> float:
    """Return the threshold above which giving a label costs less than leaving it out.

    A label of probability p is worth giving if ``p * cost >= (1 - p) * odds``, where the odds are
    those of the threshold. A threshold of 1 or more is not a probability, and is divided by the
    cost.
    """
    if depth_bias == 0:
        return threshold
    cost = cost_of_missing(depth_bias)
    return threshold / (threshold + cost * (1 - threshold)) if threshold < 1 else threshold / cost
