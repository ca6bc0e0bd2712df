"""Cross-source: every answer is predicted from the other answers to the same instance.

For an answer a, x_a is the weighted mean of the other answers to its instance, with ancestors, and
y_a the answer itself, as given (`specific`) or with ancestors (`closed`). Ridge regression of y on
x needs only sums over all answers (`sum_products`), or one row per answer where answers are few.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.hierarchy import fill_down
from mhpc.data.panel import Panel, PanelPartitions, VotesKind
from mhpc.data.scores import Scores
from mhpc.data.size import Size
from mhpc.errors import pluralize
from mhpc.methods.base import MAX_ANSWERS, BaseMethod
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.source_weights import (
    SourceWeighting,
    SourceWeights,
    apply_weights,
    learn_source_weights,
)
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.numerics.sparse import incidence
from mhpc.parameters import registered

MIN_WEIGHT = 1e-9
"""Weight of the other answers below which there are none: what rounding leaves."""

MIN_RIDGE = 1e-9
"""The ridge where nothing varies, so that there is a solution."""


class CrossSource(BaseMethod):
    """Ridge regression of every answer on the mean of the other answers to the same instance.

    This learns which labels go with which without truth: the others predict each source. Applied to
    the mean of all answers, it predicts the answer of a further source. `specific` predicts labels
    as given, `score` labels with their ancestors, made to decrease from parent to child. Missing
    answers are missing: an answer without others teaches nothing, nor does silence on a label
    outside a source's scope. Costs one K x K linear system, or one of answers x answers if that is
    smaller, K being the labels in use; the sums behind it are sparse products, linear in the number
    of answers.

    If no instance has two answers, there is nothing to learn from, and scores are mean answers.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.CrossSource()).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "cross-source"
    summary: ClassVar[str] = "each source predicted from the others, by ridge regression"
    reference: ClassVar[str] = (
        "Hoerl, Kennard: Ridge Regression, Technometrics 1970; co-training of sources, this package"
    )

    penalty: Annotated[float, Field(gt=0)] = 1.0
    """Ridge penalty, in units of the mean variance of the features."""

    source_weights: SourceWeighting = "equal"
    """Weight all sources equally, or by estimated reliability with correlated sources sharing one
    weight."""

    fill_strength: Annotated[float, Field(ge=0, le=MAX_ANSWERS)] = 0.3
    """How many answers the popularity of the labels below a given label is worth, in `score`."""

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes of the regression between the labels in use, or between the answers."""
        return 8 * 5 * min(size.used_labels, size.answers) * size.used_labels

    def describe_memory(self, size: Size) -> str:
        """Return how many labels are regressed on each other."""
        return f"for a regression between {pluralize(size.used_labels, 'label')}"

    def fit(self, partitions: PanelPartitions) -> "FittedCrossSource":
        """Estimate which labels go with which."""
        weights = learn_source_weights(partitions, self.source_weights)
        popularity, evidence, answers = partitions.sum(
            partial(_count_answers, weights=weights), stage="counting"
        )
        # Labels that only answers of weight 0 contain are not in use.
        used = np.flatnonzero(popularity > 0)
        specific, closed = self._fit_predictors(partitions, weights, used, int(answers))
        if 2 * len(used) > len(popularity):
            # Selecting columns would cost more than multiplying a few zeros.
            specific, closed = (
                extend_predictor(predictor, used, len(popularity))
                for predictor in (specific, closed)
            )
            used = np.arange(len(popularity))
        return FittedCrossSource(
            weights=weights, used=used, specific=specific, closed=closed, popularity=popularity,
            evidence=float(evidence), fill_strength=self.fill_strength, is_probability=True,
        )  # fmt: skip

    def _fit_predictors(
        self,
        partitions: PanelPartitions,
        weights: SourceWeights | None,
        used: IntArray,
        answers: int,
    ) -> "tuple[Predictor | None, Predictor | None]":
        if not len(used):
            return None, None
        if answers < len(used):
            panel = apply_weights(partitions.sample(partitions.instances), weights)
            return fit_from_answers(panel, used, self.penalty)
        sums = partitions.sum(partial(sum_products, weights=weights, used=used), stage="regressing")
        return fit_from_sums(ProductSums(*sums), self.penalty)


@registered("cross-source.predictor")
@dataclass(frozen=True, eq=False)
class Predictor:
    """The linear prediction y = mean_y + (x - mean_x) B."""

    mean_x: FloatArray
    mean_y: FloatArray
    B: FloatArray

    def __call__(self, x: Sparse) -> FloatArray:
        """Return y for every row of x, (n, K)."""
        y = np.asarray(x @ self.B)
        y += self.mean_y - self.mean_x @ self.B
        return y


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedCrossSource(FittedMethod, saved_as="cross-source.fitted"):
    """Predictors of a further answer, for the labels in use.

    Attributes
    ----------
    weights : SourceWeights or None
        How answers are weighted; None: all equally.
    used : int array, (U,)
        The labels in use.
    specific, closed : Predictor or None
        Of labels as given and with their ancestors; None if there was nothing to learn from.
    popularity : float array, (K,)
        The weight of the answers with each label.
    evidence : float
        The weight of all answers.
    fill_strength : float
        As for `CrossSource`.
    """

    weights: SourceWeights | None
    used: IntArray
    specific: Predictor | None
    closed: Predictor | None
    popularity: FloatArray
    evidence: float
    fill_strength: float

    def predict(self, panel: Panel) -> Scores:
        """Return the predicted answer of a further source."""
        panel = apply_weights(panel, self.weights)
        mean = panel.mean("augmented", "answers")
        score = fill_down(
            self._predict_answers(panel, "augmented", mean), panel.evidence, self.popularity,
            panel.taxonomy, strength=self.fill_strength, total=self.evidence,
        )  # fmt: skip
        specific = self._predict_answers(panel, "raw", mean)
        np.maximum(specific, 0.0, out=specific)
        unanswered = panel.answers_per_instance == 0
        score[unanswered], specific[unanswered] = 0.0, 0.0
        return Scores(score, specific)

    def predict_answers(self, panel: Panel, target: VotesKind) -> FloatArray:
        """Return the predicted labels of a further answer to every instance, (N, K)."""
        return self._predict_answers(panel, target, panel.mean("augmented", "answers"))

    def _predict_answers(self, panel: Panel, target: VotesKind, mean: Sparse) -> FloatArray:
        predictor = self.specific if target == "raw" else self.closed
        if predictor is None:
            return dense(panel.mean(target, "answers"))
        if len(self.used) == mean.shape[1]:
            return predictor(mean)
        # Labels that are not in use are predicted to be absent.
        predicted = np.zeros(mean.shape)
        predicted[:, self.used] = predictor(mean[:, self.used])
        return predicted


def extend_predictor(
    predictor: Predictor | None, used: IntArray, n_labels: int
) -> Predictor | None:
    """Return a predictor that takes all labels, and predicts those not in use to be absent."""
    if predictor is None:
        return None
    (mean_x, mean_y), B = np.zeros((2, n_labels)), np.zeros((n_labels, n_labels))
    mean_x[used], mean_y[used] = predictor.mean_x, predictor.mean_y
    B[np.ix_(used, used)] = predictor.B
    return Predictor(mean_x, mean_y, B)


def _count_answers(panel: Panel, *, weights: SourceWeights | None) -> tuple[FloatArray, float, int]:
    panel = apply_weights(panel, weights)
    return panel.popularity, float(panel.evidence.sum()), len(panel.instance)


class ProductSums(NamedTuple):
    """Sums over all answers to instances with other answers, for the U labels in use.

    Attributes
    ----------
    total : float
        The number of these answers.
    x, y_raw, y_augmented : float arrays, (U,)
        Features and both targets.
    asked : float array, (U,)
        The answers that could contain each label.
    xx, xy_raw, xy_augmented, x_asked : float arrays, (U, U)
        Products of the features with themselves, with the targets, and with `asked`.
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


def sum_products(panel: Panel, *, weights: SourceWeights | None, used: IntArray) -> ProductSums:
    """Return the sums over the answers of a panel."""
    panel = apply_weights(panel, weights)
    raw, augmented = panel.raw, panel.augmented
    if len(used) < len(panel.taxonomy):
        raw, augmented = raw[:, used].tocsr(), augmented[:, used].tocsr()
    others = _weight_of_others(panel)
    usable = (others > MIN_WEIGHT).astype(float)
    if panel.scope is not None:
        return _sum_in_scope(panel, usable, raw, augmented, used)
    if panel.weight is None:
        x, xx, xy_raw, xy_augmented = _sum_unweighted(panel, raw, augmented)
    else:
        x, xx, xy_raw, xy_augmented = _sum_weighted(panel, raw, augmented, _invert(others))
    total = float(usable.sum())
    return ProductSums(
        total, x, usable @ raw, usable @ augmented, np.full(len(used), total), xx, xy_raw,
        xy_augmented, np.outer(x, np.ones(len(used))),
    )  # fmt: skip


_Products: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""x, (U,), and xx, xy_raw and xy_augmented, (U, U), as in `ProductSums`."""


def _sum_unweighted(panel: Panel, raw: Sparse, augmented: Sparse) -> _Products:
    """Sum products if all answers have the same weight.

    With S the sum of the n answers to an instance, x = (S - a) / (n - 1), so that all products are
    made of products of S and a, separately for each n that occurs.
    """
    U = raw.shape[1]
    x, (xx, xy_raw, xy_augmented) = np.zeros(U), np.zeros((3, U, U))
    answers = panel.answers_per_instance
    for n in np.unique(answers[answers > 1]):
        rows = answers[panel.instance] == n
        a, y = (augmented, raw) if rows.all() else (augmented[rows], raw[rows])
        S, S_raw = _sum_every(a, n), _sum_every(y, n)
        SS, aa = dense(S.T @ S), dense(a.T @ a)
        x += np.asarray(S.sum(axis=0)).ravel()
        xx += ((n - 2) * SS + aa) / (n - 1) ** 2
        xy_augmented += (SS - aa) / (n - 1)
        xy_raw += (dense(S.T @ S_raw) - dense(a.T @ y)) / (n - 1)
    return x, xx, xy_raw, xy_augmented


def _sum_every(answers: Sparse, n: int) -> Sparse:
    """Return the sums of n consecutive rows each."""
    rows = answers.shape[0]
    group = np.repeat(np.arange(rows // n), n)
    return (incidence(group, shape=(rows // n, rows)) @ answers).tocsr()


def _sum_weighted(panel: Panel, raw: Sparse, augmented: Sparse, inverse: FloatArray) -> _Products:
    """Sum products if answers have weights w: x = (S - w a) / (n - w), `inverse` 1 / (n - w)."""
    own = panel.answer_weights * inverse
    S = _sum_by_instance(panel, panel.answer_weights, augmented)
    x = S.T @ _total_by_instance(panel, inverse) - augmented.T @ own
    xx = dense(S.T @ _scale_rows(S, _total_by_instance(panel, inverse**2)))
    xx += dense(_scale_rows(augmented, own**2).T @ augmented)
    crossed = dense(S.T @ _sum_by_instance(panel, own * inverse, augmented))
    xx -= crossed + crossed.T
    weighted = _scale_rows(augmented, own)
    xy_raw = dense(S.T @ _sum_by_instance(panel, inverse, raw)) - dense(weighted.T @ raw)
    xy_augmented = dense(S.T @ _sum_by_instance(panel, inverse, augmented))
    return x, xx, xy_raw, xy_augmented - dense(weighted.T @ augmented)


def _sum_in_scope(
    panel: Panel, usable: FloatArray, raw: Sparse, augmented: Sparse, used: IntArray
) -> ProductSums:
    X, asked = _features(panel, used)
    X_usable = _scale_rows(X, usable)
    return ProductSums(
        float(usable.sum()), usable @ X, usable @ raw, usable @ augmented, usable @ asked,
        dense(X_usable.T @ X), dense(X_usable.T @ raw), dense(X_usable.T @ augmented),
        dense(X_usable.T @ asked),
    )  # fmt: skip


def fit_from_sums(sums: ProductSums, penalty: float) -> tuple[Predictor | None, Predictor | None]:
    """Return the predictors of labels as given and with ancestors, from one factorization."""
    if sums.total == 0:
        return None, None
    mean_x, asked = sums.x / sums.total, np.maximum(sums.asked, 1e-9)
    G = sums.xx - sums.total * np.outer(mean_x, mean_x)
    G[np.diag_indices_from(G)] += _ridge(G, len(G), penalty)
    mean_y = [y / asked for y in (sums.y_raw, sums.y_augmented)]
    # Products are summed over the answers that could contain the label, and scaled up to all.
    targets = [
        (xy - sums.x_asked * mean) * (sums.total / asked)
        for xy, mean in zip((sums.xy_raw, sums.xy_augmented), mean_y, strict=True)
    ]
    B = np.split(solve_positive_definite(G, np.hstack(targets)), 2, axis=1)
    return Predictor(mean_x, mean_y[0], B[0]), Predictor(mean_x, mean_y[1], B[1])


def fit_from_answers(
    panel: Panel, used: IntArray, penalty: float
) -> tuple[Predictor | None, Predictor | None]:
    """Return the same predictors from the dual system of answers x answers, if those are few."""
    usable = (_weight_of_others(panel) > MIN_WEIGHT).astype(float)
    if not usable.any():
        return None, None
    total = usable.sum()
    X, in_scope = _features(panel, used)
    asked = np.full(len(used), total) if panel.scope is None else usable @ in_scope
    asked = np.maximum(asked, 1e-9)
    mean_x, root = (usable @ X) / total, np.sqrt(usable)[:, None]
    X = root * (dense(X) - mean_x)
    G = X @ X.T
    G[np.diag_indices_from(G)] += _ridge(G, X.shape[1], penalty)
    Y = [panel.votes(kind)[:, used] for kind in ("raw", "augmented")]
    mean_y = [(usable @ y) / asked for y in Y]
    mask = 1.0 if panel.scope is None else dense(in_scope)
    targets = [
        root * (dense(y) - mean) * (total / asked) * mask for y, mean in zip(Y, mean_y, strict=True)
    ]
    B = np.split(X.T @ solve_positive_definite(G, np.hstack(targets)), 2, axis=1)
    return Predictor(mean_x, mean_y[0], B[0]), Predictor(mean_x, mean_y[1], B[1])


def _ridge(G: FloatArray, features: int, penalty: float) -> float:
    return max(penalty * float(np.trace(G)) / features, MIN_RIDGE)


def _features(panel: Panel, used: IntArray) -> tuple[Sparse, Sparse]:
    """Return the mean of the other answers for every answer, and the labels in scope, (A, U)."""
    X = _sum_of_others(panel, panel.augmented)[:, used].tocsr()
    if panel.scope is None:
        in_scope = sparse.csr_array((len(panel.instance), len(used)))
        X = _scale_rows(X, _invert(_weight_of_others(panel)))
    else:
        in_scope = panel.scope[panel.source].tocsr()
        others = _sum_of_others(panel, in_scope)[:, used].tocsr()
        others.data = _invert(others.data)
        X, in_scope = X.multiply(others).tocsr(), in_scope[:, used].tocsr()
    X.data[np.abs(X.data) < 1e-12] = 0.0
    X.eliminate_zeros()
    return X, in_scope


def _weight_of_others(panel: Panel) -> FloatArray:
    """Return the weight of the other answers to the instance of every answer, (A,)."""
    return panel.evidence[panel.instance] - panel.answer_weights


def _sum_of_others(panel: Panel, values: Sparse) -> Sparse:
    """Return the weighted sum of the other answers to the instance of every answer, (A, K)."""
    total = panel.sum_answers(values)[panel.instance]
    return (total - _scale_rows(values, panel.answer_weights)).tocsr()


def _total_by_instance(panel: Panel, values: FloatArray) -> FloatArray:
    total = np.bincount(panel.instance, values, minlength=len(panel.instances))
    return total.astype(np.float64)


def _sum_by_instance(panel: Panel, weight: FloatArray, values: Sparse) -> Sparse:
    """Return the weighted sum of the rows of every instance, (N, K)."""
    shape = (len(panel.instances), len(panel.instance))
    return (incidence(panel.instance, shape=shape, values=weight) @ values).tocsr()


def _scale_rows(matrix: Sparse, factors: FloatArray) -> Sparse:
    return (sparse.diags_array(factors, format="csr") @ matrix).tocsr()


def _invert(weight: FloatArray) -> FloatArray:
    return np.where(weight > MIN_WEIGHT, 1.0 / np.maximum(weight, MIN_WEIGHT), 0.0)
