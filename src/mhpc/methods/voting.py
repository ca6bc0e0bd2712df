"""Voting: majority, worker agreement with aggregate (wawa), and iNaturalist's rule (inat).

All three count answers for a label, ancestors included, and differ in who counts against it.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.hierarchy import expand_along, most_specific, propagate_up
from mhpc.data.panel import Panel, PanelPartitions, add_sums
from mhpc.data.profiles import BySource
from mhpc.data.scores import Scores
from mhpc.data.taxonomy import Taxonomy
from mhpc.methods.base import MAX_ANSWERS, BaseMethod
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.pairs import AffirmedPairs, affirmed_pairs, split_panel
from mhpc.methods.source_weights import SourceWeighting, SourceWeights, learn_source_weights
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.parameters import registered

MORE_THAN_HALF = float(np.nextafter(0.5, 1))
"""The smallest score above one half."""


class Majority(BaseMethod):
    """The share of the answers that contain a label, by itself or through a label below it.

    Only answers whose source has the label in its scope count, each by its weight. A label is
    assigned if its share is above one half: if two sources disagree, neither wins, and what they
    have in common stays. One more answer for a label never lowers its score. Costs one pass over
    the votes.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.Majority()).labels["1"]
    ['flower']
    """

    name: ClassVar[str] = "majority"
    summary: ClassVar[str] = "labels that more than half of the sources affirm"
    reference: ClassVar[str] = (
        "find_majority_vote of taxopy, https://github.com/apcamargo/taxopy, for sets of labels"
    )
    sparse: ClassVar[bool] = True

    source_weights: SourceWeighting = "equal"
    """Weight all sources equally, or by estimated reliability with correlated sources sharing one
    weight."""

    def fit(self, partitions: PanelPartitions) -> FittedMethod:
        """Estimate the source weights, if they are to be learned."""
        weights = learn_source_weights(partitions, self.source_weights)
        return FittedVote(weights=weights, threshold=MORE_THAN_HALF)


@registered("wawa.weights")
@dataclass(frozen=True, eq=False)
class AgreementWeights:
    """Weights every answer by its source's agreement with the majority.

    Attributes
    ----------
    agreement : float array, (M,)
        The weight of every source.
    agreed, answers : float arrays, (M,)
        The summed agreement of its answers, and their number.
    prior_answers : float
        As in `Wawa`.
    """

    agreement: Annotated[FloatArray, BySource()]
    agreed: Annotated[FloatArray, BySource(new=0.0)]
    answers: Annotated[FloatArray, BySource(new=0.0)]
    prior_answers: float

    def __call__(self, panel: Panel) -> Panel:
        """Return the panel with every answer weighted."""
        return replace(panel, weight=panel.answer_weights * self.agreement[panel.source])


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedVote(FittedMethod, saved_as="majority.fitted"):
    """A vote in which answers count by the weights of their sources; None: all equally."""

    weights: SourceWeights | AgreementWeights | None

    def update(self, partitions: PanelPartitions) -> "FittedVote | None":
        """Return the vote with the agreement of all answers; None with learned weights."""
        weights = self.weights
        if isinstance(weights, SourceWeights):
            return None
        if weights is None:
            return self
        further = partitions.sum(_sum_agreement, stage="agreement")
        sums = add_sums((weights.agreed, weights.answers), further)
        return replace(self, weights=_weigh_by_agreement(*sums, weights.prior_answers))

    def predict(self, panel: Panel) -> Scores:
        """Return the share of answers with each label, and with nothing more specific."""
        panel = panel if self.weights is None else self.weights(panel)
        score = panel.mean("augmented", "answers")
        if panel.scope is not None:
            # Fewer sources may have a label in scope than its parent, and all of them agree.
            score = propagate_up(score, panel.taxonomy)
        if not panel.taxonomy.parents.nnz:
            # Without a hierarchy, no label is more specific than another.
            return Scores(score, score)
        deepest = most_specific(panel.augmented, panel.taxonomy)
        return Scores(score, panel.average_answers(deepest, "answers"))


class Wawa(BaseMethod):
    """Majority with every answer weighted by its source's agreement with the majority.

    The agreement of a source is the mean over its answers of the Jaccard similarity between the
    labels that it gave, ancestors included, and those that more than half of the answers contain,
    within its scope. With one label per answer and a flat taxonomy this is worker agreement with
    aggregate. One round of what EM would repeat: cheap, and never far from the majority. Costs two
    passes over the votes.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.Wawa()).labels["1"]
    ['flower']
    """

    name: ClassVar[str] = "wawa"
    summary: ClassVar[str] = "majority, each source weighted by its agreement with the majority"
    reference: ClassVar[str] = (
        "Worker Agreement With Aggregate, as in Ustalov, Pavlichenko, Tseitlin: Learning from "
        "Crowds with Crowd-Kit, JOSS 2024, for sets of labels in a hierarchy"
    )
    sparse: ClassVar[bool] = True

    prior_answers: Annotated[float, Field(ge=0, le=MAX_ANSWERS)] = 1.0
    """Number of agreeing, and of disagreeing, answers added to those of every source, since little
    is known about a source with few answers. With 0, a source that never agreed has weight 0."""

    def fit(self, partitions: PanelPartitions) -> FittedMethod:
        """Estimate the agreement of every source with the majority of each instance."""
        sums = partitions.sum(_sum_agreement, stage="agreement")
        weights = _weigh_by_agreement(*sums, self.prior_answers)
        return FittedVote(weights=weights, threshold=MORE_THAN_HALF)


def _weigh_by_agreement(
    agreed: FloatArray, answers: FloatArray, prior_answers: float
) -> AgreementWeights:
    agreement = (agreed + prior_answers) / np.maximum(answers + 2 * prior_answers, 1.0)
    return AgreementWeights(agreement, agreed, answers, prior_answers)


def _sum_agreement(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return the summed agreement of every source's answers, and their number, (M,)."""
    majority = (panel.mean("augmented", "answers") > 0.5)[panel.instance].astype(float)
    if panel.scope is not None:
        majority = majority.multiply(panel.scope[panel.source] > 0).tocsr()
    intersection = np.asarray(panel.augmented.minimum(majority).sum(axis=1)).ravel()
    union = np.asarray(panel.augmented.maximum(majority).sum(axis=1)).ravel()
    # An empty answer agrees with an empty majority.
    agreement = np.divide(intersection, union, out=np.ones(len(union)), where=union > 0)
    agreed = np.bincount(panel.source, agreement, minlength=len(panel.sources)).astype(float)
    return agreed, panel.answers_per_source.astype(float)


class INat(BaseMethod):
    """The share c / (c + d) of answers for a label among those that are for or against it.

    c counts the answers with the label or one below it, d those outside its branch. An answer that
    stops above the label is neither: "flower" does not deny "monarda". An answer of several labels
    is in a branch if one of them is; "none of these" is outside all branches. A score of 0.4 counts
    0.4 for the label and the rest against it, unless the answer stops above the label. Answers
    count by their weight, and only if their source has the label in its scope.

    A label is assigned if c is at least `min_answers` and its share is above `threshold`. If c is
    less, the score is the share times `threshold`: it ranks, but never assigns. One more answer for
    a label never lowers its score. Costs, summed over the instances, the number of answers times
    the number of affirmed labels.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.INat()).labels["1"]
    ['flower']
    """

    name: ClassVar[str] = "inat"
    summary: ClassVar[str] = "iNaturalist's rule: two thirds agree, coarser answers are neutral"
    reference: ClassVar[str] = (
        "iNaturalist, community taxon: "
        "https://help.inaturalist.org/en/support/solutions/articles/151000173076"
    )
    sparse: ClassVar[bool] = True

    min_answers: Annotated[int, Field(ge=1, le=MAX_ANSWERS)] = 2
    """Answers that must be for a label."""

    threshold: Annotated[float, Field(gt=0, lt=1)] = 2 / 3
    """A label is assigned above this share."""

    def fit(self, partitions: PanelPartitions) -> FittedMethod:
        """Estimate nothing: the rule looks at the answers of one instance."""
        return FittedINat(
            min_answers=self.min_answers,
            damping=self.threshold,
            threshold=float(np.nextafter(self.threshold, 1)),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedINat(FittedMethod, saved_as="inat.fitted"):
    """The rule; scores of labels with fewer than `min_answers` are multiplied by `damping`."""

    min_answers: int
    damping: float

    def update(self, partitions: PanelPartitions) -> "FittedINat":
        """Return the same: nothing was estimated."""
        return self

    def predict(self, panel: Panel) -> Scores:
        """Return the shares, and by how much they exceed that of the best child."""
        shares = sparse.vstack([self._shares(block) for block in split_panel(panel)], format="csr")
        # With two parents, an answer at one is neutral to the child but against the other parent.
        score = propagate_up(shares, panel.taxonomy)
        return Scores(score, most_specific(score, panel.taxonomy))

    def _shares(self, panel: Panel) -> Sparse:
        pairs = affirmed_pairs(panel)
        agree, disagree = count_answers(panel, pairs)
        share = np.divide(agree, agree + disagree, out=np.zeros_like(agree), where=agree > 0)
        share[agree < self.min_answers] *= self.damping
        return pairs.to_matrix(share, len(panel.instances))


def count_answers(panel: Panel, pairs: AffirmedPairs) -> tuple[FloatArray, FloatArray]:
    """Return the weight of the answers for and against every affirmed pair: c and d, (P,) each."""
    neutral = _stopped_above(panel, pairs).multiply(pairs.asked)
    not_against = (pairs.votes + neutral).tocsr()
    # An answer that names both parents of a label would otherwise be neutral to it twice.
    not_against.data = np.minimum(not_against.data, 1.0)
    weight = panel.answer_weights
    return weight @ pairs.votes, weight @ (pairs.asked - not_against)


def _stopped_above(panel: Panel, pairs: AffirmedPairs) -> Sparse:
    """Return how much of each answer stops at ancestors of the label of each pair, (A, P)."""
    deepest = most_specific(panel.augmented, panel.taxonomy).tocoo()
    column = pairs.locate(panel.instance[deepest.row], deepest.col)
    stopped = sparse.csr_array((deepest.data, (deepest.row, column)), shape=pairs.votes.shape)
    return (stopped @ _pairs_below(pairs, panel.taxonomy, np.unique(deepest.col))).tocsr()


def _pairs_below(pairs: AffirmedPairs, taxonomy: Taxonomy, upper_labels: IntArray) -> Sparse:
    """Return 1 if the second pair has the same instance and a label below the first's, (P, P).

    Only first pairs with one of the upper labels matter.
    """
    P = len(pairs.label)
    own = sparse.csr_array((np.ones(P), pairs.label, np.arange(P + 1)), shape=(P, pairs.n_labels))
    closure = taxonomy.closure_of(pairs.label, among=upper_labels)
    lower, ancestor, one = expand_along(own, closure)
    is_proper = ancestor != pairs.label[lower]
    lower, ancestor = lower[is_proper], ancestor[is_proper]
    upper = pairs.locate(pairs.instance[lower], ancestor)
    return sparse.csr_array((one[is_proper], (upper, lower)), shape=(P, P))
