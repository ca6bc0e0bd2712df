"""ExpectedF: the label sets with the highest expected hierarchical F."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from mhpc.data.decision import FittedRule
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import row_indices
from mhpc.parameters import registered
from mhpc.rules.base import FittedThreshold, Rule, close_under_ancestors, cost_of_missing
from mhpc.rules.probability import (
    IDENTITY,
    ROUNDING,
    ProbabilityScale,
    ScoreHistogram,
    count_scores,
    fit_scale,
)

_F_ROUNDING = 1e-9
"""Values of F whose relative difference is smaller differ by rounding only."""

_TINY = 1e-300

_LEAST = 1e-6
"""Probabilities closer to 0 and 1 have no finite log odds worth the name."""

_NO_LABELS = (1.0, 0.0)
"""Threshold and F where no answer contains a label."""


class ExpectedF(Rule):
    """Choose the closed sets S with the highest expected hierarchical F.

    With p the probability of a label and c the cost of missing one, ::

        F(S) ~ (1 + c) * sum of p in S / (|S| + c * sum of all p),    c = 2^depth_bias,

    over all instances together, as hierarchical F is defined (Kiritchenko, Matwin, Nock, Famili
    2006), or for each instance on its own. p is the score if the method gives probabilities, else
    the score on a scale on which as many labels are expected as sources give
    (`mhpc.rules.probability`).

    p never increases from parent to child, so the best sets of any size are the top of the
    ranking, on trees and DAGs alike: the labels whose p is above F / (1 + c). These sets have the
    highest F as written, exactly. The approximation is that a ratio of expectations stands for the
    expectation of a ratio; over many instances the two agree. Plaud and others
    (arXiv 2506.01552, ICML 2025) decode other metrics of hierarchies in the same spirit.

    Over all instances there is one threshold, found on a sample, and an instance without a label
    above it gets none. For each instance the threshold follows from its own F, at about two
    comparisons per score; it gets no label if the probability that nothing applies, with roots
    taken as independent, is above c times the F (with c = 1) of its best set.

    Probabilities that were calibrated on a few gold labels are uncertain. The threshold is then
    that with the highest F by the probabilities without gold, unless another has a higher F by all
    calibrations that gold leaves plausible; of those, it is the one that gains most at worst.

    A larger depth bias never removes a label. If all answers are "none of these", all sets are
    empty, whatever the scores.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> rule = mhpc.ExpectedF(depth_bias=1)
    >>> mhpc.consolidate(votes, taxonomy, method="majority", rule=rule).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "expected-f"

    over: Literal["all", "each"] = "all"
    """Whether to maximize the F of all instances together, or of each one."""

    def fit(self, consolidation: Consolidation, *, labels_per_answer: float) -> FittedRule:
        """Fit the probability scale and, over all instances, the threshold."""
        histogram = count_scores(consolidation)
        scale = IDENTITY
        if not consolidation.is_probability:
            scale = fit_scale(histogram, labels_per_instance=labels_per_answer)
        if self.over == "each":
            return FittedExpectedF(scale, self.depth_bias)
        threshold, expected_f = _NO_LABELS
        if labels_per_answer:
            cost, combination = cost_of_missing(self.depth_bias), consolidation.combination
            plausible = combination.gold.plausible if combination and combination.gold else ()
            threshold, expected_f = _best_threshold(histogram, scale, cost, plausible)
        details = {"depth_bias": self.depth_bias, "power": scale.power, "expected_f": expected_f}
        return FittedThreshold(threshold, "expected-f", self.name, details)


def _best_threshold(
    histogram: ScoreHistogram,
    scale: ProbabilityScale,
    cost: float,
    plausible: tuple[tuple[float, float], ...] = (),
) -> tuple[float, float]:
    """Return the lowest score in the best sets, the smallest ones in a tie, and their F.

    `plausible` is that of `GoldCalibration`.
    """
    if not len(histogram.score):
        return _NO_LABELS
    p = scale.transform(histogram.score)
    f = _expected_f(p, histogram, cost)
    if plausible:
        curves = [_expected_f(_transform(p, *each), histogram, cost) for each in plausible]
        best = _find_safe_gain(curves)
    else:
        best = _find_first_best(f)
    return float(histogram.score[best]) * (1 - ROUNDING), float(f[best])


def _expected_f(p: FloatArray, histogram: ScoreHistogram, cost: float) -> FloatArray:
    """Return F if all labels down to each score of the histogram are given."""
    expected_true, n_given = np.cumsum(p * histogram.count), np.cumsum(histogram.count)
    return np.asarray((1 + cost) * expected_true / (n_given + cost * expected_true[-1]))


def _transform(p: FloatArray, slope: float, shift: float) -> FloatArray:
    return np.asarray(expit(slope * logit(np.clip(p, _LEAST, 1 - _LEAST)) + shift))


def _find_safe_gain(curves: list[FloatArray]) -> int:
    """Return where F exceeds most, on the worst of all other curves, that at the first's best."""
    start = _find_first_best(curves[0])
    gain = np.min([f - f[start] for f in curves[1:]], axis=0)
    return int(np.argmax(gain)) if gain.max() > _F_ROUNDING else start


def _find_first_best(f: FloatArray) -> int:
    return int(np.argmax(f >= f.max() * (1 - _F_ROUNDING)))


@registered("expected-f.fitted")
@dataclass(frozen=True)
class FittedExpectedF:
    """The set with the highest expected F for each instance on its own.

    Attributes
    ----------
    scale : ProbabilityScale
        From scores to probabilities.
    depth_bias : float
        As in `Rule`.
    """

    scale: ProbabilityScale
    depth_bias: float
    rule: str = ExpectedF.name

    @property
    def parameters(self) -> dict[str, Any]:
        """What F is maximized over, the bias and the power of the scale."""
        return {"over": "each", "depth_bias": self.depth_bias, "power": self.scale.power}

    def decide(self, score: Block, specific: Block, taxonomy: Taxonomy) -> Sparse:
        """Return the labels above the threshold of each instance, with their ancestors."""
        p = sparse.csr_array(self.scale.probabilities(score, taxonomy))
        p.eliminate_zeros()
        cost = cost_of_missing(self.depth_bias)
        unbiased_f, _ = _maximize_f(p, 1.0)
        _, in_set = _maximize_f(p, cost)
        row = row_indices(p)[in_set]
        worth_giving = _no_label_applies(p, taxonomy)[row] <= cost * unbiased_f[row]
        cells = (row[worth_giving], p.indices[in_set[worth_giving]])
        ones = np.ones(len(cells[0]), dtype=np.int16)
        return close_under_ancestors(sparse.csr_array((ones, cells), shape=p.shape), taxonomy)


def _maximize_f(p: Sparse, cost: float) -> tuple[FloatArray, IntArray]:
    """Return the highest F of every row, and which entries are in the set that has it.

    Dinkelbach's iteration: the labels above F / (1 + cost) have a higher F, unless F is the
    highest. F only increases, so that labels below the threshold never come back.
    """
    n_rows = p.shape[0]
    row, in_set = row_indices(p), np.arange(p.nnz)
    weighted_sum = cost * np.bincount(row, p.data, n_rows)
    while True:
        expected_true = np.bincount(row, p.data[in_set], n_rows)
        n_given = np.bincount(row, minlength=n_rows)
        # A row without scores has neither, and F = 0.
        f = (1 + cost) * expected_true / np.maximum(n_given + weighted_sum, _TINY)
        is_above = p.data[in_set] > (f * (1 + _F_ROUNDING) / (1 + cost))[row]
        if is_above.all():
            return f, in_set
        row, in_set = row[is_above], in_set[is_above]


def _no_label_applies(p: Sparse, taxonomy: Taxonomy) -> FloatArray:
    """Return the probability that no root applies, roots taken as independent, (n,)."""
    roots = p[:, taxonomy.roots].tocsr()
    with np.errstate(divide="ignore"):
        roots.data = np.log1p(-roots.data)
    return np.asarray(np.exp(np.asarray(roots.sum(axis=1)).ravel()))
