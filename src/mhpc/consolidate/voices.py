"""Answers weighted by who gives them: skilled sources count more, kin share a voice."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, Sparse
from mhpc.core.kinship import Kinship, strangers
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts, Whole
from mhpc.graph.kinship import kinship

Sources: TypeAlias = Literal["equal", "independent"]
"""Whether all sources count alike, or by skill, kin sharing a voice."""

MOST_SOURCES = 3000
"""Beyond so many sources pairs are too many to look at, and each has little to say of another."""

_COMMON = 5000
"""Instances that two sources should have in common for their agreement to be known: what is off by
chance is then about a hundredth."""

_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Hearing:
    """How much every source's answers count; None: all alike.

    A source that shares no instance with another has the mean skill, and no kin; of fewer than
    three sources all have the same skill, since any agreement is explained by it.

    Attributes
    ----------
    kin : Kinship
        Skills and kinship of all sources.
    mean : float
        Mean skill of those that answered.
    """

    kin: Kinship
    mean: float

    def __call__(self, panel: Panel) -> Panel:
        """Return a panel of these sources with every answer weighted.

        An answer's voice is 1 / (1 + kinship of its source with the others that answered the same
        instance): a source is not punished where its kin is silent. Weights are 1 for an
        independent source of mean skill.
        """
        skill = self.kin.skill[panel.source] / self.mean
        return replace(panel, weight=voices(panel, self.kin) * skill)


def hearing(parts: Parts, sources: Sources) -> Hearing | None:
    """Return how sources are to be heard, learnt from all their answers."""
    return None if sources == "equal" else _hearing(*_kinship(parts))


def listen(panel: Panel, how: Hearing | None) -> Panel:
    """Return the panel as it is to be heard."""
    return panel if how is None else how(panel)


def heard(panel: Panel, kin: Kinship | None = None) -> Panel:
    """Return the panel with every answer weighted by its source's skill and its own voice."""
    found, used = _kinship(Whole(panel)) if kin is None else (kin, panel.answers_per_source > 0)
    return _hearing(found, used)(panel)


def kinship_of(panel: Panel) -> Kinship:
    """Return skill and kinship of the sources, from their augmented answers."""
    return kinship_in(Whole(panel))


def kinship_in(parts: Parts) -> Kinship:
    """Return skill and kinship of the sources of all parts."""
    return _kinship(parts)[0]


def _hearing(kin: Kinship, used: np.ndarray) -> Hearing:
    return Hearing(kin, float(np.average(kin.skill[used])) if used.any() else 1.0)


def _kinship(parts: Parts) -> tuple[Kinship, np.ndarray]:
    """Return the kinship, and which sources answered."""
    M = len(parts.sources)
    (answers,) = parts.total(_answers)
    used = answers > 0
    if M > MOST_SOURCES or used.sum() < 3:
        return strangers(M), used
    # Where so many say enough of every pair, more would not be heard.
    enough = int(_COMMON * (M * parts.instances / answers.sum()) ** 2)
    sums = (parts if enough >= parts.instances else Whole(parts.sample(enough))).total(_agreement)
    at = np.flatnonzero(sums[0].diagonal())
    if len(at) < 3 or not sums[2].nnz:
        return strangers(M), used
    R, common = _correlations(*sums)
    # Who was not asked has no skill that the others' could be drawn to.
    found, skill = kinship(R[np.ix_(at, at)], common[np.ix_(at, at)]), np.ones(M)
    skill[at] = found.skill
    alike = found.alike.tocoo()
    entries = (alike.data, (at[alike.row], at[alike.col]))
    return Kinship(skill, sparse.csr_array(entries, shape=(M, M))), used


def voices(panel: Panel, kin: Kinship) -> FloatArray:
    """Return the voice of every answer, (A,)."""
    A, M = len(panel.instance), len(panel.sources)
    if not kin.alike.nnz:
        return np.ones(A)
    asked = sparse.csr_array(
        (np.ones(A), (panel.instance, panel.source)), shape=(len(panel.instances), M)
    )
    company = np.empty(A)
    # Answers are sorted by instance: a block of instances is a block of answers.
    step = max(1, _CELLS // M)
    for start in range(0, len(panel.instances), step):
        first, last = np.searchsorted(panel.instance, (start, start + step))
        block = (asked[start : start + step] @ kin.alike).toarray()
        rows = panel.instance[first:last] - start
        company[first:last] = block[rows, panel.source[first:last]]
    return np.asarray(1.0 / (1.0 + company))


def agreement(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return the correlation of every two sources' answers and their common instances, (M, M).

    Covariances are pooled over common instances and all labels; a source is centred by its own
    rate of each label, and with a scope its variance counts over the labels of both.
    """
    return _correlations(*_agreement(panel))


_Agreement: TypeAlias = tuple[FloatArray, FloatArray, Sparse, Sparse, "Sparse | int"]
"""Sums over instances: common instances and common votes, (M, M); votes and their squares, (M, K);
the scope, which is the same in all parts and 0 where there is none."""


def _agreement(panel: Panel) -> _Agreement:
    said, answers, asked = _by_cell(panel), _by_answer(panel), _asked(panel)
    scope = 0 if panel.scope is None else panel.scope
    return (
        _dense(asked @ asked.T),
        _dense(said @ said.T),
        (answers @ panel.augmented).tocsr(),
        (answers @ panel.augmented.multiply(panel.augmented)).tocsr(),
        scope,
    )


def _correlations(
    common: FloatArray, together: FloatArray, votes: Sparse, squares: Sparse, scope: "Sparse | int"
) -> tuple[FloatArray, FloatArray]:
    own = sparse.diags_array(1.0 / np.maximum(common.diagonal(), 1.0), format="csr")
    rate, square = (own @ votes).tocsr(), (own @ squares).tocsr()
    spread = (square - rate.multiply(rate)).tocsr()
    if isinstance(scope, int):
        variance = np.repeat(_dense(spread.sum(axis=1)).reshape(-1, 1), len(common), axis=1)
    else:
        variance = _dense(spread @ scope.astype(bool).astype(float).T)
    covariance = together / np.maximum(common, 1.0) - _dense(rate @ rate.T)
    scale = np.sqrt(np.maximum(variance * variance.T, 1e-12))
    R = np.where(common > 0, np.clip(covariance / scale, -1.0, 1.0), 0.0)
    np.fill_diagonal(R, 1.0)
    return R, common


def _answers(panel: Panel) -> tuple[FloatArray]:
    return (panel.answers_per_source.astype(float),)


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
