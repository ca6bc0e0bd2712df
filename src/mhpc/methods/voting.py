"""Majority, Wawa, INat."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.hierarchy import expand_along, most_specific, propagate_up
from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.scores import Scores
from mhpc.data.taxonomy import Taxonomy
from mhpc.methods.base import BaseMethod, FittedMethod
from mhpc.methods.pairs import Pairs, affirmed_pairs, answer_weights, pieces
from mhpc.methods.source_weights import SourceWeighting, learn_source_weights
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.parameters import registered


class INat(BaseMethod):
    """The share c / (c + d) of answers for a label among those that are for or against it.

    c counts the answers with the label or one below it, d those outside its branch. An answer
    that stopped above the label is neither: who says flower does not deny that it is a monarda.
    An answer of several labels is in a branch if one of them is; one that says "none of these"
    is outside all. A score of 0.4 is four tenths for the label, and the rest against it unless
    it stopped above. Answers count by their weight, and only where their source can speak
    about the label.

    A label is decided where c is at least `min_answers` and the share is above `threshold`. Where c is
    less, the score is the share times `threshold`: it ranks, and is never decided. One more answer
    for a label never lowers it. Costs the answers of every instance times the labels said of it.
    """

    name: ClassVar[str] = "inat"
    summary: ClassVar[str] = "iNaturalist's rule: two thirds agree, coarser answers are neutral"
    reference: ClassVar[str] = (
        "iNaturalist, community taxon: "
        "https://help.inaturalist.org/en/support/solutions/articles/151000173076"
    )
    sparse: ClassVar[bool] = True

    min_answers: Annotated[int, Field(ge=1)] = 2
    """Answers that must be for a label."""

    threshold: Annotated[float, Field(gt=0, lt=1)] = 2 / 3
    """A label is decided above this share."""

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Learn nothing: the rule looks at each instance by itself."""
        return FittedINat(
            least=self.min_answers,
            share=self.threshold,
            threshold=float(np.nextafter(self.threshold, 1)),
        )


@registered("inat.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedINat(FittedMethod):
    least: int
    share: float

    def predict(self, panel: Panel) -> Scores:
        """Return the shares, in the specific view beyond that of the best child."""
        # With two parents, an answer at one of them is neutral to the child and against the other.
        shares = [self._shares(piece) for piece in pieces(panel)]
        score = propagate_up(sparse.vstack(shares, format="csr"), panel.taxonomy)
        return Scores(score, most_specific(score, panel.taxonomy))

    def _shares(self, panel: Panel) -> Sparse:
        pairs = affirmed_pairs(panel)
        agree, disagree = for_and_against(panel, pairs)
        share = np.divide(agree, agree + disagree, out=np.zeros_like(agree), where=agree > 0)
        damped = np.where(agree >= self.least, share, share * self.share)
        shape = (len(panel.instances), len(panel.taxonomy))
        return sparse.csr_array((damped, (pairs.instance, pairs.label)), shape=shape)


def for_and_against(panel: Panel, pairs: Pairs) -> tuple[FloatArray, FloatArray]:
    """Return c and d of every pair of an instance and a label that someone affirmed, (P,)."""
    weight = answer_weights(panel)
    above = _stopped_above(panel, pairs).multiply(pairs.asked)
    not_against = (pairs.said + above).tocsr()
    # An answer that names both parents of a label would be neutral to it twice.
    not_against.data = np.minimum(not_against.data, 1.0)
    return weight @ pairs.said, weight @ (pairs.asked - not_against)


def _stopped_above(panel: Panel, pairs: Pairs) -> Sparse:
    """Return how much of each answer ended at labels above that of the pair, (A, P)."""
    ends = most_specific(panel.augmented, panel.taxonomy).tocoo()
    column = pairs.locate(panel.instance[ends.row], ends.col)
    ended = sparse.csr_array((ends.data, (ends.row, column)), shape=pairs.said.shape)
    return (ended @ _pairs_below(pairs, panel.taxonomy)).tocsr()


def _pairs_below(pairs: Pairs, taxonomy: Taxonomy) -> Sparse:
    """Return ones where the second pair is of the same instance and a label below, (P, P)."""
    P = len(pairs.label)
    labels = (np.ones(P), pairs.label, np.arange(P + 1))
    own = sparse.csr_array(labels, shape=(P, pairs.labels))
    lower, above, one = expand_along(own, taxonomy.closure)
    proper = above != pairs.label[lower]
    lower, above = lower[proper], above[proper]
    upper = pairs.locate(pairs.instance[lower], above)
    return sparse.csr_array((one[proper], (upper, lower)), shape=(P, P))


MORE_THAN_HALF = float(np.nextafter(0.5, 1))
"""The least score that is more than a half."""


@registered("majority.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedVote(FittedMethod):
    """How much the answers of every source count; None: all alike."""

    heard: Callable[[Panel], Panel] | None

    def predict(self, panel: Panel) -> Scores:
        """Return the shares, and of which the label is the most specific one said."""
        panel = panel if self.heard is None else self.heard(panel)
        score = panel.mean("augmented", "answers")
        if panel.scope is not None:
            # Fewer may be able to speak about a label than about its parent, and all agree.
            score = propagate_up(score, panel.taxonomy)
        stopped = most_specific(panel.augmented, panel.taxonomy)
        return Scores(score, panel.average_answers(stopped, "answers"))


class Majority(BaseMethod):
    """The share of the answers that affirm a label, by itself or through one below it.

    Only answers whose sources can speak about the label count, each by its weight. A label is
    decided where the share is above a half: of two sources that disagree, neither wins, and
    what they have in common stays. One more answer for a label never lowers it. Costs one pass
    over the votes.
    """

    name: ClassVar[str] = "majority"
    summary: ClassVar[str] = "labels that more than half of the sources affirm"
    reference: ClassVar[str] = (
        "find_majority_vote of taxopy, https://github.com/apcamargo/taxopy, for sets of labels"
    )
    sparse: ClassVar[bool] = True

    source_weights: SourceWeighting = "equal"
    """Count all sources alike, or by skill, kin sharing a voice."""

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Learn how sources are to be heard."""
        heard = learn_source_weights(parts, self.source_weights)
        return FittedVote(heard=heard, threshold=MORE_THAN_HALF)


class Wawa(BaseMethod):
    """The share of the answers that affirm a label, each counted by its source's skill.

    The skill of a source is the mean agreement of its answers with the majority, which is
    the Jaccard similarity of the labels that it affirms, ancestors included, and of those that
    more than half of the answers affirm, as far as it can speak about them. Where every answer is
    one label of a flat set this is worker agreement with aggregate. One round of what EM would
    repeat: cheap, and never far from the majority. Costs two passes over the votes.
    """

    name: ClassVar[str] = "wawa"
    summary: ClassVar[str] = "majority, each source weighted by its agreement with the majority"
    reference: ClassVar[str] = (
        "Worker Agreement With Aggregate, as in Ustalov, Pavlichenko, Tseitlin: Learning from "
        "Crowds with Crowd-Kit, JOSS 2024, for sets of labels in a hierarchy"
    )
    sparse: ClassVar[bool] = True

    prior_answers: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Answers that agree, and as many that do not, which every source is taken to have given: of a
    source that said little, little is known. 0: none, and one that never agreed is not heard."""

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Learn the skills: the majority of every instance is that of its own answers."""
        agreed, answers = parts.sum(_agreement, stage="agreement")
        skill = (agreed + self.prior_answers) / np.maximum(answers + 2 * self.prior_answers, 1.0)
        return FittedVote(heard=FittedWawa(skill), threshold=MORE_THAN_HALF)


@registered("wawa.weights")
@dataclass(frozen=True, eq=False)
class FittedWawa:
    """Answers that count by the skill of their sources, (M,)."""

    skill: FloatArray

    def __call__(self, panel: Panel) -> Panel:
        """Return the panel with every answer weighted."""
        skill = self.skill[panel.source]
        return replace(panel, weight=skill if panel.weight is None else panel.weight * skill)


def _agreement(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return how far the answers of every source agreed in all, and how many there are, (M,)."""
    majority = panel.mean("augmented", "answers") > 0.5
    chosen = majority[panel.instance].astype(float)
    if panel.scope is not None:
        chosen = chosen.multiply(panel.scope[panel.source] > 0).tocsr()
    both = np.asarray(panel.augmented.minimum(chosen).sum(axis=1)).ravel()
    either = np.asarray(panel.augmented.maximum(chosen).sum(axis=1)).ravel()
    # Who chose nothing where nothing has a majority agrees.
    agreement = np.divide(both, either, out=np.ones(len(both)), where=either > 0)
    agreed = np.bincount(panel.source, agreement, minlength=len(panel.sources)).astype(float)
    return agreed, panel.answers_per_source.astype(float)
