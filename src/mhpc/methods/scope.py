"""The labels that sources can give: as declared, or inferred from what they never give."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition, drop_gold
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.numerics.sparse import incidence

MARGIN = 3.0
"""Expected votes beyond log(M K) from which on their absence is no chance: less than one false
alarm in twenty panels, whatever the number of sources and labels."""

MAX_CELLS = 1 << 24
"""Sources x labels up to which a scope is inferred, since it stores nearly all of them."""


def effective_scope(partitions: PanelPartitions, template: Panel) -> Sparse | None:
    """Return the labels that sources can give, (M, K): as declared, else as inferred.

    A source that never gives a label which others give often does not contradict them, whatever
    method computed the scores.

    Parameters
    ----------
    partitions : PanelPartitions
        All answers.
    template : Panel
        A panel with their scope.
    """
    if template.scope is None:
        return infer_scope(partitions)
    return _add_given(template.scope, partitions)


def _add_given(scope: Sparse, partitions: PanelPartitions) -> Sparse:
    """Return a scope with the labels that sources give now but did not in an earlier run."""
    votes, denied, _, _ = partitions.sum(_vote_sums)
    given = (votes + denied).astype(bool).astype(float)
    outside = (given - given.multiply(scope)).tocsr()
    outside.eliminate_zeros()
    return (scope + outside).tocsr() if outside.nnz else scope


def with_inferred_scope(panel: Panel) -> Panel:
    """Return the panel with its effective scope."""
    scope = effective_scope(SinglePartition(panel), panel)
    return panel if scope is panel.scope else replace(panel, scope=scope)


def infer_scope(partitions: PanelPartitions, *, max_cells: int = MAX_CELLS) -> Sparse | None:
    """Return the scope that absent votes show, (M, K), or None if they show none.

    A label is outside the scope of a source if the source never gives nor denies it, nor a
    descendant, though the sources that use the label would have given it more than log(M K) + 3
    times in as many answers, for M sources with answers. A declared scope is kept. Scores need
    none: a source that scores every label can give all of them. Gold labels are not the answers of
    a source.

    Parameters
    ----------
    partitions : PanelPartitions
        All answers.
    max_cells : int
        No scope is inferred beyond so many sources x labels: most sources would have too few
        answers to show it.
    """
    M, K = len(partitions.sources), len(partitions.taxonomy)
    if not 0 < M * K <= max_cells:
        return None
    votes, denied, answers, has_scores_or_scope = partitions.sum(_vote_sums)
    if has_scores_or_scope or not votes.nnz:
        return None
    uses = votes.astype(bool).astype(float)
    rate = np.asarray(votes.sum(axis=0)).ravel() / np.maximum(answers @ uses, 1.0)
    expected = np.log(np.count_nonzero(answers) * K) + MARGIN
    sources = np.flatnonzero(answers * rate.max() > expected)
    labels = np.flatnonzero(rate * answers.max() > expected)
    is_unused = (uses + denied)[sources][:, labels].toarray() == 0
    is_outside = is_unused & (np.outer(answers[sources], rate[labels]) > expected)
    if not is_outside.any():
        return None
    source, label = np.nonzero(is_outside)
    in_scope = np.ones((M, K), dtype=bool)
    in_scope[sources[source], labels[label]] = False
    return sparse.csr_array(in_scope).astype(float)


def _vote_sums(panel: Panel) -> tuple[Sparse, Sparse, FloatArray, int]:
    """Return votes and denials by source and label, the answers, and whether to infer none."""
    panel = drop_gold(panel)
    denied = sparse.csr_array((len(panel.sources), len(panel.taxonomy)))
    if panel.denials is not None:
        own = incidence(panel.denials.source, panel.denials.label, shape=denied.shape)
        denied = (own @ panel.taxonomy.closure_of(own.indices)).tocsr()
    by_source = incidence(panel.source, shape=(len(panel.sources), len(panel.source)))
    has_scores = bool(np.any(panel.raw.data != 1.0))
    return (
        (by_source @ panel.augmented).tocsr(),
        denied,
        panel.answers_per_source.astype(float),
        int(has_scores) + (panel.scope is not None),
    )
