"""Answers weighted by who gives them: skilled sources count more, kin share a voice."""

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, Sparse
from mhpc.core.kinship import Kinship, strangers
from mhpc.core.panel import Panel
from mhpc.graph.kinship import kinship

Sources: TypeAlias = Literal["equal", "independent"]
"""Whether all sources count alike, or by skill, kin sharing a voice."""

MOST_SOURCES = 3000
"""Beyond so many sources pairs are too many to look at, and each has little to say of another."""

_CELLS = 1 << 22


def heard(panel: Panel, kin: Kinship | None = None) -> Panel:
    """Return the panel with every answer weighted by its source's skill and its own voice.

    An answer's voice is 1 / (1 + kinship of its source with the others that answered the same
    instance): a source is not punished where its kin is silent. Weights are 1 for an independent
    source of mean skill.
    """
    kin = kinship_of(panel) if kin is None else kin
    used = panel.answers_per_source > 0
    mean = float(np.average(kin.skill[used])) if used.any() else 1.0
    return replace(panel, weight=voices(panel, kin) * kin.skill[panel.source] / mean)


def kinship_of(panel: Panel) -> Kinship:
    """Return skill and kinship of the sources, from their augmented answers."""
    M = len(panel.sources)
    used = np.flatnonzero(panel.answers_per_source)
    if not 3 <= len(used) <= MOST_SOURCES or not panel.augmented.nnz:
        return strangers(M)
    R, common = agreement(panel)
    # Who was not asked has no skill that the others' could be drawn to.
    found, everyone = kinship(R[np.ix_(used, used)], common[np.ix_(used, used)]), strangers(M)
    everyone.skill[used] = found.skill
    everyone.alike[np.ix_(used, used)] = found.alike
    return everyone


def voices(panel: Panel, kin: Kinship) -> FloatArray:
    """Return the voice of every answer, (A,)."""
    A, M = len(panel.instance), len(panel.sources)
    if not kin.alike.any():
        return np.ones(A)
    asked = sparse.csr_array(
        (np.ones(A), (panel.instance, panel.source)), shape=(len(panel.instances), M)
    )
    company = np.empty(A)
    # Answers are sorted by instance: a block of instances is a block of answers.
    step = max(1, _CELLS // M)
    for start in range(0, len(panel.instances), step):
        first, last = np.searchsorted(panel.instance, (start, start + step))
        block = asked[start : start + step] @ kin.alike
        rows = panel.instance[first:last] - start
        company[first:last] = block[rows, panel.source[first:last]]
    return np.asarray(1.0 / (1.0 + company))


def agreement(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return the correlation of every two sources' answers and their common instances, (M, M).

    Covariances are pooled over common instances and all labels; a source is centred by its own
    rate of each label, and with a scope its variance counts over the labels of both.
    """
    said = _by_cell(panel)
    answers = _by_answer(panel)
    common = _dense(_asked(panel) @ _asked(panel).T)
    own = sparse.diags_array(1.0 / np.maximum(common.diagonal(), 1.0), format="csr")
    rate = (own @ (answers @ panel.augmented)).tocsr()
    square = (own @ (answers @ panel.augmented.multiply(panel.augmented))).tocsr()
    spread = (square - rate.multiply(rate)).tocsr()
    if panel.scope is None:
        variance = np.repeat(_dense(spread.sum(axis=1)).reshape(-1, 1), len(common), axis=1)
    else:
        variance = _dense(spread @ panel.scope.T)
    covariance = _dense(said @ said.T) / np.maximum(common, 1.0) - _dense(rate @ rate.T)
    scale = np.sqrt(np.maximum(variance * variance.T, 1e-12))
    R = np.where(common > 0, np.clip(covariance / scale, -1.0, 1.0), 0.0)
    np.fill_diagonal(R, 1.0)
    return R, common


def _by_cell(panel: Panel) -> Sparse:
    """Return the votes by source and (instance, label) cell that anyone affirmed."""
    votes = panel.augmented.tocoo()
    cell = panel.instance[votes.row] * len(panel.taxonomy) + votes.col
    cells, column = np.unique(cell, return_inverse=True)
    entries = (votes.data, (panel.source[votes.row], column))
    return sparse.csr_array(entries, shape=(len(panel.sources), len(cells)))


def _by_answer(panel: Panel) -> Sparse:
    A = len(panel.source)
    entries = (np.ones(A), (panel.source, np.arange(A)))
    return sparse.csr_array(entries, shape=(len(panel.sources), A))


def _asked(panel: Panel) -> Sparse:
    entries = (np.ones(len(panel.source)), (panel.source, panel.instance))
    return sparse.csr_array(entries, shape=(len(panel.sources), len(panel.instances)))


def _dense(matrix: Sparse) -> FloatArray:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64)
