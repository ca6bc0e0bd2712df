"""Dawid and Skene's error rates, two a source and level, on answers with their ancestors."""

import math
import time
import warnings
from dataclasses import dataclass
from functools import partial, reduce
from typing import Annotated, ClassVar, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.pairs import CHANCES, pieces
from mhpc.consolidate.skills import (
    Counts,
    Skills,
    Trials,
    believe,
    count,
    popularity_in,
    skills_from,
    trials_of,
)
from mhpc.core.arrays import FloatArray, Sparse
from mhpc.core.consolidation import Step
from mhpc.core.hierarchy import most_specific, raised
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts, added
from mhpc.core.progress import Progress, silent
from mhpc.core.views import Views
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
    one make, outvote better sources here. Each iteration is one pass over the answers, and costs
    those of every instance times the labels said of it; only skills are kept in between.
    """

    name: ClassVar[str] = "dawid-skene"
    summary: ClassVar[str] = "hit and false alarm rates of every source and level, by EM"
    reference: ClassVar[str] = (
        "Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates, Appl. Stat. 1979"
    )
    sparse: ClassVar[bool] = True

    smooth: Annotated[float, Field(gt=0)] = 1.0
    """Answers that the mean of a level counts for in the skill of each source."""

    tol: Annotated[float, Field(ge=0)] = 1e-4
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1)] = 200
    """Iterations at most."""

    def fit(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Learn skills and belief in turn, until belief stays as it is."""
        popularity = popularity_in(parts)
        now, last = _pass(parts, popularity, None, None)
        votes, skills, trace = now.spread(parts.instances), None, list[Step]()
        for iteration in range(self.max_iter):
            began = time.perf_counter()
            before, skills = skills, skills_from(last, smooth=self.smooth)
            now, last = _pass(parts, popularity, before, skills)
            change = _ratio(math.sqrt(now.moved), math.sqrt(now.before))
            spread = _ratio(now.spread(parts.instances), votes)
            trace.append(Step(iteration, change, None, spread, time.perf_counter() - began))
            progress("judging sources", iteration + 1, self.max_iter)
            if change <= self.tol:
                break
        converged = trace[-1].change <= self.tol
        if not converged:
            warnings.warn(
                f"dawid-skene stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or smooth",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Judgement(
            skills=skills, popularity=popularity, trace=tuple(trace), converged=converged,
            level=0.5,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgement(Fitted):
    """What is believed of pairs, given the skills of who affirmed them and of who did not.

    Attributes
    ----------
    skills : Skills
        Those of all sources; None to believe the share of answers that affirm a pair.
    popularity : float array, (K,)
        The prior of every label.
    """

    skills: Skills | None
    popularity: FloatArray

    def views(self, panel: Panel) -> Views:
        """Return the probabilities, in the specific view beyond that of the best child."""
        believed = [self._believed(piece) for piece in pieces(panel)]
        score = raised(sparse.vstack(believed, format="csr"), panel.taxonomy)
        return Views(score, most_specific(score, panel.taxonomy))

    def _believed(self, panel: Panel) -> Sparse:
        trials = trials_of(panel, self.popularity)
        entries = (_belief(trials, self.skills), (trials.pairs.instance, trials.pairs.label))
        return sparse.csr_array(entries, shape=(len(panel.instances), len(panel.taxonomy)))


_Sums: TypeAlias = tuple[float, float, float, FloatArray, FloatArray, FloatArray, FloatArray,
                         FloatArray]  # fmt: skip
"""Those of `_Belief`, then those of `Counts`."""


class _Belief(NamedTuple):
    """Sums over all pairs: of squares, before and now and of what moved; by label, (K,)."""

    before: float
    now: float
    moved: float
    by_label: FloatArray

    def spread(self, instances: int) -> float:
        """Return how far instances lie from their mean, those nobody affirmed being 0."""
        common = float(self.by_label @ self.by_label) / max(instances, 1)
        return math.sqrt(max(self.now - common, 0.0))


def _pass(
    parts: Parts, popularity: FloatArray, before: Skills | None, now: Skills | None
) -> tuple[_Belief, Counts]:
    """Return what is believed under the skills of now, and what is counted under that belief."""
    sums = parts.total(partial(_measured, popularity=popularity, before=before, now=now))
    return _Belief(*sums[:4]), Counts(*sums[4:])


def _measured(
    panel: Panel, *, popularity: FloatArray, before: Skills | None, now: Skills | None
) -> _Sums:
    skills = len(panel.sources) * len(panel.taxonomy.levels)
    measured = (
        _measured_at_once(piece, popularity, before, now)
        for piece in pieces(panel, max(CHANCES, 8 * skills))
    )
    return reduce(added, measured)


def _measured_at_once(
    panel: Panel, popularity: FloatArray, before: Skills | None, now: Skills | None
) -> _Sums:
    trials = trials_of(panel, popularity)
    # No belief is kept from one pass to the next: skills say what it was.
    then, belief = (_belief(trials, skills) for skills in (before, now))
    moved = belief - then
    by_label = np.bincount(trials.pairs.label, belief, minlength=len(popularity)).astype(float)
    squares = (float(each @ each) for each in (then, belief, moved))
    return (*squares, by_label, *count(trials, belief))  # type: ignore[return-value]


def _belief(trials: Trials, skills: Skills | None) -> FloatArray:
    return trials.share if skills is None else believe(trials, skills)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
