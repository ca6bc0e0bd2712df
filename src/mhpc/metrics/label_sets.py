"""Metrics of label sets against the truth, both with all ancestors.

Hierarchical precision, recall and F, averaged over instances and micro, are those of cafaeval
(Piovesan and others, Bioinformatics Advances 2024). Costs what the sets hold.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mhpc.data.hierarchy import deepest
from mhpc.data.scorecard import LevelScore
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import EncodedTruth
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse


@dataclass(frozen=True, eq=False)
class LabelSets:
    """What was given to some instances, beside what they have.

    Attributes
    ----------
    given, true : csr_array, (T, K)
        Ones; both closed under ancestors.
    taxonomy : Taxonomy
        The labels.
    """

    given: Sparse
    true: Sparse
    taxonomy: Taxonomy

    @cached_property
    def right(self) -> Sparse:
        """Ones where a label that was given is true."""
        return self.given.multiply(self.true).tocsr()

    @cached_property
    def sizes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How many labels of each instance are right, given and true, (T,) each."""
        right, given, true = (_per_row(matrix) for matrix in (self.right, self.given, self.true))
        return right, given, true


def compare_label_sets(given: Sparse, truth: EncodedTruth, taxonomy: Taxonomy) -> LabelSets:
    """Return the sets of those instances whose truth is known, (N, K) in."""
    return LabelSets(_ones(given[truth.rows]), _ones(truth.closed), taxonomy)


def precision(sets: LabelSets) -> float:
    """Return the mean share of an instance's labels that are true, over those given any."""
    right, given, _ = sets.sizes
    return _mean(right[given > 0] / given[given > 0])


def recall(sets: LabelSets) -> float:
    """Return the mean share of an instance's true labels that it is given, over those with any."""
    right, _, true = sets.sizes
    return _mean(right[true > 0] / true[true > 0])


def f(sets: LabelSets) -> float:
    """Return the harmonic mean of `precision` and `recall`."""
    return _harmonic(precision(sets), recall(sets))


def micro_precision(sets: LabelSets) -> float:
    """Return the share of all labels given that are true."""
    right, given, _ = sets.sizes
    return _share(right.sum(), given.sum())


def micro_recall(sets: LabelSets) -> float:
    """Return the share of all true labels that are given."""
    right, _, true = sets.sizes
    return _share(right.sum(), true.sum())


def micro_f(sets: LabelSets) -> float:
    """Return the harmonic mean of `micro_precision` and `micro_recall`."""
    return _harmonic(micro_precision(sets), micro_recall(sets))


def instance_f(sets: LabelSets) -> float:
    """Return the mean F of an instance; 1 where it has no label and is given none."""
    right, given, true = sets.sizes
    both = given + true
    return _mean(np.divide(2 * right, both, out=np.ones(len(both)), where=both > 0))


def exact_match(sets: LabelSets) -> float:
    """Return the share of instances that are given their true labels and no others."""
    right, given, true = sets.sizes
    return _mean((right == given) & (right == true))


def tree_distance(sets: LabelSets) -> float:
    """Return the mean number of labels that are given and not true, or true and not given.

    For one label each in a tree these are the steps from one to the other, two roots being joined
    above by one that is no label.
    """
    right, given, true = sets.sizes
    return _mean(given + true - 2 * right)


def deepest_accuracy(sets: LabelSets) -> float:
    """Return how far the deepest labels given are the deepest true ones.

    The mean number of those in both over the number of those in either; 1 where there are
    neither. For one label each that is how often it is the right one.
    """
    given, true = (deepest(each, sets.taxonomy) for each in (sets.given, sets.true))
    right = _per_row(given.multiply(true).tocsr())
    either = _per_row(given) + _per_row(true) - right
    return _mean(np.divide(right, either, out=np.ones(len(either)), where=either > 0))


def levels(sets: LabelSets) -> tuple[LevelScore, ...]:
    """Return precision, recall and F of every level, all instances together."""
    counts = zip(
        *(_per_level(each, sets.taxonomy) for each in (sets.right, sets.given, sets.true)),
        strict=True,
    )
    return tuple(
        _level(depth, int(right), int(given), int(true))
        for depth, (right, given, true) in enumerate(counts, start=1)
    )


def _level(depth: int, right: int, given: int, true: int) -> LevelScore:
    shares = _share(right, given), _share(right, true)
    return LevelScore(depth, true, given, *shares, _harmonic(*shares))


def _per_level(matrix: Sparse, taxonomy: Taxonomy) -> IntArray:
    depth = taxonomy.depth[matrix.indices]
    return np.bincount(depth, minlength=len(taxonomy.levels) + 1)[1:]


def _per_row(matrix: Sparse) -> FloatArray:
    return np.asarray(np.diff(matrix.indptr), dtype=np.float64)


def _ones(matrix: Sparse) -> Sparse:
    found: Sparse = matrix.astype(np.float64)
    found.eliminate_zeros()
    found.data[:] = 1.0
    return found


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0
