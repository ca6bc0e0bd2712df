"""Which label is the one truth of each instance, learnt together with how each source errs.

Letters: z a candidate truth, v the label said, m the source, theta_m its profile, q the shares
of labels among errors, n_m(z, v) how often m said v where z is true, J the strength of the prior.
"""

import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel
from mhpc.data.scores import Step
from mhpc.methods.one_truth.evidence import EXACT, NEAR, VAGUE, Evidence, build_evidence
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.system.display import Progress, silent

FIRST_GUESS = np.array([0.7, 0.1, 0.1, 0.1])
"""The profile that every source starts with."""

RARE = 0.01
"""Answers of each kind that the mean profile has beyond what was seen."""

TINY = 1e-12
"""The least that a share is taken to be, and by which a probability misses 1."""

LEAST = 1e-300
"""The least that a probability is taken to be, since its logarithm is needed."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """What share of its answers each source gives exactly, vaguely, nearly and wrongly, (M,) each.

    Shrunk to the mean profile of all sources, so that a source with few answers has the mean's.
    The four add to 1.
    """

    exact: FloatArray
    vague: FloatArray
    near: FloatArray
    far: FloatArray


@dataclass(frozen=True, eq=False)
class Inference:
    """What was learnt.

    Attributes
    ----------
    specific : csr_array, (N, K)
        The probability that a label is the most specific true one; rows add to 1, or to 0
        where nothing was said.
    profiles : Profiles
        How each source answers.
    mistaken : float array, (K,)
        The share of each label among errors.
    trace : tuple of Step
        The rounds.
    """

    specific: Sparse
    profiles: Profiles
    mistaken: FloatArray
    trace: tuple[Step, ...]


def infer(
    panel: Panel,
    *,
    kinship: FloatArray | None = None,
    known: Sparse | None = None,
    jeffreys: float = 0.5,
    prior_weight: float = 10.0,
    tol: float = 1e-3,
    max_iter: int = 100,
    progress: Progress = silent,
) -> Inference:
    """Learn truths, profiles, frequent errors and habits in turn, from the answers alone.

    Parameters
    ----------
    panel : Panel
        Its scope is not looked at.
    kinship : array (M, M), optional
        How far two sources are one, in [0, 1]; none are unless given.
    known : csr_array (N, K), optional
        True labels with their ancestors; an empty row is not known.
    jeffreys, prior_weight, tol, max_iter
        As in `OneTruth`.
    progress : Progress
        Told of every round.
    """
    heard = build_evidence(panel, kinship, known)
    start = belief = heard.shares()
    p = FIRST_GUESS[heard.kind] * _given(heard, heard.popular, np.zeros(len(heard.kind)))
    trace = list[Step]()
    for iteration in range(max_iter):
        began = time.perf_counter()
        before, (belief, weight) = belief, _weighed(heard, p)
        counts = _count(heard, weight, len(panel.sources), prior_weight)
        p = _likelihood(heard, counts, jeffreys * heard.labels_said, prior_weight)
        change = float(np.abs(belief - before).sum() / max(before.sum(), 1.0))
        spread = _spread(heard, belief, start)
        trace.append(Step(iteration, change, None, spread, time.perf_counter() - began))
        progress("learning", iteration + 1, max_iter)
        if change <= tol:
            break
    return Inference(
        specific=heard.by_candidate(belief),
        profiles=_profiles(counts, prior_weight),
        mistaken=counts.error / counts.error.sum(),
        trace=tuple(trace),
    )


def _weighed(heard: Evidence, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how likely each candidate is, (C,), and with what weight each pair counts, (P,).

    A pair counts by what the others say of its candidate, the statement and its echoes taken
    out; where too few others spoke, by what all say.
    """
    volume = (heard.voice * heard.statements.strength)[heard.statement]
    evidence = volume * np.log(np.clip(p, LEAST, 1 - TINY))
    C, S = len(heard.label), len(heard.voice)
    total = _summed(evidence, heard.candidate, C) + np.log(heard.popular[heard.label])
    belief = _softmax(total, heard.owner, heard.possible.shape[0])
    told = sparse.csr_array((evidence, (heard.statement, heard.candidate)), shape=(S, C))
    echoed = (heard.echo @ told).tocsr()
    # Evidence is below 0 throughout, so that no sum vanishes and the entries are the pairs.
    echoed.sort_indices()
    others = _softmax(total[heard.candidate] - echoed.data, heard.statement, S)
    return belief, np.where(heard.judged[heard.statement], others, belief[heard.candidate])


def _softmax(x: FloatArray, group: IntArray, groups: int) -> FloatArray:
    top = np.full(groups, -np.inf)
    np.maximum.at(top, group, x)
    e = np.exp(x - top[group])
    return np.asarray(e / _summed(e, group, groups)[group])


def _summed(x: FloatArray, group: IntArray, groups: int) -> FloatArray:
    return np.bincount(group, x, minlength=groups).astype(float)


@dataclass(frozen=True, eq=False)
class _Counts:
    """What a round counted, every pair by its weight.

    `own`, (P,), is what a pair takes out again before it is scored: all that it put in, unless
    others alone had judged it. `profile` is (M, 4), `mean` (4,), `error` (K,).
    """

    own: FloatArray
    profile: FloatArray
    mean: FloatArray
    error: FloatArray
    source_truth_id: FloatArray
    confusion_id: FloatArray


def _count(heard: Evidence, weight: FloatArray, M: int, prior_weight: float) -> _Counts:
    counted = heard.statements.strength[heard.statement] * weight
    voiced = heard.voice[heard.statement] * counted
    slot = heard.statements.source[heard.statement] * len(FIRST_GUESS) + heard.kind
    said = heard.statements.label[heard.statement]
    mean = _summed(voiced, heard.kind, len(FIRST_GUESS)) + RARE
    error = _summed(voiced * (heard.kind >= NEAR), said, len(heard.popular))
    return _Counts(
        own=np.where(heard.judged[heard.statement], 0.0, counted),
        profile=_summed(counted, slot, M * len(FIRST_GUESS)).reshape(M, -1),
        mean=mean / mean.sum(),
        error=error + prior_weight * heard.popular,
        source_truth_id=_summed(counted, heard.source_truth_id, 0),
        confusion_id=_summed(counted, heard.confusion_id, 0),
    )


def _likelihood(heard: Evidence, counts: _Counts, J: float, prior_weight: float) -> FloatArray:
    """Return P_m(v | z) = (n_m(z, v) + J base_m(v | z)) / (n_m(z) + J), (P,).

    With few labels a source's own habits are soon known; with thousands, never, and the base,
    theta_m[kind] x the share of v within the kind, decides.
    """
    m, kind, own = heard.statements.source[heard.statement], heard.kind, counts.own
    of_kind = _without(counts.profile[m, kind], own) + prior_weight * counts.mean[kind]
    theta = of_kind / (_without(counts.profile.sum(axis=1)[m], own) + prior_weight)
    base = theta * _given(heard, counts.error, heard.voice[heard.statement] * own)
    confusion_id = _without(counts.confusion_id[heard.confusion_id], own) + J * base
    return np.asarray(
        confusion_id / (_without(counts.source_truth_id[heard.source_truth_id], own) + J)
    )


def _given(heard: Evidence, error: FloatArray, own: FloatArray) -> FloatArray:
    """Return the share of v within its kind, (P,).

    All ancestors of z are alike; near and far labels go by how often they are said in error.
    """
    v, z = heard.statements.label[heard.statement], heard.label[heard.candidate]
    near, far = heard.label_relations.weigh(error)
    mass = np.maximum(np.where(heard.kind == NEAR, near[z], far[z]) - own, TINY)
    # No more than the whole, before it is divided: what rounding leaves of one may be far less.
    share = np.maximum(np.minimum(np.maximum(error[v] - own, TINY), mass) / mass, TINY)
    vague = 1.0 / np.maximum(heard.label_relations.ancestors, 1)[z]
    return np.select([heard.kind == EXACT, heard.kind == VAGUE], [1.0, vague], share)


def _without(count: FloatArray, own: FloatArray) -> FloatArray:
    """Take an own count out; what rounding leaves below 0 is nothing."""
    return np.maximum(count - own, 0.0)


def _profiles(counts: _Counts, prior_weight: float) -> Profiles:
    total = counts.profile.sum(axis=1, keepdims=True)
    return Profiles(*((counts.profile + prior_weight * counts.mean) / (total + prior_weight)).T)


def _spread(heard: Evidence, belief: FloatArray, start: FloatArray) -> float:
    """Return how much instances differ, relative to how much the shares of statements do."""
    K, answered = len(heard.popular), max(int((np.diff(heard.possible.indptr) > 0).sum()), 1)

    def variance(value: FloatArray) -> float:
        total = _summed(value, heard.label, K)
        return max(float(value @ value - total @ total / answered), 0.0)

    varied = variance(start)
    return (variance(belief) / varied) ** 0.5 if varied > 0 else 0.0
