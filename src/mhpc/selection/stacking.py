"""Stacking: the probability that a label applies, from the scores that several methods give it.

A logistic regression of the truth on three features of an instance and a label that some source
gave to it. Its weights are the same for all panels. They were learned from simulated panels and
from real ones with a truth by ``python -m benchmarks.quality.stacking``, which also shows how well
weights do on kinds of sources that they were not learned from.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from mhpc.data.panel import Panel
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import canonical, incidence, lookup_cells, row_indices

FEATURES = ("intercept", "dawid-skene", "mhpc-local", "popularity")
"""The names of the features, in the order of the weights."""

WEIGHTS: FloatArray = np.array([-0.66, 0.30, 0.58, -0.18])
"""The weight of every feature."""

ONE_TRUTH_WEIGHT = 0.8
"""The weight of `one-truth` if every answer consists of one label."""

ONE_TRUTH_POWER = 20.0
"""How fast that weight falls with the share of such answers: it is a third if 4 % hold more."""

MIN_TRUTH = 1e-3
"""Limit of the probabilities of Dawid-Skene, which are overconfident if sources are dependent:
lower ones count as this, and higher ones as 1 minus this."""

MIN_SMOOTHED = 5e-3
"""The limit of shares that were smoothed over similar instances."""

MIN_POPULARITY = 1e-3
"""The limit of the popularity of labels."""


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """The P pairs of an instance and a label that some answer contains, ancestors included.

    Attributes
    ----------
    shape : pair of int
        (N, K).
    instance, label : int arrays, (P,)
        The pairs, by instance, then label.
    asked : float array, (P,)
        The weight of the answers about each pair: of sources that have the label in their scope.
    """

    shape: tuple[int, int]
    instance: IntArray
    label: IntArray
    asked: FloatArray

    def values_of(self, matrix: Block) -> FloatArray:
        """Return the values of a matrix at the pairs, (P,)."""
        if isinstance(matrix, np.ndarray):
            return np.asarray(matrix[self.instance, self.label], dtype=np.float64)
        matrix, n_labels = canonical(matrix), self.shape[1]
        cells = row_indices(matrix) * n_labels + matrix.indices
        return lookup_cells(self.instance * n_labels + self.label, cells, matrix.data)

    def to_matrix(self, values: FloatArray) -> Sparse:
        """Return one value per pair as a matrix of instances x labels."""
        return sparse.csr_array((values, (self.instance, self.label)), shape=self.shape)


def find_given(panel: Panel) -> GivenLabels:
    """Return the labels that the sources of a panel gave to each instance."""
    N, K, M = len(panel.instances), len(panel.taxonomy), len(panel.sources)
    given = canonical(incidence(panel.instance, shape=(N, len(panel.instance))) @ panel.augmented)
    instance, label = row_indices(given), given.indices.astype(np.int64)
    pairs = GivenLabels((N, K), instance, label, panel.evidence[instance])
    if panel.scope is None:
        return pairs
    answered = incidence(panel.instance, panel.source, shape=(N, M), values=panel.answer_weights)
    weight = answered @ panel.scope
    if panel.outside_scope is not None:
        weight = weight + panel.sum_answers(panel.outside_scope)
    asked = pairs.values_of(weight.tocsr())
    return GivenLabels((N, K), instance, label, asked)


def make_features(
    given: GivenLabels, *, dawid_skene: Block, smoothed: Block, popularity: FloatArray
) -> FloatArray:
    """Return the features of labels that were given, (P, 4).

    Evidence that is summed over n dependent sources overstates itself, by about the square root of
    n; so the log odds of Dawid-Skene are divided by it.

    Parameters
    ----------
    given : GivenLabels
        The pairs.
    dawid_skene, smoothed : matrices, (N, K)
        The scores of `dawid-skene`, and those of `mhpc-local`, which are shares of sources smoothed
        over similar instances.
    popularity : float array, (K,)
        The share of the answers that contain each label.
    """
    truth = _log_odds(given.values_of(dawid_skene), MIN_TRUTH)
    features = (
        np.ones(len(truth)),
        truth / np.sqrt(np.maximum(given.asked, 1.0)),
        _log_odds(given.values_of(smoothed), MIN_SMOOTHED),
        _log_odds(popularity[given.label], MIN_POPULARITY),
    )
    return np.stack(features, axis=1)


def _log_odds(p: FloatArray, least: float) -> FloatArray:
    return np.asarray(logit(np.clip(p, least, 1 - least)))


def stack(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the probability that each label applies, (P, 5) features and (5,) weights to (P,)."""
    return np.asarray(expit(features @ weights))


def weigh_one_truth(single_label_share: float) -> float:
    """Return the weight of `one-truth`, from the share of answers that consist of one label.

    There is no clean line between panels of which every instance has one true label and those with
    sets: a few answers with two labels must not change the result much.
    """
    return float(ONE_TRUTH_WEIGHT * single_label_share**ONE_TRUTH_POWER)
