"""Sources that add no information: constant and random ones, and exact copies of others.

Learned weights nearly silence the votes of such a source, but not its effects on the popularity of
labels, on scope, on the size of answers and on the skills of other sources. So it is left out.
"""

from functools import partial
from typing import TypeAlias

import numpy as np

from mhpc.data.panel import Panel, PanelPartitions, transform_partitions
from mhpc.methods.source_dependence import find_correlations, fit_dependence
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import incidence

MAX_RELATIVE_VARIATION = 0.05
"""How much the answers of a constant source vary, relative to those of the other sources."""

MIN_COVERAGE = 0.9
"""The share of the instances that a constant source answers. One that answers fewer may say
something by which ones it answers, such as a test that is reported only if it is positive."""

MARGIN = 3.0
"""Varying answers, beyond log M, to be expected of a source from which on their absence is no
chance: less than one false alarm in twenty panels, whatever the number of sources."""

MAX_RELATIVE_SKILL = 0.25
"""The skill, relative to the mean of all sources, below which a source is left out. Information
grows with the square of the skill: it has less than a tenth of that of the others."""

MAX_ERRORS = 2.0
"""Standard errors by which the skill must be below that limit."""

MIN_MEAN_SKILL = 0.1
"""The mean skill below which no source is left out for its skill: if sources do not agree with each
other, it cannot be known which of them are right."""


def find_uninformative(partitions: PanelPartitions) -> IntArray:
    """Return constant sources, exact copies among the others, and then those without skill."""
    found = np.zeros(0, dtype=np.int64)
    for find in (find_constant, find_copies, find_unskilled):
        others = transform_partitions(partitions, partial(leave_out, sources=found))
        found = np.union1d(found, find(others)).astype(np.int64)
    return found


def find_constant(partitions: PanelPartitions) -> IntArray:
    """Return the sources that give the same answer to all instances, though others do not.

    Whether that answer is one label or all of them, it does not distinguish one instance from
    another. The variation of a source is the share of its squared votes that is not explained by
    its mean answer,

        1 - sum_k mean_i(y_ik)^2 / sum_k mean_i(y_ik^2),

    0 if all answers are equal. A source whose scores differ between labels is not left out: even
    if it says the same of all instances, it knows which labels are frequent.
    """
    votes, squares, answers, n_scores, scores, squared_scores = partitions.sum(_sum_votes)
    n, of_mean = np.maximum(answers, 1.0), np.asarray(votes.multiply(votes).sum(axis=1)).ravel()
    explained = np.divide(of_mean, squares * n, out=np.ones(len(n)), where=squares > 0)
    variation = np.maximum(1.0 - explained, 0.0)
    others = (variation.sum() - variation) / max(np.count_nonzero(answers) - 1, 1)
    return np.flatnonzero(
        (answers >= MIN_COVERAGE * partitions.instances)
        & (answers * others > np.log(max(len(n), 1)) + MARGIN)
        & (variation <= MAX_RELATIVE_VARIATION * others)
        & _have_one_score(n_scores, scores, squared_scores)
    )


def find_copies(partitions: PanelPartitions) -> IntArray:
    """Return the sources that give the same answers to the same instances as one before them.

    Two good sources may also agree on everything. They are copies if, correlated as each of them is
    with the other sources, they should have differed on several instances.
    """
    correlations = find_correlations(partitions)
    if correlations is None:
        return np.zeros(0, dtype=np.int64)
    R, common = correlations
    answers = common.diagonal()
    same = (R >= 1 - 1e-9) & (common == answers) & (common == answers[:, np.newaxis]) & (common > 0)
    compared = np.where(same, 0.0, common)
    # If all sources agree on everything, nothing shows that they should have differed.
    n_compared = compared.sum(axis=1)
    typical = np.divide(
        (compared * R).sum(axis=1), n_compared, out=np.ones(len(R)), where=n_compared > 0
    )
    differing = answers * (1 - np.maximum(typical, 0.0))
    is_unlikely = differing > 2 * np.log(len(R)) + MARGIN
    has_earlier = np.tril(same, -1).any(axis=1)
    return np.flatnonzero(has_earlier & is_unlikely)


def find_unskilled(partitions: PanelPartitions) -> IntArray:
    """Return the sources that agree with the others no more than random answers would.

    Their skill (`mhpc.methods.source_dependence`), without shrinkage and with an allowance for
    chance, is far below the mean. A source with few answers is never among them.
    """
    none = np.zeros(0, dtype=np.int64)
    correlations = find_correlations(partitions)
    if correlations is None:
        return none
    active = np.flatnonzero(correlations[1].diagonal())
    R, common = (matrix[np.ix_(active, active)] for matrix in correlations)
    dependence, answers = fit_dependence(R, common, has_poor_sources=True), common.diagonal()
    skill, independence = dependence.skill, dependence.independence
    mean = float(np.average(skill, weights=independence))
    if mean < MIN_MEAN_SKILL:
        return none
    in_common = np.where(np.eye(len(R), dtype=bool), 0.0, common)
    weight = in_common * (1 - dependence.matrix.toarray()) ** 2 * independence
    information = np.maximum(weight @ skill**2, 1e-12)
    own = (weight * R) @ skill / information
    # Chance can make a source agree with the truth, and so with all others, or with some of them.
    n_compared = np.maximum(np.minimum(answers, in_common.sum(axis=1)), 1e-12)
    error = np.sqrt(1 / n_compared + 1 / information)
    return np.asarray(active[own + MAX_ERRORS * error < MAX_RELATIVE_SKILL * mean])


def leave_out(panel: Panel, *, sources: IntArray) -> Panel:
    """Return the panel without the answers of some sources; the same panel if there are none."""
    return panel.select_answers(~np.isin(panel.source, sources)) if len(sources) else panel


def _have_one_score(n: FloatArray, total: FloatArray, squares: FloatArray) -> BoolArray:
    """Return whether the variance of the scores of each source is 0, from their sums."""
    return np.asarray(n * squares - total**2 <= 1e-9 * np.maximum(total**2, 1e-12))


_VoteSums: TypeAlias = tuple[Sparse, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]


def _sum_votes(panel: Panel) -> _VoteSums:
    """Return the votes by source and label, (M, K), and five sums by source, (M,) each.

    These are the squares of the votes, the number of answers, and the number of votes without
    ancestors, their scores and squared scores.
    """
    panel = panel.select_answers(~panel.is_gold)
    by_source = incidence(panel.source, shape=(len(panel.sources), len(panel.source)))

    def sum_by_source(votes: Sparse) -> FloatArray:
        return np.asarray((by_source @ votes).sum(axis=1), dtype=np.float64).ravel()

    return (
        (by_source @ panel.augmented).tocsr(),
        sum_by_source(panel.augmented.multiply(panel.augmented)),
        panel.answers_per_source.astype(float),
        sum_by_source(panel.raw.astype(bool).astype(float)),
        sum_by_source(panel.raw),
        sum_by_source(panel.raw.multiply(panel.raw)),
    )
