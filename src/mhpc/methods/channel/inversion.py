"""Bayes' rule backwards through the noise model: from votes to the labels they come from.

x_it is the expected number of votes per answer to instance i that come from the true label t.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.methods.channel.answers import VoteCounts
from mhpc.methods.channel.corruption import Corruption
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.numerics.sparse import row_indices
from mhpc.parameters import registered

MISS_RATE = 0.1
"""The probability that one answer does not vote for a true label; it ranks labels without votes."""

MIN_PROBABILITY = 1e-12


@registered("channel.inversion")
@dataclass(frozen=True, eq=False)
class Inversion:
    """The learned noise model and the weights of the priors.

    Attributes
    ----------
    corruption : Corruption
        C, P(v is given | t is true).
    popularity : float array, (K,)
        How often each label is true, per answer.
    prior : float
        The weight of the prior from neighbours and popularity, in answers.
    popularity_share : float
        The share of popularity in that prior.
    """

    corruption: Corruption
    popularity: FloatArray
    prior: float
    popularity_share: float

    def first_guess(self, votes: VoteCounts) -> FloatArray:
        """Return x with popularity as the prior, (N, K)."""
        return first_guess(votes, self.corruption, self.popularity)

    def step(self, votes: VoteCounts, x: FloatArray, neighbors: FloatArray) -> FloatArray:
        """Return x with a prior from x itself, that of neighbours and popularity, (N, K).

        With q = (n x + prior a) / (n + prior), where n is the number of answers and a the mean of
        the neighbours and popularity,

            x_t = q_t ((1 - missed) sum over v of mean votes_v C_tv / (q C)_v + missed).
        """
        n = votes.answers[:, None]
        q = self.prior * (1 - self.popularity_share) * neighbors
        q += self.prior * self.popularity_share * self.popularity
        q += n * x
        q /= np.maximum(n + self.prior, 1e-9)
        expected = self.corruption.forward(q)[row_indices(votes.votes), votes.votes.indices]
        ratio = self.corruption.backward(_divide(votes.votes, expected))
        ratio /= np.maximum(n, 1e-9)
        missed = missed_share(votes.answers)
        ratio *= 1 - missed
        ratio += missed
        ratio *= q
        return ratio


def first_guess(votes: VoteCounts, corruption: Corruption, popularity: FloatArray) -> FloatArray:
    """Return the origins of the votes by Bayes' rule, and popularity for labels missed, (N, K).

    A vote for v comes from t with the probability popularity_t C_tv / (popularity C)_v.
    """
    mean = mean_votes(votes)
    expected = corruption.forward(popularity[None, :])[0]
    x = corruption.backward(_divide(mean, expected[mean.indices]))
    x += missed_share(votes.answers)
    x *= popularity
    return x


def mean_votes(votes: VoteCounts) -> Sparse:
    """Return the mean votes of every instance, less the share of labels missed, (N, K)."""
    share = (1.0 - missed_share(votes.answers).ravel()) / np.maximum(votes.answers, 1e-9)
    return (sparse.diags_array(share, format="csr") @ votes.votes).tocsr()


def missed_share(answers: FloatArray) -> FloatArray:
    """Return the probability that no answer votes for a true label, (N, 1)."""
    return np.asarray(MISS_RATE ** np.maximum(answers, 1.0)[:, None])


def _divide(votes: Sparse, expected: FloatArray) -> Sparse:
    """Return the votes, each divided by what was expected of it."""
    ratio = votes.data / np.maximum(expected, MIN_PROBABILITY)
    return sparse.csr_array((ratio, votes.indices, votes.indptr), shape=votes.shape)
