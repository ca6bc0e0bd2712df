"""MHPC: the paper's method."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from mhpc.consolidate.method import PAPER
from mhpc.consolidate.smoothing import Smoothing
from mhpc.consolidate.support import support_in
from mhpc.core.arrays import FloatArray
from mhpc.core.parts import Parts


class MHPC(Smoothing):
    """Mean answers, smoothed over instances that are alike in well-supported labels.

    Similarity (eq. 7) weighs each label by its support (eq. 10), which ancestors gain from the
    labels below them; the consensus cost (eq. 1) is solved in closed form (eq. 6), and
    similarity and solution are estimated in turn until they settle. Costs N^2 memory and
    N^3 / 3 + 3 N^2 K multiplications an iteration, N being the distinct answered instances; beyond
    ten thousand of them see `solver`.

    Examples
    --------
    >>> MHPC(lam=1, sigma=0.1).lam
    1.0
    """

    name: ClassVar[str] = "mhpc"
    summary: ClassVar[str] = "the paper: smoothing over a graph weighted by label support"
    reference: ClassVar[str] = PAPER

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Significance level of the support's confidence bound (eq. 9)."""

    @classmethod
    def as_published(cls, **values: Any) -> Self:
        """Return the paper's own reading: raw votes, divided by M, previous result as anchor."""
        paper = {"votes": "raw", "average": "all-sources", "anchor": "previous"}
        return cls(**(paper | values))

    def weights(self, parts: Parts) -> FloatArray:
        """Return the support of the labels."""
        return support_in(parts, alpha=self.alpha)
