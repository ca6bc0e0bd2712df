"""Scope from silence: which labels a source cannot speak about, though nobody said so."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, Sparse
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts, Whole

_SURE = 3.0
"""By how much more than chance allows a label must have been missed: less than one false alarm in
twenty panels, however many sources and labels there are."""

_CELLS = 1 << 24
"""Sources x labels up to which a scope is made: it lists all that sources can speak about, which
is nearly everything."""


def within_scope(panel: Panel) -> Panel:
    """Return the panel with a scope, where silence shows that sources need one."""
    scope = scope_in(Whole(panel))
    return panel if scope is None else replace(panel, scope=scope)


def scope_in(parts: Parts) -> Sparse | None:
    """Return the scope that silence shows, (M, K), or None where it shows none.

    A label is outside a source's scope if it never said it, nor anything below it, though sources
    that use the label would have said it, in as many answers, more than log(M K) + 3 times.
    Answers that have a scope keep it, and scores need none: who gives every label a score has
    spoken about all of them. Where sources x labels are very many, most sources have too few
    answers to tell, and silence stays what it is.
    """
    M, K = len(parts.sources), len(parts.taxonomy)
    if not 0 < M * K <= _CELLS:
        return None
    said, answers, other = parts.total(_said)
    if other or not said.nnz:
        return None
    used = said.astype(bool).astype(float)
    rate = np.asarray(said.sum(axis=0)).ravel() / np.maximum(answers @ used, 1.0)
    enough = np.log(M * K) + _SURE
    some = np.flatnonzero(answers * rate.max() > enough)
    often = np.flatnonzero(rate * answers.max() > enough)
    silent = used[some][:, often].toarray() == 0
    missed = silent & (np.outer(answers[some], rate[often]) > enough)
    if not missed.any():
        return None
    source, label = np.nonzero(missed)
    held = np.ones((M, K), dtype=bool)
    held[some[source], often[label]] = False
    return sparse.csr_array(held).astype(float)


def _said(panel: Panel) -> tuple[Sparse, FloatArray, int]:
    """Return how often each source said each label, its answers, and what forbids to tell."""
    A = len(panel.source)
    entries = (np.ones(A), (panel.source, np.arange(A)))
    by_source = sparse.csr_array(entries, shape=(len(panel.sources), A))
    scores = np.count_nonzero(panel.raw.data != 1.0)
    other = int(scores) + (panel.scope is not None)
    return (by_source @ panel.augmented).tocsr(), panel.answers_per_source.astype(float), other
