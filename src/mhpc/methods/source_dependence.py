"""The skill of sources and the dependence between them, estimated from their answers alone.

R_mn is the correlation of the answers of two sources. Independent sources with the skills a_m and
a_n correlate by R_mn = a_m a_n. What two sources correlate beyond that, as a share of the most that
is possible, is their dependence: 1 for copies, 0 for independent sources. No truth is needed, and
gold labels are not the answers of a source: they have no part in it.
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition, drop_gold
from mhpc.data.profiles import SourceDependence, independent_sources
from mhpc.numerics.arrays import FloatArray, Sparse, dense
from mhpc.numerics.sparse import incidence

MAX_SOURCES = 3000
"""With more sources there are too many pairs, and a pair has too few instances in common."""

ENOUGH_COMMON = 5000
"""Instances in common from which on a correlation is known well enough, to about 0.01."""

MIN_SKILL, MAX_SKILL = 0.01, 0.99
"""Limits of a skill; at 0 and 1 correlations carry no information."""

MAX_ITER = 200
TOL = 1e-4
"""The change of skills and independence at which their estimation stops."""

Result = TypeVar("Result")


def once_per_panel(
    compute: Callable[[PanelPartitions], Result],
) -> Callable[[PanelPartitions], Result]:
    """Let a function keep its result for every panel, as long as the panel exists."""
    results: WeakKeyDictionary[object, Result] = WeakKeyDictionary()

    @wraps(compute)
    def compute_once(partitions: PanelPartitions) -> Result:
        panel = partitions.panel if isinstance(partitions, SinglePartition) else partitions
        if panel not in results:
            results[panel] = compute(partitions)
        return results[panel]

    return compute_once


@once_per_panel
def estimate_dependence(partitions: PanelPartitions) -> SourceDependence:
    """Return the skill and dependence of the sources, computed once per panel.

    Source profiles, cross-validation and every method with learned source weights need them.
    """
    return explain_correlations(find_correlations(partitions), len(partitions.sources))


@once_per_panel
def find_correlations(partitions: PanelPartitions) -> tuple[FloatArray, FloatArray] | None:
    """Return `correlate_partitions` with its default limits, computed once per panel."""
    return correlate_partitions(partitions)


def panel_dependence(panel: Panel) -> SourceDependence:
    """Return `estimate_dependence` of a panel."""
    return estimate_dependence(SinglePartition(panel))


def explain_correlations(
    correlations: tuple[FloatArray, FloatArray] | None, n_sources: int
) -> SourceDependence:
    """Return the skill and dependence of all sources, of which some may have no answers.

    Parameters
    ----------
    correlations : pair of float arrays, (M, M), or None
        What `correlate_partitions` returns; None: all sources are independent.
    n_sources : int
        M.
    """
    if correlations is None:
        return independent_sources(n_sources)
    R, common = correlations
    active = np.flatnonzero(common.diagonal())
    # A source without answers has no skill; it must not enter the mean that others shrink to.
    fitted = fit_dependence(R[np.ix_(active, active)], common[np.ix_(active, active)])
    skill = np.ones(n_sources)
    skill[active] = fitted.skill
    matrix = fitted.matrix.tocoo()
    rows, columns = active[matrix.row], active[matrix.col]
    shape = (n_sources, n_sources)
    return SourceDependence(skill, incidence(rows, columns, shape=shape, values=matrix.data))


def correlate_partitions(
    partitions: PanelPartitions,
    *,
    max_sources: int = MAX_SOURCES,
    enough_common: int = ENOUGH_COMMON,
) -> tuple[FloatArray, FloatArray] | None:
    """Return `correlate_sources` of all partitions; None with too many sources, or fewer than 3.

    Parameters
    ----------
    partitions : PanelPartitions
        All answers.
    max_sources : int
        With more sources, none are compared: all are independent and equally skilled.
    enough_common : int
        Instances that two sources should have in common; if there are more, a sample is used.
    """
    M = len(partitions.sources)
    (answers,) = partitions.sum(count_answers)
    if max_sources < M or np.count_nonzero(answers) < 3:
        return None
    # Two sources have about N x (share of the instances that a source answers)^2 in common.
    answering = np.count_nonzero(answers)
    enough = int(enough_common * (answering * partitions.instances / answers.sum()) ** 2)
    if enough < partitions.instances:
        partitions = SinglePartition(partitions.sample(enough))
    sums = partitions.sum(_agreement_sums)
    if np.count_nonzero(sums[0].diagonal()) < 3 or not sums[2].nnz:
        return None
    return _correlate(*sums)


def count_answers(panel: Panel) -> tuple[FloatArray]:
    """Return the number of answers of each source, (M,); gold labels are not answers."""
    return (drop_gold(panel).answers_per_source.astype(float),)


def correlate_sources(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return the correlation of any two sources and their number of common instances, (M, M).

    Covariances are pooled over the common instances and all labels. The answers of a source are
    centered by its own rate of each label. With a scope, the variance of a source counts over the
    labels that both can give.
    """
    return _correlate(*_agreement_sums(panel))


_AgreementSums: TypeAlias = tuple[FloatArray, FloatArray, Sparse, Sparse, "Sparse | int"]
"""Sums over instances: common instances and products of votes of two sources, (M, M); votes and
squared votes, (M, K); the scope, which is the same in all partitions, or 0 without one."""


def _agreement_sums(panel: Panel) -> _AgreementSums:
    panel = drop_gold(panel)
    M, A = len(panel.sources), len(panel.source)
    asked = incidence(panel.source, panel.instance, shape=(M, len(panel.instances)))
    by_source = incidence(panel.source, shape=(M, A))
    votes = _votes_by_cell(panel)
    return (
        dense(asked @ asked.T),
        dense(votes @ votes.T),
        (by_source @ panel.augmented).tocsr(),
        (by_source @ panel.augmented.multiply(panel.augmented)).tocsr(),
        0 if panel.scope is None else panel.scope,
    )


def _votes_by_cell(panel: Panel) -> Sparse:
    """Return the votes of each source for the cells (instance, label) with any vote."""
    votes = panel.augmented.tocoo()
    cell = panel.instance[votes.row] * len(panel.taxonomy) + votes.col
    cells, column = np.unique(cell, return_inverse=True)
    shape = (len(panel.sources), len(cells))
    return incidence(panel.source[votes.row], column, shape=shape, values=votes.data)


def _correlate(
    common: FloatArray,
    products: FloatArray,
    votes: Sparse,
    squares: Sparse,
    scope: "Sparse | int",
) -> tuple[FloatArray, FloatArray]:
    per_answer = sparse.diags_array(1.0 / np.maximum(common.diagonal(), 1.0), format="csr")
    rate, mean_square = (per_answer @ votes).tocsr(), (per_answer @ squares).tocsr()
    label_variance = (mean_square - rate.multiply(rate)).tocsr()
    if isinstance(scope, int):
        total = dense(label_variance.sum(axis=1)).reshape(-1, 1)
        variance = np.repeat(total, len(common), axis=1)
    else:
        # Summed over partitions, the ones of the scope have become the number of partitions.
        variance = dense(label_variance @ scope.astype(bool).astype(float).T)
    covariance = products / np.maximum(common, 1.0) - dense(rate @ rate.T)
    scale = np.sqrt(np.maximum(variance * variance.T, 1e-12))
    R = np.where(common > 0, np.clip(covariance / scale, -1.0, 1.0), 0.0)
    np.fill_diagonal(R, 1.0)
    return R, common


def fit_dependence(
    R: FloatArray, common: FloatArray, *, has_poor_sources: bool = False
) -> SourceDependence:
    """Return the skills and the dependence that explain correlations.

    Skills are a weighted least-squares fit of R_mn = a_m a_n, shrunk a little towards their mean. A
    pair counts by its common instances, by the independence of the second source, and less the more
    dependent the two are, because dependent sources agree for another reason than skill. Dependence
    is shrunk where it rests on few common instances. It is measured against skills without
    shrinkage: what shrinkage takes from the best sources would otherwise look like dependence among
    them. The two are estimated in turn until skills and independence no longer change.

    Parameters
    ----------
    R : float array, (M, M)
        The correlations.
    common : float array, (M, M)
        The number of instances that both sources answered.
    has_poor_sources : bool
        Whether some sources may have no skill at all. They draw the shrunk skills of the others
        down, so that skills without shrinkage must be fitted to each other.
    """
    M = len(R)
    pairs = ~np.eye(M, dtype=bool) & (common > 1)
    # Skill explains any agreement of two sources; without common instances there is none.
    if M < 3 or not pairs.any():
        return independent_sources(M)
    weight = np.where(pairs, common, 0.0)
    mean_correlation = (weight * R).sum() / weight.sum()
    skill = np.full(M, np.sqrt(np.clip(mean_correlation, MIN_SKILL, MAX_SKILL)))
    unshrunk, prior = skill, float(np.median(common[pairs]))
    dependence, independence = np.zeros((M, M)), np.ones(M)
    for _ in range(MAX_ITER):
        before = np.concatenate([skill, independence])
        pair_weight = weight * (1 - dependence) ** 2 * independence
        mean = float(np.average(skill, weights=independence))
        # The geometric mean with the previous skill damps the steps.
        skill = np.sqrt(skill * _fit_skill(R, pair_weight, skill, prior, mean))
        if has_poor_sources:
            unshrunk = np.sqrt(unshrunk * _fit_skill(R, pair_weight, unshrunk, 0.0, 0.0))
        else:
            unshrunk = _fit_skill(R, pair_weight, skill, 0.0, 0.0)
        latest = _excess_correlation(R, np.maximum(skill, unshrunk), common, weight)
        dependence = (dependence + latest) / 2
        independence = (independence + 1.0 / (1.0 + latest.sum(axis=1))) / 2
        if np.abs(np.concatenate([skill, independence]) - before).max() < TOL:
            break
    return SourceDependence(skill, sparse.csr_array(dependence))


def _fit_skill(
    R: FloatArray, weight: FloatArray, skill: FloatArray, prior: float, mean: float
) -> FloatArray:
    """Return the least-squares skills, given the others'; the prior is a pair of mean skills."""
    numerator = (weight * R) @ skill + prior * mean**3
    denominator = weight @ skill**2 + prior * mean**2
    zeros = np.zeros_like(numerator)
    fitted = np.divide(numerator, denominator, out=zeros, where=denominator > 0)
    return np.clip(fitted, MIN_SKILL, MAX_SKILL)


def _excess_correlation(
    R: FloatArray, skill: FloatArray, common: FloatArray, weight: FloatArray
) -> FloatArray:
    """Return R beyond what skills explain, as a share of the most possible, shrunk by its noise."""
    expected = np.outer(skill, skill)
    noise = (1 - expected**2) ** 2 / np.maximum(common - 1, 1)
    excess = np.where(weight > 0, R - expected, 0.0)
    signal = max(float((weight * (excess**2 - noise)).sum() / weight.sum()), 0.0)
    most = np.sqrt(np.outer(1 - skill**2, 1 - skill**2))
    share = signal / (signal + noise + 1e-12) * excess / most
    return np.where(weight > 0, np.clip(share, 0.0, 1.0), 0.0)
