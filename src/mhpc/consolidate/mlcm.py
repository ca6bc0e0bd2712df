"""MLCM: multi-label consensus maximisation on the graph of instances and votes."""

import time
import warnings
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.consolidate.method import MethodParameters
from mhpc.core.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.core.consolidation import Consolidation, Step
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress, silent
from mhpc.errors import ConvergenceWarning


class MLCM(MethodParameters):
    """Instances and (source, label) groups that average each other until they agree.

    Vertices are instances i, with label vectors u_i, and groups j = (source, label k), with
    q_j; a_ij is the score with which the source gives the label to i. In turn

        q_j = (sum_i a_ij u_i + alpha e_k) / (sum_i a_ij + alpha),   u_i = mean of its q_j,

    so that sources who group instances alike come to mean the same. Knows no hierarchy. This
    is MLCM-r without cluster predictions. Each iteration costs votes x K.
    """

    name: ClassVar[str] = "mlcm"
    summary: ClassVar[str] = "multi-label consensus maximisation, blind to the hierarchy"
    reference: ClassVar[str] = (
        "Xie, Kong, Gao, Fan, Yu: Multilabel Consensus Classification, ICDM 2013, arXiv 1310.4252"
    )

    alpha: Annotated[float, Field(gt=0)] = 2.0
    """How firmly a group holds on to its own label."""

    tol: Annotated[float, Field(ge=0)] = 1e-5
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1)] = 500
    """Iterations at most."""

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the instances' label vectors."""
        update = _update(panel, self.alpha)
        u, trace = update.start, list[Step]()
        for iteration in range(self.max_iter):
            began = time.perf_counter()
            before, u = u, update(u)
            change = _ratio(u - before, before)
            spread = _ratio(u - u.mean(axis=0), update.start - update.start.mean(axis=0))
            trace.append(Step(iteration, change, None, spread, time.perf_counter() - began))
            progress("alternating", iteration + 1, self.max_iter)
            if change <= self.tol:
                break
        converged = trace[-1].change <= self.tol
        if not converged:
            warnings.warn(
                f"mlcm stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self.conclude(panel, u, trace=tuple(trace), converged=converged)


@dataclass(frozen=True, eq=False)
class _Update:
    """Both updates as one: u becomes to_instances (to_groups u) + pull.

    `pull` is what the groups' own labels contribute, and `start` the instances' vectors when
    groups mean nothing but their own label.
    """

    to_groups: Sparse
    to_instances: Sparse
    pull: FloatArray
    start: FloatArray

    def __call__(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.to_instances @ (self.to_groups @ u) + self.pull)


def _update(panel: Panel, alpha: float) -> _Update:
    a, label = _votes_by_group(panel)
    weight = np.asarray(a.sum(axis=0)).ravel() + alpha
    to_instances = _rows_divided(a, np.asarray(a.sum(axis=1)).ravel())
    own = sparse.csr_array(
        (np.ones(len(label)), (np.arange(len(label)), label)),
        shape=(len(label), len(panel.taxonomy)),
    )
    return _Update(
        to_groups=_rows_divided(a.T.tocsr(), weight),
        to_instances=to_instances,
        pull=dense(to_instances @ _rows_divided(own, weight / alpha)),
        start=dense(to_instances @ own),
    )


def _votes_by_group(panel: Panel) -> tuple[Sparse, IntArray]:
    """Return a, (N, groups that have a member), and the label of each group."""
    votes = panel.raw.tocoo()
    group = panel.source[votes.row] * len(panel.taxonomy) + votes.col
    groups, column = np.unique(group, return_inverse=True)
    entries = (votes.data, (panel.instance[votes.row], column))
    shape = (len(panel.instances), len(groups))
    return sparse.csr_array(entries, shape=shape), groups % len(panel.taxonomy)


def _rows_divided(matrix: Sparse, divisor: FloatArray) -> Sparse:
    """Divide every row, leaving empty ones empty."""
    inverse = np.divide(1.0, divisor, out=np.zeros_like(divisor), where=divisor > 0)
    return (sparse.diags_array(inverse, format="csr") @ matrix).tocsr()


def _ratio(part: FloatArray, whole: FloatArray) -> float:
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(part)) / size if size > 0 else 0.0
