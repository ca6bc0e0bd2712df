"""Sources that say nothing about the instances, because they say the same of all."""

import numpy as np

from mhpc.data.panel import Panel, PanelPartitions
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


def find_constant(partitions: PanelPartitions) -> IntArray:
    """Return the sources that give the same answer to all instances, though others do not.

    Whether that answer is one label or all of them, it does not distinguish one instance from
    another. Learned weights would nearly silence such votes, but not their effects on popularity
    and scope, on the size of answers, and on the skills of other sources. The variation of a source
    is the share of its squared votes that is not explained by its mean answer,

        1 - sum_k mean_i(y_ik)^2 / sum_k mean_i(y_ik^2),

    0 if all answers are equal. A source whose scores differ between labels is not left out: even
    if it says the same of all instances, it knows which labels are frequent. Nor are gold labels.
    """
    votes, squares, answers, *scores = partitions.sum(_sum_votes)
    n, of_mean = np.maximum(answers, 1.0), np.asarray(votes.multiply(votes).sum(axis=1)).ravel()
    explained = np.divide(of_mean, squares * n, out=np.ones(len(n)), where=squares > 0)
    variation = np.maximum(1.0 - explained, 0.0)
    others = (variation.sum() - variation) / max(np.count_nonzero(answers) - 1, 1)
    return np.flatnonzero(
        (answers >= MIN_COVERAGE * partitions.instances)
        & (answers * others > np.log(max(len(n), 1)) + MARGIN)
        & (variation <= MAX_RELATIVE_VARIATION * others)
        & _have_one_score(*scores)
    )


def leave_out(panel: Panel, *, sources: IntArray) -> Panel:
    """Return the panel without the answers of some sources; the same panel if there are none."""
    return panel.select_answers(~np.isin(panel.source, sources)) if len(sources) else panel


def _have_one_score(n: FloatArray, total: FloatArray, squares: FloatArray) -> BoolArray:
    """Return whether the variance of the scores of each source is 0, from their sums."""
    return np.asarray(n * squares - total**2 <= 1e-9 * np.maximum(total**2, 1e-12))


def _sum_votes(panel: Panel) -> tuple[Sparse, *tuple[FloatArray, ...]]:
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
