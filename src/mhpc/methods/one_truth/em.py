"""Expectation maximization: the true label of each instance, and how each source errs.

Letters: z a candidate truth, v the label given, m the source, theta_m its profile, q the share of
each label among errors, n_m(z, v) how often m gives v where z is true, J the strength of the prior.
"""

import time
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mhpc.data.panel import Panel
from mhpc.data.profiles import BySource
from mhpc.data.scores import Step
from mhpc.methods.one_truth.evidence import Evidence, build_evidence
from mhpc.methods.one_truth.label_relations import Relation
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import incidence, lookup_cells
from mhpc.parameters import registered
from mhpc.system.display import Progress, silent

INITIAL_PROFILE = np.array([0.7, 0.1, 0.1, 0.1])
"""The profile of every source before the first iteration."""

MEAN_PROFILE_PRIOR = 0.01
"""Answers of each relation that the mean profile has beyond those counted."""

UNSEEN_VOTES = 0.5
"""Votes that every label has beyond those counted."""

MIN_SHARE = 1e-12
"""The smallest share, and the distance of the largest probability from 1."""

MIN_PROBABILITY = 1e-300
"""The smallest probability, so that its logarithm is finite."""


@registered("one-truth.cell-counts")
@dataclass(frozen=True, eq=False)
class CellCounts:
    """Expected counts at numbered cells; all other cells have 0.

    Attributes
    ----------
    cells : int array, (c,)
        The numbers of the cells, in order.
    counts : float array, (c,)
        Their counts.
    """

    cells: IntArray
    counts: FloatArray

    def at(self, cells: IntArray) -> FloatArray:
        """Return the counts at any cells."""
        return lookup_cells(cells, self.cells, self.counts)


@registered("one-truth.profiles")
@dataclass(frozen=True, eq=False)
class LearnedProfiles:
    """What EM learned of labels and sources: enough to score any instance by one E-step.

    Attributes
    ----------
    popularity : float array, (K,)
        The share of each label among all votes: the prior of a truth.
    relations : float array, (M, 4)
        Expected answers of each source that are exact, vague, near and far.
    mean_profile : float array, (4,)
        The shares of the four over all sources.
    errors : float array, (K,)
        How often each label is given in error.
    truths : CellCounts
        n_m(z): expected answers of a source where z is true, in the cells (m, z).
    confusions : CellCounts
        n_m(z, v): those in which it gives v, in the cells (m, z, v).
    prior_confusions : float
        J: the weight of a source's profile against its own confusions.
    prior_weight : float
        The weight of the mean profile against a source's own.
    """

    popularity: FloatArray
    # A source without answers has the mean profile.
    relations: Annotated[FloatArray, BySource(new=0.0)]
    mean_profile: FloatArray
    errors: FloatArray
    truths: CellCounts
    confusions: CellCounts
    prior_confusions: float
    prior_weight: float

    @property
    def profiles(self) -> FloatArray:
        """theta, the share of each relation in the answers of each source, (M, 4).

        Shrunk towards the mean profile, which a source with few answers nearly has.
        """
        total = self.relations.sum(axis=1, keepdims=True)
        expected = self.relations + self.prior_weight * self.mean_profile
        return np.asarray(expected / (total + self.prior_weight))

    def posterior(
        self, panel: Panel, dependence: FloatArray | None, known: Sparse | None
    ) -> Sparse:
        """Return the posterior of the truth of every instance, (N, K), by one E-step."""
        evidence = build_evidence(panel, dependence, known)
        likelihood = _likelihood(
            evidence,
            self,
            n_truth=self.truths.at(evidence.truth_cells),
            n_confusion=self.confusions.at(evidence.confusion_cells),
            own=np.zeros(len(evidence.vote)),
        )
        log_likelihood = _log_likelihood(evidence, likelihood)
        log_posterior = _log_posterior(evidence, log_likelihood, self.popularity)
        return evidence.as_matrix(_normalize(evidence, log_posterior))


@dataclass(frozen=True, eq=False)
class EMResult:
    """The result of EM.

    Attributes
    ----------
    posterior : csr_array, (N, K)
        The probability that a label is the most specific true one; rows add up to 1, or to 0 where
        an instance has no votes.
    learned : LearnedProfiles
        What was learned of labels and sources.
    trace : tuple of Step
        The iterations.
    """

    posterior: Sparse
    learned: LearnedProfiles
    trace: tuple[Step, ...]


def run_em(
    panel: Panel,
    *,
    dependence: FloatArray | None = None,
    known: Sparse | None = None,
    jeffreys: float = 0.5,
    prior_weight: float = 10.0,
    tol: float = 1e-3,
    max_iter: int = 100,
    progress: Progress = silent,
) -> EMResult:
    """Estimate truths, source profiles, frequent errors and confusions in turn, from votes alone.

    Each iteration computes the posterior of every candidate (E-step), counts relations, errors and
    confusions by it, and computes from the counts how likely each vote is under each candidate
    (M-step). No vote is evidence for itself: where enough independent others answered the instance,
    a vote is counted by the posterior that they alone give; where not, its own count is subtracted
    again before its likelihood is computed.

    Parameters
    ----------
    panel : Panel
        Its scope is ignored.
    dependence : float array, (M, M), optional
        The dependence between sources, in [0, 1]; none unless given.
    known : csr_array, (N, K), optional
        True labels with their ancestors; the truth of an empty row is not known.
    jeffreys, prior_weight, tol, max_iter
        As in `OneTruth`.
    progress : Progress
        Called after every iteration.
    """
    evidence = build_evidence(panel, dependence, known)
    m_step = _prepare_m_step(evidence, len(panel.sources), jeffreys, prior_weight)
    initial = posterior = evidence.vote_shares()
    likelihood = m_step.initial_likelihood()
    trace = list[Step]()
    for iteration in range(max_iter):
        began, before = time.perf_counter(), posterior
        posterior, by_others = _e_step(evidence, likelihood, m_step.popularity)
        learned, likelihood = m_step.maximize(posterior, by_others)
        change = float(np.abs(posterior - before).sum() / max(before.sum(), 1.0))
        spread = _relative_spread(evidence, posterior, initial)
        trace.append(Step(iteration, change, None, spread, time.perf_counter() - began))
        progress("learning", iteration + 1, max_iter)
        if change <= tol:
            break
    return EMResult(evidence.as_matrix(posterior), learned, tuple(trace))


def _e_step(
    evidence: Evidence, likelihood: FloatArray, popularity: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior of each candidate, (C,), and that by the other answers alone, (P,).

    The second leaves out of the sum, for each pair, its vote and what is redundant with it.
    """
    log_likelihood = _log_likelihood(evidence, likelihood)
    log_posterior = _log_posterior(evidence, log_likelihood, popularity)
    V, C = len(evidence.votes.label), len(evidence.candidate_label)
    by_vote = incidence(evidence.vote, evidence.candidate, shape=(V, C), values=log_likelihood)
    redundant = (evidence.redundancy @ by_vote).tocsr()
    # All terms are negative: no sum vanishes, and the stored entries are exactly the pairs.
    redundant.sort_indices()
    by_others = _softmax(log_posterior[evidence.candidate] - redundant.data, evidence.vote, V)
    return _normalize(evidence, log_posterior), by_others


def _log_likelihood(evidence: Evidence, likelihood: FloatArray) -> FloatArray:
    """Return weight x log P_m(v | z) of each pair, (P,)."""
    weight = (evidence.independence * evidence.votes.strength)[evidence.vote]
    return np.asarray(weight * np.log(np.clip(likelihood, MIN_PROBABILITY, 1 - MIN_SHARE)))


def _log_posterior(
    evidence: Evidence, log_likelihood: FloatArray, popularity: FloatArray
) -> FloatArray:
    """Return log popularity(z) + sum over votes of weight x log P_m(v | z), (C,)."""
    total = _sum_by(evidence.candidate, log_likelihood, len(evidence.candidate_label))
    return np.asarray(total + np.log(popularity[evidence.candidate_label]))


def _normalize(evidence: Evidence, log_posterior: FloatArray) -> FloatArray:
    """Return the posterior, (C,), which adds up to 1 for every instance."""
    return _softmax(log_posterior, evidence.candidate_instance, evidence.candidates.shape[0])


@dataclass(frozen=True, eq=False)
class _MStep:
    """The M-step: its priors, and the cells in which pairs are counted.

    `truth` and `confusion`, (P,), say which of the distinct cells each pair is in.
    """

    evidence: Evidence
    n_sources: int
    popularity: FloatArray
    prior_confusions: float
    prior_weight: float
    truth_cells: IntArray
    truth: IntArray
    confusion_cells: IntArray
    confusion: IntArray

    def initial_likelihood(self) -> FloatArray:
        """Return P(v | z) before anything is counted, (P,)."""
        no_own = np.zeros(len(self.evidence.vote))
        share = _share_within_relation(self.evidence, self.popularity, no_own)
        return np.asarray(INITIAL_PROFILE[self.evidence.relation] * share)

    def maximize(
        self, posterior: FloatArray, by_others: FloatArray
    ) -> tuple[LearnedProfiles, FloatArray]:
        """Return what a posterior teaches, and P_m(v | z) by it, (P,), without own counts."""
        evidence = self.evidence
        by_others_alone = evidence.has_enough_others[evidence.vote]
        weight = np.where(by_others_alone, by_others, posterior[evidence.candidate])
        counts = evidence.votes.strength[evidence.vote] * weight
        learned = self._learn(counts)
        likelihood = _likelihood(
            evidence,
            learned,
            n_truth=learned.truths.counts[self.truth],
            n_confusion=learned.confusions.counts[self.confusion],
            own=np.where(by_others_alone, 0.0, counts),
        )
        return learned, likelihood

    def _learn(self, counts: FloatArray) -> LearnedProfiles:
        evidence, n_relations = self.evidence, len(Relation)
        independent = evidence.independence[evidence.vote] * counts
        of_source = evidence.votes.source[evidence.vote] * n_relations + evidence.relation
        relations = _sum_by(of_source, counts, self.n_sources * n_relations)
        mean = _sum_by(evidence.relation, independent, n_relations) + MEAN_PROFILE_PRIOR
        in_error = independent * (evidence.relation >= Relation.NEAR)
        errors = _sum_by(evidence.given, in_error, len(self.popularity))
        truths = _sum_by(self.truth, counts, len(self.truth_cells))
        confusions = _sum_by(self.confusion, counts, len(self.confusion_cells))
        return LearnedProfiles(
            popularity=self.popularity,
            relations=relations.reshape(self.n_sources, n_relations),
            mean_profile=mean / mean.sum(),
            errors=errors + self.prior_weight * self.popularity,
            truths=CellCounts(self.truth_cells, truths),
            confusions=CellCounts(self.confusion_cells, confusions),
            prior_confusions=self.prior_confusions,
            prior_weight=self.prior_weight,
        )


def _prepare_m_step(
    evidence: Evidence, n_sources: int, jeffreys: float, prior_weight: float
) -> _MStep:
    """Return the M-step, with the distinct cells (m, z) and (m, z, v) and the popularity."""
    truth_cells, truth = np.unique(evidence.truth_cells, return_inverse=True)
    confusion_cells, confusion = np.unique(evidence.confusion_cells, return_inverse=True)
    # Votes of dependent sources share one weight.
    weight = evidence.independence * evidence.votes.strength
    votes = _sum_by(evidence.votes.label, weight, evidence.candidates.shape[1]) + UNSEEN_VOTES
    return _MStep(
        evidence=evidence,
        n_sources=n_sources,
        popularity=votes / votes.sum(),
        prior_confusions=jeffreys * max(len(np.unique(evidence.votes.label)), 1),
        prior_weight=prior_weight,
        truth_cells=truth_cells,
        truth=truth,
        confusion_cells=confusion_cells,
        confusion=confusion,
    )


def _likelihood(
    evidence: Evidence,
    learned: LearnedProfiles,
    *,
    n_truth: FloatArray,
    n_confusion: FloatArray,
    own: FloatArray,
) -> FloatArray:
    """Return P_m(v | z) = (n_m(z, v) + J base_m(v | z)) / (n_m(z) + J), (P,).

    The base is theta_m[relation] x the share of v within the relation. With few labels a source's
    own confusions are soon known; with thousands they never are, and the base decides.

    Parameters
    ----------
    n_truth, n_confusion : float arrays, (P,)
        n_m(z) and n_m(z, v) of each pair.
    own : float array, (P,)
        What the pair itself contributed to the counts, to be subtracted.
    """
    source, prior_weight = evidence.votes.source[evidence.vote], learned.prior_weight
    n_relation = _subtract(learned.relations[source, evidence.relation], own)
    n_source = _subtract(learned.relations.sum(axis=1)[source], own)
    theta = (n_relation + prior_weight * learned.mean_profile[evidence.relation]) / (
        n_source + prior_weight
    )
    own_errors = evidence.independence[evidence.vote] * own
    base = theta * _share_within_relation(evidence, learned.errors, own_errors)
    J = learned.prior_confusions
    return np.asarray((_subtract(n_confusion, own) + J * base) / (_subtract(n_truth, own) + J))


def _share_within_relation(evidence: Evidence, errors: FloatArray, own: FloatArray) -> FloatArray:
    """Return the share of v among the labels with the same relation to z, (P,).

    All ancestors of z are equally likely; near and far labels by how often they are given in error.
    """
    v, z = evidence.given, evidence.truth
    near, far = evidence.label_relations.sum_near_and_far(errors)
    total = np.where(evidence.relation == Relation.NEAR, near[z], far[z])
    total = np.maximum(total - own, MIN_SHARE)
    # Limited to the total before the division: rounding may leave a total far below one part.
    part = np.minimum(np.maximum(errors[v] - own, MIN_SHARE), total)
    share = np.maximum(part / total, MIN_SHARE)
    vague = 1.0 / np.maximum(evidence.label_relations.n_ancestors, 1)[z]
    is_exact, is_vague = (
        evidence.relation == relation for relation in (Relation.EXACT, Relation.VAGUE)
    )
    return np.select([is_exact, is_vague], [1.0, vague], share)


def _relative_spread(evidence: Evidence, posterior: FloatArray, initial: FloatArray) -> float:
    """Return how much instances differ, relative to how much the shares of their votes do."""
    answered = max(int((np.diff(evidence.candidates.indptr) > 0).sum()), 1)

    def variance(value: FloatArray) -> float:
        total = _sum_by(evidence.candidate_label, value, evidence.candidates.shape[1])
        return max(float(value @ value - total @ total / answered), 0.0)

    of_initial = variance(initial)
    return (variance(posterior) / of_initial) ** 0.5 if of_initial > 0 else 0.0


def _softmax(x: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    largest = np.full(n_groups, -np.inf)
    np.maximum.at(largest, group, x)
    exponential = np.exp(x - largest[group])
    return np.asarray(exponential / _sum_by(group, exponential, n_groups)[group])


def _sum_by(group: IntArray, x: FloatArray, n_groups: int) -> FloatArray:
    return np.bincount(group, x, minlength=n_groups).astype(float)


def _subtract(count: FloatArray, own: FloatArray) -> FloatArray:
    """Subtract an own contribution; what rounding leaves below 0 is 0."""
    return np.maximum(count - own, 0.0)
