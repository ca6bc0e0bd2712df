"""Smoothing over a similarity graph: what MHPC and MPC-U share."""

import warnings
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from mhpc.consolidate.method import MethodParameters
from mhpc.core.arrays import BoolArray, FloatArray, dense
from mhpc.core.consolidation import Consolidation, Step
from mhpc.core.memory import available_memory
from mhpc.core.panel import Average, Panel, VotesKind
from mhpc.core.progress import Progress, silent
from mhpc.errors import ConvergenceWarning, TooLargeError
from mhpc.graph.alternate import Anchor, alternate


class Smoothing(MethodParameters):
    """Parameters of the consensus cost (equations 1 to 6) and of the two-phase iteration."""

    lam: Annotated[float, Field(ge=0)] = 10.0
    """lambda of equation 1: how strongly similar instances are drawn together. 0 is averaging."""

    sigma: Annotated[float, Field(gt=0)] = 0.3
    """sigma of equation 7: the distance at which similarity has fallen to 1/e. The paper gives
    none; 0.3 is what gives its figures."""

    votes: VotesKind = "raw"
    """What is smoothed: the labels as said, as the paper does, or with all their ancestors."""

    graph: VotesKind | None = None
    """What similarity is estimated on; none: the same as `votes`, as in the paper."""

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
        answered = panel.answers_per_instance > 0
        _refuse_what_does_not_fit(int(answered.sum()), len(panel.taxonomy))
        Y_bar = _mean(panel, self.votes, self.average, answered)
        graph = None
        if self.graph not in (None, self.votes):
            graph = _mean(panel, self.graph, self.average, answered)
        trace: tuple[Step, ...] = ()
        for iterate in alternate(
            Y_bar, graph, self.weights(panel), lam=self.lam, sigma=self.sigma, anchor=self.anchor,
            tol=self.tol, max_iter=self.max_iter, progress=progress,
            disagreement=_disagreement(panel, Y_bar, self.votes, self.average),
        ):  # fmt: skip
            trace = (*trace, iterate.step)
            scores = np.zeros((len(panel.instances), len(panel.taxonomy)))
            scores[answered] = iterate.Y
            # A single solve asked for (max_iter=0) is a closed form: nothing is to settle.
            converged = self.max_iter == 0 or iterate.step.change <= self.tol
            yield self.conclude(panel, scores, trace=trace, converged=converged)


def _mean(panel: Panel, votes: VotesKind, average: Average, answered: BoolArray) -> FloatArray:
    return dense(panel.mean(votes, average)[answered])


def _disagreement(panel: Panel, Y_bar: FloatArray, votes: VotesKind, average: Average) -> float:
    """Return the first term of eq. 1 at Y = Y_bar: mean squares less squared means."""
    Y = panel.votes(votes)
    return float(panel.averaged(Y.multiply(Y).tocsr(), average).sum() - np.sum(Y_bar**2))


def _refuse_what_does_not_fit(instances: int, labels: int) -> None:
    """Foresee the memory that the dense graph takes instead of meeting its end."""
    needed, free = 8 * instances * (instances + 6 * labels), available_memory()
    if free is not None and needed > free:
        raise TooLargeError(
            f"a dense graph of {instances:,} instances and {labels:,} labels needs about "
            f"{needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free; "
            "consolidate a part at a time, or use --method sa"
        )
