"""MLCM: multi-label consensus maximisation on the graph of instances and votes."""

import time
import warnings
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
        a, label = _votes_by_group(panel)
        given = np.asarray(a.sum(axis=1)).ravel()
        mean_of_groups = _rows_divided(a, given)
        members_and_own = np.asarray(a.sum(axis=0)).ravel() + self.alpha
        to_groups = _rows_divided(a.T.tocsr(), members_and_own)
        own = _unit_rows(label, len(panel.taxonomy))
        pull = mean_of_groups @ _rows_divided(own, members_and_own / self.alpha)
        u = start = dense(mean_of_groups @ own)
        pull_dense = dense(pull)
        trace: list[Step] = []
        for iteration in range(self.max_iter):
            began = time.perf_counter()
            latest = mean_of_groups @ (to_groups @ u) + pull_dense
            size = float(np.linalg.norm(u))
            change = float(np.linalg.norm(latest - u)) / size if size > 0 else 0.0
            u = latest
            seconds = time.perf_counter() - began
            trace.append(Step(iteration, change, None, _spread(u, start), seconds))
            progress("alternating", iteration + 1, self.max_iter)
            if change < self.tol:
                break
        converged = trace[-1].change < self.tol
        if not converged:
            warnings.warn(
                f"mlcm stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or alpha",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Consolidation(
            taxonomy=panel.taxonomy,
            instances=panel.instances,
            score=u,
            specific=u,
            method=self.name,
            parameters=self.model_dump(),
            trace=tuple(trace),
            converged=converged,
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


def _unit_rows(label: IntArray, labels: int) -> Sparse:
    entries = (np.ones(len(label)), (np.arange(len(label)), label))
    return sparse.csr_array(entries, shape=(len(label), labels))


def _spread(u: FloatArray, start: FloatArray) -> float:
    before = np.linalg.norm(start - start.mean(axis=0))
    return float(np.linalg.norm(u - u.mean(axis=0)) / before) if before > 0 else 0.0
