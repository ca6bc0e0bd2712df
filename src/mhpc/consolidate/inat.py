"""The community taxon of iNaturalist: coarser answers do not stand in the way of finer ones."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.pairs import Pairs, affirmed_pairs, answer_weights, pieces
from mhpc.core.arrays import FloatArray, Sparse
from mhpc.core.hierarchy import most_specific, raised, spread
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress, silent
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.views import Views


class INat(MethodParameters):
    """The share c / (c + d) of answers for a label among those that are for or against it.

    c counts the answers with the label or one below it, d those outside its branch. An answer
    that stopped above the label is neither: who says flower does not deny that it is a monarda.
    An answer of several labels is in a branch if one of them is; one that says "none of these"
    is outside all. A score of 0.4 is four tenths for the label, and the rest against it unless
    it stopped above. Answers count by their weight, and only where their source can speak
    about the label.

    A label is decided where c is at least `least` and the share is above `share`. Where c is
    less, the score is the share times `share`: it ranks, and is never decided. One more answer
    for a label never lowers it. Costs the answers of every instance times the labels said of it.
    """

    name: ClassVar[str] = "inat"
    summary: ClassVar[str] = "iNaturalist's rule: two thirds agree, coarser answers are neutral"
    reference: ClassVar[str] = (
        "iNaturalist, community taxon: "
        "https://help.inaturalist.org/en/support/solutions/articles/151000173076"
    )
    sparse: ClassVar[bool] = True

    least: Annotated[int, Field(ge=1)] = 2
    """Answers that must be for a label."""

    share: Annotated[float, Field(gt=0, lt=1)] = 2 / 3
    """A label is decided above this share."""

    def fit(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Learn nothing: the rule looks at each instance by itself."""
        return _Shares(least=self.least, share=self.share, level=float(np.nextafter(self.share, 1)))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shares(Fitted):
    least: int
    share: float

    def views(self, panel: Panel) -> Views:
        """Return the shares, in the specific view beyond that of the best child."""
        # With two parents, an answer at one of them is neutral to the child and against the other.
        shares = [self._shares(piece) for piece in pieces(panel)]
        score = raised(sparse.vstack(shares, format="csr"), panel.taxonomy)
        return Views(score, most_specific(score, panel.taxonomy))

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
    lower, above, one = spread(own, taxonomy.closure)
    proper = above != pairs.label[lower]
    lower, above = lower[proper], above[proper]
    upper = pairs.locate(pairs.instance[lower], above)
    return sparse.csr_array((one[proper], (upper, lower)), shape=(P, P))
