"""Scope from silence: which labels a source cannot speak about, though nobody said so."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from mhpc.core.panel import Panel

_SURE = 3.0
"""By how much more than chance allows a label must have been missed: less than one false alarm in
twenty panels, however many sources and labels there are."""


def within_scope(panel: Panel) -> Panel:
    """Return the panel with a scope, where silence shows that sources need one.

    A label is outside a source's scope if it never said it, nor anything below it, though sources
    that use the label would have said it, in as many answers, more than log(M K) + 3 times.
    A panel that has a scope keeps it, and one of scores needs none: who gives every label a score
    has spoken about all of them.
    """
    sets = bool(np.all(panel.raw.data == 1.0))
    if panel.scope is not None or not panel.augmented.nnz or not sets:
        return panel
    M, K = len(panel.sources), len(panel.taxonomy)
    A = len(panel.source)
    by_source = sparse.csr_array((np.ones(A), (panel.source, np.arange(A))), shape=(M, A))
    said = (by_source @ panel.augmented).tocsr()
    used = said.astype(bool).astype(float)
    answers = panel.answers_per_source.astype(float)
    rate = np.asarray(said.sum(axis=0)).ravel() / np.maximum(answers @ used, 1.0)
    enough = np.log(M * K) + _SURE
    often = np.flatnonzero(rate * answers.max() > enough)
    missed = (np.outer(answers, rate[often]) > enough) & (used[:, often].toarray() == 0)
    if not missed.any():
        return panel
    scope = np.ones((M, K))
    scope[:, often] = ~missed
    return replace(panel, scope=sparse.csr_array(scope))
