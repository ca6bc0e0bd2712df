"""Skill and dependence of sources; answer weights; scope inferred from silence.

R_mn: correlation of two sources' answers. Independent sources of skills a_m and a_n agree by
R_mn = a_m a_n; what they agree beyond that, as a share of what is left to agree on, is kinship:
1 for copies, 0 for strangers. No truth is needed.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.data.profiles import SourceDependence, independent_sources
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.parameters import registered

_LEAST, _MOST = 0.01, 0.99
"""Skills are kept off 0 and 1, where correlations say nothing."""

_ROUNDS = 200
_SETTLED = 1e-4


def fit_dependence(R: FloatArray, common: FloatArray) -> SourceDependence:
    """Return skills and kinship that explain the agreement of sources.

    Skills are a weighted least-squares fit of R_mn = a_m a_n, pulled a little towards their mean;
    a pair counts by its common instances, by the other's voice, and less the more it is kin,
    since kin agree for another reason than skill. Kinship is shrunk where few common instances
    speak for it, and measured against skills that are not pulled down: what the pull takes from
    the best sources would otherwise pass for kinship among them as soon as others are kin. The
    two are estimated in turn until skills and voices settle.

    Parameters
    ----------
    R : float array, (M, M)
        Correlations.
    common : float array, (M, M)
        Instances that both answered.
    """
    M = len(R)
    pairs = ~np.eye(M, dtype=bool) & (common > 1)
    # With two sources any agreement is explained by skill; with none in common nothing is told.
    if M < 3 or not pairs.any():
        return independent_sources(M)
    weight = np.where(pairs, common, 0.0)
    a = np.full(M, np.sqrt(np.clip((weight * R).sum() / weight.sum(), _LEAST, _MOST)))
    pull = float(np.median(common[pairs]))
    alike, voice = np.zeros((M, M)), np.ones(M)
    for _ in range(_ROUNDS):
        before = np.concatenate([a, voice])
        counted = weight * (1 - alike) ** 2 * voice
        a = _skills(R, counted, a, voice, pull)
        latest = _alike(R, np.maximum(a, _fitted(R, counted, a, 0.0, 0.0)), common, weight)
        alike = (alike + latest) / 2
        voice = (voice + 1.0 / (1.0 + latest.sum(axis=1))) / 2
        if np.abs(np.concatenate([a, voice]) - before).max() < _SETTLED:
            break
    return SourceDependence(a, sparse.csr_array(alike))


def _skills(
    R: FloatArray, weight: FloatArray, a: FloatArray, voice: FloatArray, pull: float
) -> FloatArray:
    """Return one damped least-squares step; the prior is worth one usual pair of mean skill."""
    mean = float(np.average(a, weights=voice))
    return np.asarray(np.sqrt(a * _fitted(R, weight, a, pull, mean)))


def _fitted(
    R: FloatArray, weight: FloatArray, a: FloatArray, pull: float, mean: float
) -> FloatArray:
    part, whole = (weight * R) @ a + pull * mean**3, weight @ a**2 + pull * mean**2
    fit = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return np.clip(fit, _LEAST, _MOST)


def _alike(R: FloatArray, a: FloatArray, common: FloatArray, weight: FloatArray) -> FloatArray:
    """Return what R has beyond skills, as a share of the most possible, shrunk by its noise."""
    expected = np.outer(a, a)
    noise = (1 - expected**2) ** 2 / np.maximum(common - 1, 1)
    excess = np.where(weight > 0, R - expected, 0.0)
    between = max(float((weight * (excess**2 - noise)).sum() / weight.sum()), 0.0)
    free = np.sqrt(np.outer(1 - a**2, 1 - a**2))
    share = between / (between + noise + 1e-12) * excess / free
    return np.where(weight > 0, np.clip(share, 0.0, 1.0), 0.0)


Sources: TypeAlias = Literal["equal", "learned"]
"""Whether all sources count alike, or by skill, kin sharing a voice."""

MOST_SOURCES = 3000
"""Beyond so many sources pairs are too many to look at, and each has little to say of another."""

_COMMON = 5000
"""Instances that two sources should have in common for their agreement to be known: what is off by
chance is then about a hundredth."""

_CELLS = 1 << 22


@registered("source-weights")
@dataclass(frozen=True, eq=False)
class SourceWeights:
    """How much every source's answers count; None: all alike.

    A source that shares no instance with another has the mean skill, and no kin; of fewer than
    three sources all have the same skill, since any agreement is explained by it.

    Attributes
    ----------
    dependence : Kinship
        Skills and kinship of all sources.
    mean : float
        Mean skill of those that answered.
    """

    dependence: SourceDependence
    mean: float

    def __call__(self, panel: Panel) -> Panel:
        """Return a panel of these sources with every answer weighted.

        An answer's voice is 1 / (1 + kinship of its source with the others that answered the same
        instance): a source is not punished where its kin is silent. Weights are 1 for an
        independent source of mean skill.
        """
        skill = self.dependence.skill[panel.source] / self.mean
        return replace(panel, weight=answer_independence(panel, self.dependence) * skill)


def learn_source_weights(parts: PanelPartitions, sources: Sources) -> SourceWeights | None:
    """Return how sources are to be heard, learnt from all their answers."""
    return None if sources == "equal" else _source_weights(*_dependence(parts))


def apply_weights(panel: Panel, how: SourceWeights | None) -> Panel:
    """Return the panel as it is to be heard."""
    return panel if how is None else how(panel)


def weight_answers(panel: Panel, kin: SourceDependence | None = None) -> Panel:
    """Return the panel with every answer weighted by its source's skill and its own voice."""
    found, used = (
        _dependence(SinglePartition(panel)) if kin is None else (kin, panel.answers_per_source > 0)
    )
    return _source_weights(found, used)(panel)


def panel_dependence(panel: Panel) -> SourceDependence:
    """Return skill and kinship of the sources, from their augmented answers."""
    return estimate_dependence(SinglePartition(panel))


def estimate_dependence(parts: PanelPartitions) -> SourceDependence:
    """Return skill and kinship of the sources of all parts."""
    return _dependence(parts)[0]


def _source_weights(kin: SourceDependence, used: np.ndarray) -> SourceWeights:
    return SourceWeights(kin, float(np.average(kin.skill[used])) if used.any() else 1.0)


def _dependence(parts: PanelPartitions) -> tuple[SourceDependence, np.ndarray]:
    """Return the kinship, and which sources answered."""
    M = len(parts.sources)
    (answers,) = parts.sum(_answers)
    used = answers > 0
    if M > MOST_SOURCES or used.sum() < 3:
        return independent_sources(M), used
    # Where so many say enough of every pair, more would not be heard.
    enough = int(_COMMON * (M * parts.instances / answers.sum()) ** 2)
    sums = (parts if enough >= parts.instances else SinglePartition(parts.sample(enough))).sum(
        _agreement
    )
    at = np.flatnonzero(sums[0].diagonal())
    if len(at) < 3 or not sums[2].nnz:
        return independent_sources(M), used
    R, common = _correlations(*sums)
    # Who was not asked has no skill that the others' could be drawn to.
    found, skill = fit_dependence(R[np.ix_(at, at)], common[np.ix_(at, at)]), np.ones(M)
    skill[at] = found.skill
    alike = found.matrix.tocoo()
    entries = (alike.data, (at[alike.row], at[alike.col]))
    return SourceDependence(skill, sparse.csr_array(entries, shape=(M, M))), used


def answer_independence(panel: Panel, kin: SourceDependence) -> FloatArray:
    """Return the voice of every answer, (A,)."""
    A, M = len(panel.instance), len(panel.sources)
    if not kin.matrix.nnz:
        return np.ones(A)
    asked = sparse.csr_array(
        (np.ones(A), (panel.instance, panel.source)), shape=(len(panel.instances), M)
    )
    company = np.empty(A)
    # Answers are sorted by instance: a block of instances is a block of answers.
    step = max(1, _CELLS // M)
    for start in range(0, len(panel.instances), step):
        first, last = np.searchsorted(panel.instance, (start, start + step))
        block = (asked[start : start + step] @ kin.matrix).toarray()
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


_SURE = 3.0
"""By how much more than chance allows a label must have been missed: less than one false alarm in
twenty panels, however many sources and labels there are."""

_SCOPE_CELLS = 1 << 24
"""Sources x labels up to which a scope is made: it lists all that sources can speak about, which
is nearly everything."""


def with_inferred_scope(panel: Panel) -> Panel:
    """Return the panel with a scope, where silence shows that sources need one."""
    scope = infer_scope(SinglePartition(panel))
    return panel if scope is None else replace(panel, scope=scope)


def infer_scope(parts: PanelPartitions) -> Sparse | None:
    """Return the scope that silence shows, (M, K), or None where it shows none.

    A label is outside a source's scope if it never said it, nor anything below it, though sources
    that use the label would have said it, in as many answers, more than log(M K) + 3 times.
    Answers that have a scope keep it, and scores need none: who gives every label a score has
    spoken about all of them. Where sources x labels are very many, most sources have too few
    answers to tell, and silence stays what it is.
    """
    M, K = len(parts.sources), len(parts.taxonomy)
    if not 0 < M * K <= _SCOPE_CELLS:
        return None
    said, answers, other = parts.sum(_said)
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
