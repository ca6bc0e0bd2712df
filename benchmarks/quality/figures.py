"""Accuracy of scores and label sets from figures per instance, with bootstrap intervals.

Every metric is a function of sums over instances, so that a resample of the instances is a matrix
product, and two methods can be compared on the same resamples.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from mhpc.data.hierarchy import deepest
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import EncodedTruth
from mhpc.metrics.label_sets import LabelSets, compare_label_sets
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import FloatArray, Matrix, Sparse, dense

BINS = 10
"""Bins of scores in the calibration error."""


@dataclass(frozen=True, eq=False)
class InstanceFigures:
    """What the metrics need to know of each of T instances with a known truth.

    Attributes
    ----------
    correct, given, true : float arrays, (T,)
        Sizes of label sets: correct labels, labels given, true labels, all with ancestors.
    deepest : float array, (T,)
        Jaccard index of the deepest labels given and the deepest true ones.
    ranking : float array, (T,)
        Ranking loss.
    cells, scored, affirmed : float arrays, (T, BINS)
        Cells with a score in each bin, the sum of their scores, and how many are true. The cells
        are the labels that some source gave to the instance, with ancestors.
    """

    correct: FloatArray
    given: FloatArray
    true: FloatArray
    deepest: FloatArray
    ranking: FloatArray
    cells: FloatArray
    scored: FloatArray
    affirmed: FloatArray

    def save(self, path: Path) -> None:
        """Write the figures to an .npz file."""
        np.savez(path, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> "InstanceFigures":
        """Read the figures from an .npz file."""
        with np.load(path) as arrays:
            return cls(**{field.name: arrays[field.name] for field in fields(cls)})


def measure(
    scores: Matrix, label_sets: Sparse, truth: EncodedTruth, panel: Panel
) -> InstanceFigures:
    """Return the figures of scores, (N, K), and label sets, (N, K), per instance with a truth."""
    sets = compare_label_sets(label_sets, truth, panel.taxonomy)
    correct, given, true = sets.sizes
    known = dense(scores[truth.rows])
    cells, scored, affirmed = _count_bins(known, truth, panel)
    ranking = [ranking_loss(truth.closed[[row]], known[[row]]) for row in range(len(truth.rows))]
    return InstanceFigures(
        correct, given, true, _jaccard_of_deepest(sets, panel.taxonomy), np.array(ranking),
        cells, scored, affirmed,
    )  # fmt: skip


def _jaccard_of_deepest(sets: LabelSets, taxonomy: Taxonomy) -> FloatArray:
    given, true = (deepest(labels, taxonomy).astype(bool) for labels in (sets.given, sets.true))
    both = np.asarray((given.multiply(true)).sum(axis=1), dtype=float).ravel()
    sizes = (np.asarray(labels.sum(axis=1), dtype=float).ravel() for labels in (given, true))
    either = np.sum(list(sizes), axis=0) - both
    return np.asarray(np.divide(both, either, out=np.ones(len(both)), where=either > 0))


def _count_bins(
    scores: FloatArray, truth: EncodedTruth, panel: Panel
) -> tuple[FloatArray, FloatArray, FloatArray]:
    answered = panel.sum_answers(panel.augmented)[truth.rows].tocoo()
    row, label = answered.row, answered.col
    value = np.clip(scores[row, label], 0.0, 1.0)
    is_true = dense(truth.closed)[row, label] > 0
    cell = row * BINS + np.minimum((value * BINS).astype(int), BINS - 1)
    shape = (len(truth.rows), BINS)
    counts, sums, n_true = (
        np.bincount(cell, weights, minlength=shape[0] * BINS).astype(float).reshape(shape)
        for weights in (np.ones(len(cell)), value, is_true.astype(float))
    )
    return counts, sums, n_true


def hierarchical_f(weights: FloatArray, figures: InstanceFigures) -> FloatArray:
    """Return hierarchical F for each row of instance weights, (B, T) -> (B,)."""
    precision = _weighted_mean(weights, figures.correct, figures.given)
    recall = _weighted_mean(weights, figures.correct, figures.true)
    total = precision + recall
    f = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(f)


def _weighted_mean(weights: FloatArray, part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return the mean of part / whole over the instances with a whole."""
    share = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    count = weights @ (whole > 0)
    return np.asarray(np.divide(weights @ share, count, out=np.zeros_like(count), where=count > 0))


def deepest_accuracy(weights: FloatArray, figures: InstanceFigures) -> FloatArray:
    """Return the mean Jaccard index of the deepest labels."""
    return np.asarray(weights @ figures.deepest / weights.sum(axis=1))


def exact_match(weights: FloatArray, figures: InstanceFigures) -> FloatArray:
    """Return the share of instances with exactly their true labels."""
    exact = (figures.correct == figures.given) & (figures.correct == figures.true)
    return np.asarray(weights @ exact / weights.sum(axis=1))


def mean_ranking_loss(weights: FloatArray, figures: InstanceFigures) -> FloatArray:
    """Return the mean ranking loss."""
    return np.asarray(weights @ figures.ranking / weights.sum(axis=1))


def calibration_error(weights: FloatArray, figures: InstanceFigures) -> FloatArray:
    """Return the mean distance between score and share of true labels, over bins of scores."""
    gap = np.abs(weights @ figures.scored - weights @ figures.affirmed).sum(axis=1)
    count = (weights @ figures.cells).sum(axis=1)
    return np.asarray(np.divide(gap, count, out=np.zeros_like(count), where=count > 0))


METRICS: Mapping[str, Callable[[FloatArray, InstanceFigures], FloatArray]] = {
    "hierarchical_f": hierarchical_f,
    "deepest_accuracy": deepest_accuracy,
    "exact_match": exact_match,
    "ranking_loss": mean_ranking_loss,
    "calibration_error": calibration_error,
}


def resample(n_instances: int, n_resamples: int, *, seed: int = 0) -> FloatArray:
    """Return how often each instance is in each bootstrap sample, (B + 1, T); the first is all."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n_instances, np.full(n_instances, 1 / n_instances), size=n_resamples)
    return np.vstack([np.ones((1, n_instances)), drawn]).astype(float)


def interval(values: FloatArray) -> tuple[float, float, float]:
    """Return the value on all instances and its 95 % bootstrap interval."""
    low, high = np.percentile(values[1:], [2.5, 97.5]) if len(values) > 1 else (np.nan, np.nan)
    return float(values[0]), float(low), float(high)
