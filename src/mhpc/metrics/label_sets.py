"""Metrics of label sets against the truth, both with all ancestors.

Hierarchical precision, recall and F, averaged over instances and micro, are those of cafaeval
(Piovesan and others, Bioinformatics Advances 2024).
"""

from dataclasses import dataclass

import numpy as np

from mhpc.data.hierarchy import deepest
from mhpc.data.scorecard import LevelScore
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import EncodedTruth
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse, ratio
from mhpc.system.caching import cached_property


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The labels that instances were given, and their true labels.

    Attributes
    ----------
    given, true : csr_array, (T, K)
        Ones at the labels of each set; both closed under ancestors.
    taxonomy : Taxonomy
        K labels.
    """

    given: Sparse
    true: Sparse
    taxonomy: Taxonomy

    @cached_property
    def correct(self) -> Sparse:
        """Ones at labels that were given and are true."""
        return self.given.multiply(self.true).tocsr()

    @cached_property
    def sizes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The number of correct, given and true labels of each instance, (T,) each."""
        return _row_sizes(self.correct), _row_sizes(self.given), _row_sizes(self.true)


def compare_label_sets(given: Sparse, truth: EncodedTruth, taxonomy: Taxonomy) -> LabelSets:
    """Return the sets of those instances whose truth is known.

    Parameters
    ----------
    given : csr_array, (N, K)
        An entry at every label that an instance was given, closed under ancestors.
    truth : EncodedTruth
        The true labels of some of the instances.
    taxonomy : Taxonomy
        K labels.
    """
    return LabelSets(_ones(given[truth.rows]), _ones(truth.closed), taxonomy)


def precision(sets: LabelSets) -> float:
    """Return the mean share of given labels that are true, over instances given any."""
    correct, given, _ = sets.sizes
    return _mean(correct[given > 0] / given[given > 0])


def recall(sets: LabelSets) -> float:
    """Return the mean share of true labels that were given, over instances that have any."""
    correct, _, true = sets.sizes
    return _mean(correct[true > 0] / true[true > 0])


def f(sets: LabelSets) -> float:
    """Return the harmonic mean of `precision` and `recall`."""
    return _harmonic_mean(precision(sets), recall(sets))


def micro_precision(sets: LabelSets) -> float:
    """Return the share of all given labels that are true."""
    correct, given, _ = sets.sizes
    return ratio(correct.sum(), given.sum())


def micro_recall(sets: LabelSets) -> float:
    """Return the share of all true labels that were given."""
    correct, _, true = sets.sizes
    return ratio(correct.sum(), true.sum())


def micro_f(sets: LabelSets) -> float:
    """Return the harmonic mean of `micro_precision` and `micro_recall`."""
    return _harmonic_mean(micro_precision(sets), micro_recall(sets))


def instance_f(sets: LabelSets) -> float:
    """Return the mean F of an instance; 1 if it has no label and is given none."""
    correct, given, true = sets.sizes
    return _mean(_ratios_or_one(2 * correct, given + true))


def exact_match(sets: LabelSets) -> float:
    """Return the share of instances that were given their true labels and no others."""
    correct, given, true = sets.sizes
    return _mean((correct == given) & (correct == true))


def tree_distance(sets: LabelSets) -> float:
    """Return the mean number of labels in one of the two sets but not in the other.

    For one label each in a tree this is the number of steps between them, roots being joined by a
    common parent that is not a label.
    """
    correct, given, true = sets.sizes
    return _mean(given + true - 2 * correct)


def deepest_accuracy(sets: LabelSets) -> float:
    """Return the mean Jaccard index of the deepest given and the deepest true labels.

    For one label each this is the share of instances whose label is correct. It is 1 for an
    instance that has no label and is given none.
    """
    given, true = deepest(sets.given, sets.taxonomy), deepest(sets.true, sets.taxonomy)
    correct = _row_sizes(given.multiply(true).tocsr())
    return _mean(_ratios_or_one(correct, _row_sizes(given) + _row_sizes(true) - correct))


def levels(sets: LabelSets) -> tuple[LevelScore, ...]:
    """Return precision, recall and F of every level, over all instances."""
    counts = (
        _level_sizes(labels, sets.taxonomy) for labels in (sets.correct, sets.given, sets.true)
    )
    return tuple(
        _level_score(level, *map(int, sizes))
        for level, sizes in enumerate(zip(*counts, strict=True), start=1)
    )


def _level_score(level: int, correct: int, given: int, true: int) -> LevelScore:
    precision, recall = ratio(correct, given), ratio(correct, true)
    return LevelScore(level, true, given, precision, recall, _harmonic_mean(precision, recall))


def _level_sizes(labels: Sparse, taxonomy: Taxonomy) -> IntArray:
    depth = taxonomy.depth[labels.indices]
    return np.bincount(depth, minlength=len(taxonomy.levels) + 1)[1:]


def _row_sizes(labels: Sparse) -> FloatArray:
    return np.asarray(np.diff(labels.indptr), dtype=np.float64)


def _ones(labels: Sparse) -> Sparse:
    ones: Sparse = labels.astype(np.float64)
    ones.eliminate_zeros()
    ones.data[:] = 1.0
    return ones


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _ratios_or_one(part: FloatArray, total: FloatArray) -> FloatArray:
    return np.divide(part, total, out=np.ones(len(total)), where=total > 0)


def _harmonic_mean(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b else 0.0
