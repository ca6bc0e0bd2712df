"""Dawid and Skene's error rates, two a source and level, on answers with their ancestors."""

import math
import time
import warnings
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.skills import Trials, believe, source_skills, trials_of
from mhpc.core.arrays import FloatArray
from mhpc.core.consolidation import Consolidation, Step
from mhpc.core.hierarchy import most_specific, raised
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress, silent
from mhpc.errors import ConvergenceWarning


class DawidSkene(MethodParameters):
    """The probability that a label applies, given how often each source hits and misses.

    Every pair of an instance and a label is true or not, and source m affirms it with

        sensitivity[m, level]              if it is true,
        rate[m, level] * popularity[k]     if not.

    Skills are shared by the labels of a level, of which a source sees enough to be judged. In
    turn, skills are counted under the present belief and belief follows from the skills (EM),
    starting from the share of answers that affirm a pair; the prior is the label's popularity.
    Pairs that nobody affirmed are 0. Labels are judged one by one; at the end a parent is
    raised to its best child. Trusts that sources err independently: copies, or classifiers of
    one make, outvote better sources here. Each iteration costs the answers of every instance
    times the labels said of it.
    """

    name: ClassVar[str] = "dawid-skene"
    summary: ClassVar[str] = "hit and false alarm rates of every source and level, by EM"
    reference: ClassVar[str] = (
        "Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates, Appl. Stat. 1979"
    )

    smooth: Annotated[float, Field(gt=0)] = 1.0
    """Answers that the mean of a level counts for in the skill of each source."""

    tol: Annotated[float, Field(ge=0)] = 1e-4
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1)] = 200
    """Iterations at most."""

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the probabilities, in the specific view beyond that of the best child."""
        trials = trials_of(panel)
        belief, trace = self._settle(trials, len(panel.instances), progress)
        shape = (len(panel.instances), len(panel.taxonomy))
        pairs = trials.pairs
        score = sparse.csr_array((belief, (pairs.instance, pairs.label)), shape=shape)
        score = raised(score, panel.taxonomy)
        return self.conclude(
            panel,
            score,
            most_specific(score, panel.taxonomy),
            trace=tuple(trace),
            converged=trace[-1].change <= self.tol,
            level=0.5,
        )

    def _settle(
        self, trials: Trials, instances: int, progress: Progress
    ) -> tuple[FloatArray, list[Step]]:
        """Alternate until belief stays as it is."""
        belief, trace = trials.share, list[Step]()
        votes = _spread(trials, trials.share, instances)
        for iteration in range(self.max_iter):
            began = time.perf_counter()
            before = belief
            belief = believe(trials, source_skills(trials, before, smooth=self.smooth))
            change = _ratio(float(np.linalg.norm(belief - before)), float(np.linalg.norm(before)))
            spread = _ratio(_spread(trials, belief, instances), votes)
            trace.append(Step(iteration, change, None, spread, time.perf_counter() - began))
            progress("judging sources", iteration + 1, self.max_iter)
            if change <= self.tol:
                return belief, trace
        warnings.warn(
            f"dawid-skene stopped after {self.max_iter} iterations with a relative change of "
            f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or smooth",
            ConvergenceWarning,
            stacklevel=4,
        )
        return belief, trace


def _spread(trials: Trials, belief: FloatArray, instances: int) -> float:
    """Return how far instances lie from their mean, those nobody affirmed being 0."""
    total = np.bincount(trials.pairs.label, belief)
    return math.sqrt(max(float(belief @ belief - total @ total / instances), 0.0))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
