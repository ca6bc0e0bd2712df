"""CrossSource: ridge regression of each source on the others.

x_a: the mean of the other answers, with ancestors. y_a: the answer, as said and with ancestors.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.hierarchy import fill_down
from mhpc.data.panel import Panel, PanelPartitions, Size, VotesKind
from mhpc.data.scores import Scores
from mhpc.errors import pluralize
from mhpc.methods.base import BaseMethod, FittedMethod
from mhpc.methods.source_weights import (
    SourceWeighting,
    SourceWeights,
    apply_weights,
    learn_source_weights,
)
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.parameters import registered

_NOBODY = 1e-9
"""Weight of the other answers below which there are none: what rounding leaves."""


@registered("cross-source.predictor")
@dataclass(frozen=True, eq=False)
class Predictor:
    """y = mean_y + (x - mean_x) B."""

    mean_x: FloatArray
    mean_y: FloatArray
    B: FloatArray

    def __call__(self, x: Sparse) -> FloatArray:
        """Return what is predicted from x, (n, K) each; few of its labels are not 0."""
        found = np.asarray(x @ self.B)
        found += self.mean_y - self.mean_x @ self.B
        return found


def over_all(predictor: Predictor | None, used: IntArray, labels: int) -> Predictor | None:
    """Return a predictor that also takes labels that nobody said, and predicts nothing of them."""
    if predictor is None:
        return None
    (mean_x, mean_y), B = np.zeros((2, labels)), np.zeros((labels, labels))
    mean_x[used], mean_y[used] = predictor.mean_x, predictor.mean_y
    B[np.ix_(used, used)] = predictor.B
    return Predictor(mean_x, mean_y, B)


Matrices: TypeAlias = tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray,
                             FloatArray, FloatArray, FloatArray]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over all answers that have others beside them, x being the mean of these.

    Attributes
    ----------
    total : float
        How many such answers.
    x, y_raw, y_augmented : float arrays, (K,)
        Sums of features and of targets.
    asked : float array, (K,)
        How many could have held each label.
    xx, xy_raw, xy_augmented, x_asked : float arrays, (K, K)
        Products of features with features, targets, and with who could have held what.
    """

    total: float
    x: FloatArray
    y_raw: FloatArray
    y_augmented: FloatArray
    asked: FloatArray
    xx: FloatArray
    xy_raw: FloatArray
    xy_augmented: FloatArray
    x_asked: FloatArray


def summed(panel: Panel, *, heard: SourceWeights | None, used: IntArray) -> Matrices:
    """Return the entries of `Sums` over the answers of a panel, for the labels in use."""
    panel = apply_weights(panel, heard)
    raw, augmented = (panel.votes(kind)[:, used].tocsr() for kind in ("raw", "augmented"))
    rest = panel.evidence[panel.instance] - _weights(panel)
    use = (rest > _NOBODY).astype(float)
    if panel.scope is not None:
        return _in_scope(panel, use, raw, augmented, used)
    if panel.weight is None:
        x, xx, xy_raw, xy_augmented = _products(panel, raw, augmented)
    else:
        x, xx, xy_raw, xy_augmented = _weighted_products(panel, raw, augmented, _inverse(rest))
    total = float(use.sum())
    return (
        total, x, use @ raw, use @ augmented, np.full(len(used), total), xx, xy_raw, xy_augmented,
        np.outer(x, np.ones(len(used))),
    )  # fmt: skip


_Products: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Sum of x, (K,); products of x with itself, with answers as said and with ancestors, (K, K)."""


def _products(panel: Panel, raw: Sparse, augmented: Sparse) -> _Products:
    """Sum up where all answers count alike.

    x = (S - a) / (n - 1), S being the sum over the n answers to an instance; so that all products
    are those of S and of a, and the few numbers of answers that there are tell how many of each.
    """
    K = raw.shape[1]
    x, (xx, xy_raw, xy_augmented) = np.zeros(K), np.zeros((3, K, K))
    answers = panel.answers_per_instance
    for n in np.unique(answers[answers > 1]):
        some = answers[panel.instance] == n
        a, y = (augmented, raw) if some.all() else (augmented[some], raw[some])
        S, S_raw = _sums_of(a, n), _sums_of(y, n)
        SS, aa = dense(S.T @ S), dense(a.T @ a)
        x += np.asarray(S.sum(axis=0)).ravel()
        xx += ((n - 2) * SS + aa) / (n - 1) ** 2
        xy_augmented += (SS - aa) / (n - 1)
        xy_raw += (dense(S.T @ S_raw) - dense(a.T @ y)) / (n - 1)
    return x, xx, xy_raw, xy_augmented


def _sums_of(answers: Sparse, n: int) -> Sparse:
    """Return the sum of every n rows that follow each other."""
    rows = answers.shape[0]
    entries = (np.ones(rows), (np.repeat(np.arange(rows // n), n), np.arange(rows)))
    return (sparse.csr_array(entries, shape=(rows // n, rows)) @ answers).tocsr()


def _weighted_products(panel: Panel, raw: Sparse, augmented: Sparse, once: FloatArray) -> _Products:
    """Sum up where answers count by their weight: x = (S - w a) / (n - w), `once` 1 / (n - w)."""
    own = _weights(panel) * once
    S = _gathered(panel, _weights(panel), augmented)
    x = S.T @ _by_instance(panel, once) - augmented.T @ own
    xx = dense(S.T @ _scaled(S, _by_instance(panel, once**2)))
    xx += dense(_scaled(augmented, own**2).T @ augmented)
    crossed = dense(S.T @ _gathered(panel, own * once, augmented))
    xx -= crossed + crossed.T
    weighed = _scaled(augmented, own)
    xy_raw = dense(S.T @ _gathered(panel, once, raw)) - dense(weighed.T @ raw)
    xy_augmented = dense(S.T @ _gathered(panel, once, augmented))
    return x, xx, xy_raw, xy_augmented - dense(weighed.T @ augmented)


def _in_scope(
    panel: Panel, use: FloatArray, raw: Sparse, augmented: Sparse, used: IntArray
) -> Matrices:
    X, asked = _features(panel, used)
    weighed = _scaled(X, use)
    return (
        float(use.sum()), use @ X, use @ raw, use @ augmented, use @ asked, dense(weighed.T @ X),
        dense(weighed.T @ raw), dense(weighed.T @ augmented), dense(weighed.T @ asked),
    )  # fmt: skip


def from_sums(sums: Sums, penalty: float) -> tuple[Predictor | None, Predictor | None]:
    """Return predictors of labels as said and with their ancestors, from one factor."""
    if sums.total == 0:
        return None, None
    mean_x, trials = sums.x / sums.total, np.maximum(sums.asked, 1e-9)
    G = sums.xx - sums.total * np.outer(mean_x, mean_x)
    G[np.diag_indices_from(G)] += _ridge(G, len(G), penalty)
    mean_y = [y / trials for y in (sums.y_raw, sums.y_augmented)]
    # Products are summed over the answers that could hold the label, and scaled up to all.
    R = [
        (xy - sums.x_asked * mean) * (sums.total / trials)
        for xy, mean in zip((sums.xy_raw, sums.xy_augmented), mean_y, strict=True)
    ]
    B = np.split(solve_positive_definite(G, np.hstack(R)), 2, axis=1)
    return Predictor(mean_x, mean_y[0], B[0]), Predictor(mean_x, mean_y[1], B[1])


def from_answers(
    panel: Panel, used: IntArray, penalty: float
) -> tuple[Predictor | None, Predictor | None]:
    """Return the same predictors from a system of answers by answers, where those are few."""
    use = (panel.evidence[panel.instance] - _weights(panel) > _NOBODY).astype(float)
    if not use.any():
        return None, None
    total = use.sum()
    X, asked = _features(panel, used)
    trials = np.full(len(used), total) if panel.scope is None else use @ asked
    trials = np.maximum(trials, 1e-9)
    mean_x, root = (use @ X) / total, np.sqrt(use)[:, None]
    X = root * (dense(X) - mean_x)
    G = X @ X.T
    G[np.diag_indices_from(G)] += _ridge(G, X.shape[1], penalty)
    Y = [panel.votes(kind)[:, used] for kind in ("raw", "augmented")]
    mean_y = [(use @ y) / trials for y in Y]
    could = 1.0 if panel.scope is None else dense(asked)
    target = [
        root * (dense(y) - mean) * (total / trials) * could
        for y, mean in zip(Y, mean_y, strict=True)
    ]
    B = np.split(X.T @ solve_positive_definite(G, np.hstack(target)), 2, axis=1)
    return Predictor(mean_x, mean_y[0], B[0]), Predictor(mean_x, mean_y[1], B[1])


def _ridge(G: FloatArray, features: int, penalty: float) -> float:
    """Return the penalty; a little even where nothing varies, so that there is a solution."""
    return max(penalty * float(np.trace(G)) / features, 1e-9)


def _features(panel: Panel, used: IntArray) -> tuple[Sparse, Sparse]:
    """Return the weighted mean of the others for every answer, and what it could hold, (A, K)."""
    weight = _weights(panel)
    rest = panel.evidence[panel.instance] - weight
    X = _of_others(panel, panel.augmented, weight)[:, used].tocsr()
    if panel.scope is None:
        asked = sparse.csr_array((len(panel.instance), len(used)))
        X = _scaled(X, _inverse(rest))
    else:
        asked = panel.scope[panel.source].tocsr()
        heard_by = _of_others(panel, asked, weight)[:, used].tocsr()
        heard_by.data = _inverse(heard_by.data)
        X, asked = X.multiply(heard_by).tocsr(), asked[:, used].tocsr()
    X.data[np.abs(X.data) < 1e-12] = 0.0
    X.eliminate_zeros()
    return X, asked


def _of_others(panel: Panel, values: Sparse, weight: FloatArray) -> Sparse:
    """Return, for every answer, the weighted sum over the others to its instance, (A, K)."""
    return (panel.sum_answers(values)[panel.instance] - _scaled(values, weight)).tocsr()


def _weights(panel: Panel) -> FloatArray:
    return np.ones(len(panel.instance)) if panel.weight is None else panel.weight


def _by_instance(panel: Panel, values: FloatArray) -> FloatArray:
    total = np.bincount(panel.instance, values, minlength=len(panel.instances))
    return total.astype(np.float64)


def _gathered(panel: Panel, weight: FloatArray, values: Sparse) -> Sparse:
    """Return the sum of weighted answers over every instance, (N, K)."""
    A = len(panel.instance)
    entries = (weight, (panel.instance, np.arange(A)))
    return (sparse.csr_array(entries, shape=(len(panel.instances), A)) @ values).tocsr()


def _scaled(matrix: Sparse, by: FloatArray) -> Sparse:
    return (sparse.diags_array(by, format="csr") @ matrix).tocsr()


def _inverse(rest: FloatArray) -> FloatArray:
    return np.where(rest > _NOBODY, 1.0 / np.maximum(rest, _NOBODY), 0.0)


class CrossSource(BaseMethod):
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

    source_weights: SourceWeighting = "equal"
    """Count all sources alike, or by skill, kin sharing a voice."""

    fill_strength: Annotated[float, Field(ge=0)] = 0.3
    """How many answers it is worth that labels below one that was said are as popular as
    elsewhere, in `score`."""

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes of the regression between the labels in use, or between the answers."""
        return 8 * 5 * min(size.used_labels, size.answers) * size.used_labels

    def describe_memory(self, size: Size) -> str:
        """Return how many labels are regressed on each other."""
        return f"for a regression between {pluralize(size.used_labels, 'label')}"

    def fit(self, parts: PanelPartitions) -> "FittedCrossSource":
        """Learn which labels go with which."""
        heard = learn_source_weights(parts, self.source_weights)
        popularity, evidence, answers = parts.sum(partial(_counted, heard=heard), stage="counting")
        # Who is heard at no weight at all may still have said a label.
        used = np.flatnonzero(popularity > 0)
        specific, closed = self._predictors(parts, heard, used, int(answers))
        if 2 * len(used) > len(popularity):
            # Picking columns costs more than multiplying some zeros.
            specific, closed = (
                over_all(each, used, len(popularity)) for each in (specific, closed)
            )
            used = np.arange(len(popularity))
        return FittedCrossSource(
            heard=heard, used=used, specific=specific, closed=closed, popularity=popularity,
            evidence=float(evidence), fill=self.fill_strength, is_probability=True,
        )  # fmt: skip

    def _predictors(
        self,
        parts: PanelPartitions,
        heard: SourceWeights | None,
        used: IntArray,
        answers: int,
    ) -> tuple[Predictor | None, Predictor | None]:
        if not len(used):
            return None, None
        if answers < len(used):
            return from_answers(
                apply_weights(parts.sample(parts.instances), heard), used, self.penalty
            )
        sums = parts.sum(partial(summed, heard=heard, used=used), stage="regressing")
        return from_sums(Sums(*sums), self.penalty)


@registered("cross-source.fitted")
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedCrossSource(FittedMethod):
    """What a further answer would hold, by the labels of those that there are."""

    heard: SourceWeights | None
    used: IntArray
    specific: Predictor | None
    closed: Predictor | None
    popularity: FloatArray
    evidence: float
    fill: float

    def predict(self, panel: Panel) -> Scores:
        """Return what a further source would say."""
        panel = apply_weights(panel, self.heard)
        score = fill_down(
            self.predicted(panel, "augmented"), panel.evidence, self.popularity, panel.taxonomy,
            strength=self.fill, total=self.evidence,
        )  # fmt: skip
        specific = self.predicted(panel, "raw")
        np.maximum(specific, 0.0, out=specific)
        silent = panel.answers_per_instance == 0
        score[silent], specific[silent] = 0.0, 0.0
        return Scores(score, specific)

    def predicted(self, panel: Panel, target: VotesKind) -> FloatArray:
        """Return what a further answer to every instance would hold, (N, K)."""
        predictor = self.specific if target == "raw" else self.closed
        if predictor is None:
            return dense(panel.mean(target, "answers"))
        mean = panel.mean("augmented", "answers")
        if len(self.used) == mean.shape[1]:
            return predictor(mean)
        # Nothing is predicted of labels that nobody said.
        found = np.zeros(mean.shape)
        found[:, self.used] = predictor(mean[:, self.used])
        return found


def _counted(panel: Panel, *, heard: SourceWeights | None) -> tuple[FloatArray, float, int]:
    panel = apply_weights(panel, heard)
    return panel.popularity, float(panel.evidence.sum()), len(panel.instance)
