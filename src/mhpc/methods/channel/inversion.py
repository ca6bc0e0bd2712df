"""Bayes' rule backwards through the noise model: from votes to the labels they come from.

x_it is the expected number of votes per answer to instance i that come from the true label t.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.methods.channel.answers import VoteCounts
from mhpc.numerics.arrays import FloatArray, Sparse, dense
from mhpc.numerics.sparse import row_indices
from mhpc.parameters import registered

MISS_RATE = 0.1
"""The probability that one answer does not vote for a true label; it ranks labels without votes."""

MIN_PROBABILITY = 1e-12

SPARSE_CELLS = 200
"""Cells per entry of a matrix from which on a sparse product is faster than a dense one."""


@registered("channel.inversion")
@dataclass(frozen=True, eq=False)
class Inversion:
    """The learned noise model and the weights of the priors.

    Attributes
    ----------
    C : csr_array, (K, K)
        P(v is given | t is true).
    popularity : float array, (K,)
        How often each label is true, per answer.
    prior : float
        The weight of the prior from neighbours and popularity, in answers.
    popularity_share : float
        The share of popularity in that prior.
    """

    C: Sparse
    popularity: FloatArray
    prior: float
    popularity_share: float

    def first_guess(self, votes: VoteCounts) -> FloatArray:
        """Return x with popularity as the prior, (N, K)."""
        return first_guess(votes, self.C, self.popularity)

    def step(self, votes: VoteCounts, x: FloatArray, neighbors: FloatArray) -> FloatArray:
        """Return x with a prior from x itself, that of neighbours and popularity, (N, K).

        With q = (n x + prior a) / (n + prior), where n is the number of answers and a the mean of
        the neighbours and popularity,

            x_t = q_t ((1 - missed) sum over v of mean votes_v C_tv / (q C)_v + missed).
        """
        n = votes.answers[:, None]
        q = (1 - self.popularity_share) * neighbors + self.popularity_share * self.popularity
        q *= self.prior
        q += n * x
        q /= np.maximum(n + self.prior, 1e-9)
        ratio = multiply_votes(_divide_by_expected(votes.votes, q, self.C), self.C.T.tocsr())
        ratio /= np.maximum(n, 1e-9)
        missed = missed_share(votes.answers)
        ratio *= 1 - missed
        ratio += missed
        ratio *= q
        return ratio


def first_guess(votes: VoteCounts, C: Sparse, popularity: FloatArray) -> FloatArray:
    """Return the origins of the votes by Bayes' rule, and popularity for labels missed, (N, K)."""
    x = multiply_votes(mean_votes(votes), invert(C, popularity))
    x += missed_share(votes.answers) * popularity
    return x


def invert(C: Sparse, popularity: FloatArray) -> Sparse:
    """Return O_vt = P(t is true | v is given), (K, K), by Bayes' rule."""
    joint = (sparse.diags_array(popularity, format="csr") @ C).T
    total = np.maximum(popularity @ C, MIN_PROBABILITY)
    return (sparse.diags_array(1.0 / total, format="csr") @ joint).tocsr()


def mean_votes(votes: VoteCounts) -> Sparse:
    """Return the mean votes of every instance, less the share of labels missed, (N, K)."""
    share = (1.0 - missed_share(votes.answers).ravel()) / np.maximum(votes.answers, 1e-9)
    return (sparse.diags_array(share, format="csr") @ votes.votes).tocsr()


def missed_share(answers: FloatArray) -> FloatArray:
    """Return the probability that no answer votes for a true label, (N, 1)."""
    return np.asarray(MISS_RATE ** np.maximum(answers, 1.0)[:, None])


def _divide_by_expected(votes: Sparse, x: FloatArray, C: Sparse) -> Sparse:
    """Return votes / (x C), at the votes only, (N, K)."""
    expected = multiply(x, C)[row_indices(votes), votes.indices]
    ratio = votes.data / np.maximum(expected, MIN_PROBABILITY)
    return sparse.csr_array((ratio, votes.indices, votes.indptr), shape=votes.shape)


def multiply(x: FloatArray, matrix: Sparse, *, sparse_cells: int = SPARSE_CELLS) -> FloatArray:
    """Return x @ matrix, by a sparse or a dense product, whichever is faster."""
    if matrix.nnz * sparse_cells < np.prod(matrix.shape):
        return np.asarray((matrix.T @ x.T).T)
    return x @ dense(matrix)


def multiply_votes(
    votes: Sparse, matrix: Sparse, *, sparse_cells: int = SPARSE_CELLS
) -> FloatArray:
    """Return votes @ matrix as a dense array, by a sparse or a dense product."""
    if matrix.nnz * sparse_cells < np.prod(matrix.shape):
        return dense(votes @ matrix)
    return np.asarray(votes @ dense(matrix))
