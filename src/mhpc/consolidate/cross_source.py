"""Cross-source: what each source says, predicted from what the others say."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from mhpc.consolidate.descent import descended
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.voices import Sources, heard
from mhpc.core.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.core.consolidation import Consolidation
from mhpc.core.panel import Panel, VotesKind
from mhpc.core.progress import Progress, silent

_NOBODY = 1e-9
"""Weight of the other answers below which there are none: what rounding leaves."""


class CrossSource(MethodParameters):
    """Ridge regression of every answer on the mean of the other answers to the same instance.

    What is learnt, which labels go with which, needs no truth: each source is the others' target.
    Applied to the mean of all answers it gives what a further source would say. `specific`
    predicts labels as said, `score` labels with their ancestors, made to fall from parent to
    child. Missing answers are missing: an answer without others teaches nothing, nor does silence
    on a label out of a source's scope. One K x K system,
    or one of answers x answers where that is smaller, K being the labels that anyone said; the
    sums behind it are sparse products, linear in the answers.

    Where no instance has two answers there is nothing to learn from, and mean answers are given.
    """

    name: ClassVar[str] = "cross-source"
    summary: ClassVar[str] = "each source predicted from the others, by ridge regression"
    reference: ClassVar[str] = (
        "Hoerl, Kennard: Ridge Regression, Technometrics 1970; co-training of sources, this package"
    )

    penalty: Annotated[float, Field(gt=0)] = 1.0
    """Ridge penalty, in units of the mean variance of what is regressed on."""

    sources: Sources = "equal"
    """Count all sources alike, or by skill, kin sharing a voice."""

    fill: Annotated[float, Field(ge=0)] = 0.3
    """How many answers it is worth that labels below one that was said are as popular as
    elsewhere, in `score`."""

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return what a further source would say."""
        panel = heard(panel) if self.sources == "independent" else panel
        answered = panel.answers_per_instance > 0
        progress("regressing", 0, 2)
        specific = np.maximum(predicted(panel, "raw", penalty=self.penalty), 0.0)
        progress("regressing", 1, 2)
        closed = predicted(panel, "augmented", penalty=self.penalty)
        score = descended(
            closed, panel.evidence, panel.popularity, panel.taxonomy, strength=self.fill
        )
        progress("regressing", 2, 2)
        return self.conclude(panel, score * answered[:, None], specific * answered[:, None])


def predicted(panel: Panel, target: VotesKind, *, penalty: float) -> FloatArray:
    """Return what a further answer to every instance would hold, (N, K)."""
    mean = dense(panel.mean("augmented", "answers"))
    used = np.flatnonzero(panel.occurrences > 0)
    equations = _equations(panel, target, used)
    if not len(used) or not equations.use.any():
        return dense(panel.mean(target, "answers"))
    result = np.zeros_like(mean)
    result[:, used] = equations.mean_y + (mean[:, used] - equations.mean_x) @ equations.solved(
        penalty
    )
    return result


@dataclass(frozen=True, eq=False)
class _Equations:
    """Answers as targets Y, (A, K), and the mean of the others' as features X, (A, K), sparse.

    `asked` has ones where an answer could have held a label; None where all could hold all.
    """

    X: Sparse
    Y: Sparse
    use: FloatArray
    asked: Sparse | None = None

    @property
    def mean_x(self) -> FloatArray:
        return np.asarray((self.use @ self.X).ravel() / self.use.sum())

    @property
    def mean_y(self) -> FloatArray:
        return np.asarray((self.use @ self.Y).ravel() / self.trials)

    @property
    def trials(self) -> FloatArray:
        """How many answers could have held each label, (K,)."""
        if self.asked is None:
            return np.full(int(self.Y.shape[1]), float(self.use.sum()))
        return np.asarray(np.maximum((self.use @ self.asked).ravel(), 1e-9))

    def solved(self, penalty: float) -> FloatArray:
        """Return the coefficients, (K, K), from the smaller of the two systems."""
        rows, K = self.X.shape
        return self._primal(penalty) if rows >= K else self._dual(penalty)

    def _primal(self, penalty: float) -> FloatArray:
        total = self.use.sum()
        weighed = (sparse.diags_array(self.use, format="csr") @ self.X).tocsr()
        G = dense(weighed.T @ self.X) - total * np.outer(self.mean_x, self.mean_x)
        over = np.outer(total * self.mean_x, np.ones(len(G)))
        if self.asked is not None:
            over = dense(weighed.T @ self.asked)
        # Products are summed over the answers that could hold the label, and scaled up to all.
        R = (dense(weighed.T @ self.Y) - over * self.mean_y) * (total / self.trials)
        G[np.diag_indices_from(G)] += _ridge(G, len(G), penalty)
        return np.asarray(cho_solve(cho_factor(G, lower=True), R))

    def _dual(self, penalty: float) -> FloatArray:
        root = np.sqrt(self.use)[:, None]
        X = root * (dense(self.X) - self.mean_x)
        Y = root * (dense(self.Y) - self.mean_y) * (self.use.sum() / self.trials)
        if self.asked is not None:
            Y *= dense(self.asked)
        G = X @ X.T
        G[np.diag_indices_from(G)] += _ridge(G, X.shape[1], penalty)
        return np.asarray(X.T @ cho_solve(cho_factor(G, lower=True), Y))


def _ridge(G: FloatArray, features: int, penalty: float) -> float:
    """Return the penalty; a little even where nothing varies, so that there is a solution."""
    return max(penalty * float(np.trace(G)) / features, 1e-9)


def _equations(panel: Panel, target: VotesKind, used: IntArray) -> _Equations:
    """Set every answer against the weighted mean of the others on its instance."""
    weight = np.ones(len(panel.instance)) if panel.weight is None else panel.weight
    rest = panel.evidence[panel.instance] - weight
    X = _of_others(panel, panel.augmented, weight)[:, used].tocsr()
    asked = None
    if panel.scope is None:
        X = (sparse.diags_array(_inverse(rest), format="csr") @ X).tocsr()
    else:
        asked = panel.scope[panel.source].tocsr()
        heard_by = _of_others(panel, asked, weight)[:, used].tocsr()
        heard_by.data = _inverse(heard_by.data)
        X, asked = X.multiply(heard_by).tocsr(), asked[:, used].tocsr()
    X.data[np.abs(X.data) < 1e-12] = 0.0
    X.eliminate_zeros()
    use = (rest > _NOBODY).astype(float)
    return _Equations(X, panel.votes(target)[:, used].tocsr(), use, asked)


def _of_others(panel: Panel, values: Sparse, weight: FloatArray) -> Sparse:
    """Return, for every answer, the weighted sum over the others to its instance, (A, K)."""
    own = sparse.diags_array(weight, format="csr") @ values
    return (panel.summed(values)[panel.instance] - own).tocsr()


def _inverse(rest: FloatArray) -> FloatArray:
    return np.where(rest > _NOBODY, 1.0 / np.maximum(rest, _NOBODY), 0.0)
