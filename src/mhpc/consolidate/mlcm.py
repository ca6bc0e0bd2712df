"""MLCM: multi-label consensus maximisation on the graph of instances and votes."""

import time
import warnings
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mhpc.consolidate.consensus import Pass, moved_on, pass_over, settled, settles_faster
from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.groups import Groups, groups_in, votes_for
from mhpc.consolidate.method import MethodParameters
from mhpc.core.arrays import FloatArray, IntArray, dense
from mhpc.core.consolidation import Step
from mhpc.core.memory import memory_budget
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress, silent
from mhpc.core.size import Size
from mhpc.core.views import Views
from mhpc.errors import ConvergenceWarning


class MLCM(MethodParameters):
    """Instances and (source, label) groups that average each other until they agree.

    Vertices are instances i, with label vectors u_i, and groups j = (source, label k), with
    q_j; a_ij is the score with which the source gives the label to i. In turn

        q_j = (sum_i a_ij u_i + alpha e_k) / (sum_i a_ij + alpha),   u_i = mean of its q_j,

    so that sources who group instances alike come to mean the same. Knows no hierarchy. This
    is MLCM-r without cluster predictions.

    All that is learnt are the q_j, (groups, K). Where they settle is one linear system, which
    costs groups^3 / 3 + 2 groups^2 K whatever the number of instances; an iteration towards it
    costs votes x K.
    """

    name: ClassVar[str] = "mlcm"
    summary: ClassVar[str] = "multi-label consensus maximisation, blind to the hierarchy"
    reference: ClassVar[str] = (
        "Xie, Kong, Gao, Fan, Yu: Multilabel Consensus Classification, ICDM 2013, arXiv 1310.4252"
    )

    alpha: Annotated[float, Field(gt=0)] = 2.0
    """How firmly a group holds on to its own label. Solved for at once, no less than 1e-10 of the
    votes of the largest group, where all that share instances mean the same but for rounding."""

    solver: Literal["auto", "exact", "alternate"] = "auto"
    """Solve for where they settle, or average in turn; ``auto``: what costs less and fits."""

    tol: Annotated[float, Field(ge=0)] = 1e-5
    """When averaging in turn, stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1)] = 500
    """Iterations at most."""

    def foreseen(self, size: Size) -> int:
        """Return what vectors of groups take, and their factor where there is one."""
        factor = 8 * size.groups**2
        vectors = 8 * 4 * size.groups * size.labels
        return vectors + (factor if 3 * factor <= memory_budget() else 0)

    def fit(self, parts: Parts, *, progress: Progress = silent) -> "Meanings":
        """Learn what each source means by each label."""
        groups = groups_in(parts)
        if self.solver == "exact" or (self.solver == "auto" and settles_faster(groups)):
            q, trace = self._at_once(parts, groups, progress)
            return Meanings(group=groups.group, q=q, trace=trace, converged=True)
        q, trace = self._in_turn(parts, groups, progress)
        converged = trace[-1].change <= self.tol
        if not converged:
            warnings.warn(
                f"mlcm stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Meanings(group=groups.group, q=q, trace=trace, converged=converged)

    def _at_once(
        self, parts: Parts, groups: Groups, progress: Progress
    ) -> tuple[FloatArray, tuple[Step, ...]]:
        began, own = time.perf_counter(), groups.own
        votes = pass_over(parts, groups, own, own)
        q = settled(parts, groups, alpha=self.alpha, progress=progress)
        found = pass_over(parts, groups, q, q - own)
        return q, (_step(0, votes, votes, found, parts.instances, began),)

    def _in_turn(
        self, parts: Parts, groups: Groups, progress: Progress
    ) -> tuple[FloatArray, tuple[Step, ...]]:
        q = groups.own
        votes = found = pass_over(parts, groups, q, q)
        trace = list[Step]()
        for iteration in range(self.max_iter):
            began, before, earlier = time.perf_counter(), q, found
            q = moved_on(groups, found, alpha=self.alpha)
            found = pass_over(parts, groups, q, q - before)
            trace.append(_step(iteration, votes, earlier, found, parts.instances, began))
            progress("alternating", iteration + 1, self.max_iter)
            if trace[-1].change <= self.tol:
                break
        return q, tuple(trace)


@dataclass(frozen=True, eq=False, kw_only=True)
class Meanings(Fitted):
    """What each source means by each label.

    Attributes
    ----------
    group : int array, (G,)
        The groups that have a member, rising: source x K + label.
    q : float array, (G, K)
        Their label vectors.
    """

    group: IntArray
    q: FloatArray

    def views(self, panel: Panel) -> Views:
        """Return the instances' label vectors; a label new with its source means itself."""
        votes = votes_for(panel, self.group)
        u = np.asarray(votes.by_group @ self.q)
        if not votes.known.all():
            u += dense(votes.without_group)
        return Views(u, u)


def _step(
    iteration: int, votes: Pass, before: Pass, after: Pass, instances: int, began: float
) -> Step:
    change = _ratio(after.moved, before.size)
    spread = _ratio(after.spread(instances), votes.spread(instances))
    return Step(iteration, change, None, spread, time.perf_counter() - began)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
