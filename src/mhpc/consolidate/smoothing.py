"""Smoothing over a similarity graph: what MHPC and MPC-U share."""

import warnings
from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mhpc.consolidate.descent import descended
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.voices import Sources, heard
from mhpc.core.arrays import BoolArray, FloatArray, dense
from mhpc.core.consolidation import Consolidation, Step
from mhpc.core.memory import available_memory
from mhpc.core.panel import Average, Panel, VotesKind
from mhpc.core.progress import Progress, silent
from mhpc.errors import ConvergenceWarning, ParameterError, TooLargeError
from mhpc.graph.alternate import Anchor, Iterate, Smoother, alternate


class Smoothing(MethodParameters):
    """Parameters of the consensus cost (equations 1 to 6) and of the two-phase iteration."""

    lam: Annotated[float, Field(ge=0)] = 10.0
    """lambda of equation 1: how strongly similar instances are drawn together. 0 is averaging."""

    sigma: Annotated[float, Field(gt=0)] | None = 0.3
    """sigma of equation 7: the distance at which similarity has fallen to 1/e. The paper gives
    none; 0.3 is what gives its figures. none: the mean distance to the 15 nearest instances."""

    votes: VotesKind | Literal["each"] = "raw"
    """What is smoothed: the labels as said, as the paper does, or with all their ancestors; each:
    as said for `specific`, with ancestors for `score`."""

    graph: VotesKind | None = None
    """What similarity is estimated on; none: the same as `votes`, as in the paper. With ancestors
    where `votes` are `each`, and then not raw."""

    neighbours: Annotated[int, Field(ge=1)] | None = None
    """Join every instance to so many nearest ones; none: to all, as in the paper."""

    shrink: Literal["none", "answers"] = "none"
    """Let an instance hold on to its answers alike however many there are, as in the paper, or by
    their number, so that smoothing gives way as evidence grows."""

    sources: Sources = "equal"
    """Count all sources alike, as the paper does, or by skill, kin sharing a voice."""

    fill: Annotated[float, Field(ge=0)] = 0.0
    """How many answers it is worth that labels below one that was said are as popular as
    elsewhere; 0: nothing is filled in, as in the paper. Needs votes with ancestors."""

    average: Average = "answers"
    """Divide by the answers an instance got, or by the number of sources as the paper does."""

    anchor: Anchor = "mean"
    """What every solve starts from: the mean answer, which settles, or the previous result,
    as the paper has it, which smooths again and again."""

    tol: Annotated[float, Field(ge=0)] = 1e-4
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=0)] = 30
    """Iterations at most after the first solve; 0 is the first closed-form solve alone."""

    def weights(self, panel: Panel) -> FloatArray:
        """Return the weight of every label in the distance of eq. 7, (K,)."""
        raise NotImplementedError

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the smoothed mean answers."""
        for latest in self.iterations(panel, progress=progress):
            found = latest
        if not found.converged:
            warnings.warn(
                f"{self.name} stopped after {self.max_iter} iterations with a relative change of "
                f"{found.trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter, or "
                "look at the spread in the trace if instances are becoming alike",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def iterations(self, panel: Panel, *, progress: Progress = silent) -> Iterator[Consolidation]:
        """Give what would be concluded after each iteration; the last one is the result."""
        self._refuse_what_does_not_go_together()
        answered = panel.answers_per_instance > 0
        if self.neighbours is None:
            _refuse_what_does_not_fit(int(answered.sum()), len(panel.taxonomy))
        panel = heard(panel) if self.sources == "independent" else panel
        smoothed: VotesKind = "raw" if self.votes == "each" else self.votes
        compared = self.graph or ("augmented" if self.votes == "each" else smoothed)
        Y_bar = _mean(panel, smoothed, self.average, answered)
        alongside = None
        if compared != smoothed or self.votes == "each":
            alongside = _mean(panel, compared, self.average, answered)
        trace: tuple[Step, ...] = ()
        for iterate in alternate(
            Y_bar, alongside, self.weights(panel), anchor=self.anchor, tol=self.tol,
            smoother=Smoother(self.lam, self.sigma, self.neighbours),
            evidence=self._held(panel, answered),
            max_iter=self.max_iter, progress=progress,
            disagreement=self._disagreement(panel, Y_bar, smoothed, answered),
        ):  # fmt: skip
            trace = (*trace, iterate.step)
            # A single solve asked for (max_iter=0) is a closed form: nothing is to settle.
            converged = self.max_iter == 0 or iterate.step.change <= self.tol
            score, specific = self._views(panel, iterate, answered)
            yield self.conclude(panel, score, specific, trace=trace, converged=converged)

    def _refuse_what_does_not_go_together(self) -> None:
        if self.fill and self.votes == "raw":
            raise ParameterError(
                f"fill = {self.fill:g} is not allowed with votes = 'raw'; give votes=augmented or "
                "votes=each"
            )
        if self.votes == "each" and self.graph == "raw":
            raise ParameterError(
                "graph = 'raw' is not allowed with votes = 'each', whose score is smoothed on the "
                "graph of votes with ancestors; give graph=augmented or none"
            )

    def _held(self, panel: Panel, answered: BoolArray) -> FloatArray | None:
        return panel.evidence[answered] if self.shrink == "answers" else None

    def _disagreement(
        self, panel: Panel, Y_bar: FloatArray, votes: VotesKind, answered: BoolArray
    ) -> float:
        """Return the first term of eq. 1 at Y = Y_bar: mean squares less squared means."""
        Y, held = panel.votes(votes), self._held(panel, answered)
        squares = panel.averaged(Y.multiply(Y).tocsr(), self.average)[answered].sum(axis=1)
        scatter = np.asarray(squares).ravel() - np.einsum("ij,ij->i", Y_bar, Y_bar)
        return float(scatter.sum() if held is None else held @ scatter)

    def _views(
        self, panel: Panel, iterate: Iterate, answered: BoolArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return `score`, and `specific` where that is another number."""
        closed = iterate.graph if self.votes == "each" else iterate.Y
        if self.fill:
            # What the mean was divided by, so that both together are the answers for a label.
            divided = panel.evidence[answered]
            if self.average == "all-sources":
                divided = np.full(len(divided), float(len(panel.sources)))
            closed = descended(
                closed, divided, panel.popularity, panel.taxonomy, strength=self.fill
            )
        score = _over_all(closed, answered)
        return score, _over_all(iterate.Y, answered) if self.votes == "each" else None


def _over_all(rows: FloatArray, answered: BoolArray) -> FloatArray:
    """Return the rows at their instances, 0 where nobody answered."""
    scores = np.zeros((len(answered), rows.shape[1]))
    scores[answered] = rows
    return scores


def _mean(panel: Panel, votes: VotesKind, average: Average, answered: BoolArray) -> FloatArray:
    return dense(panel.mean(votes, average)[answered])


def _refuse_what_does_not_fit(instances: int, labels: int) -> None:
    """Foresee the memory that the dense graph takes instead of meeting its end."""
    needed, free = 8 * instances * (instances + 6 * labels), available_memory()
    if free is not None and needed > free:
        raise TooLargeError(
            f"a dense graph of {instances:,} instances and {labels:,} labels needs about "
            f"{needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free; "
            "consolidate a part at a time, or use --method sa"
        )
