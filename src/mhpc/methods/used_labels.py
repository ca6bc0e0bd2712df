"""Large taxonomies: methods are fitted to the labels that somebody used, and to their ancestors.

An ontology may have tens of thousands of labels of which a panel uses a few thousand. The others
take no part; afterwards they are put back, with a score of 0.
"""

from dataclasses import dataclass, fields

import numpy as np
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, select_labels, select_partition_labels
from mhpc.data.scores import Scores
from mhpc.data.taxonomy import Taxonomy
from mhpc.methods.fitted import FittedMethod
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse, dense
from mhpc.numerics.sparse import select_columns, spread_columns, values_at

MAX_USED = 0.25
"""The share of labels in use above which all labels take part: there is little to be saved, and
labels that nobody used are then ranked by what is known of their parents."""

MIN_UNUSED = 1000
"""Fewer labels than this are not worth leaving out."""


def use_labels(
    partitions: PanelPartitions, *, max_used: float = MAX_USED, min_unused: int = MIN_UNUSED
) -> tuple[PanelPartitions, IntArray | None]:
    """Return the partitions with the labels in use only, and these labels; None: all take part.

    Parameters
    ----------
    partitions : PanelPartitions
        All answers.
    max_used : float
        The share of labels in use above which all take part.
    min_unused : int
        The number of unused labels below which all take part.
    """
    K = len(partitions.taxonomy)
    if min_unused > K:
        return partitions, None
    (occurrences,) = partitions.sum(_count_occurrences)
    used = np.flatnonzero(occurrences > 0)
    if not len(used) or len(used) > max_used * K or K - len(used) < min_unused:
        return partitions, None
    return select_partition_labels(partitions, used), used


def put_back_labels(fitted: FittedMethod, labels: IntArray) -> "FittedToUsedLabels":
    """Return a method that scores all labels of a taxonomy, fitted to some of them."""
    details = {item.name: getattr(fitted, item.name) for item in fields(FittedMethod)}
    return FittedToUsedLabels(fitted=fitted, labels=labels, **details)


def _count_occurrences(panel: Panel) -> tuple[FloatArray]:
    return (panel.occurrences,)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedToUsedLabels(FittedMethod, saved_as="used-labels"):
    """A method that was fitted to some labels of a taxonomy.

    Attributes
    ----------
    fitted : FittedMethod
        What was fitted.
    labels : int array
        The positions of the labels in the whole taxonomy.
    """

    fitted: FittedMethod
    labels: IntArray

    def predict(self, panel: Panel) -> Scores:
        """Return the scores of all labels.

        A label that was not in use when the method was fitted, but is now, scores the share of the
        answers that contain it, and at most as much as each of its parents.
        """
        taxonomy = panel.taxonomy.select(self.labels)
        scores = self.fitted.predict(select_labels(panel, labels=self.labels, taxonomy=taxonomy))
        answers = scores.expected_answers
        score, specific = (
            self._put_back(scores.score, panel),
            self._put_back(scores.specific, panel),
        )
        new = np.setdiff1d(np.flatnonzero(panel.occurrences > 0), self.labels)
        if len(new):
            share, given = (panel.mean(kind, "answers") for kind in ("augmented", "raw"))
            added = _limit_by_parents(share, score, new, panel.taxonomy)
            score = score + added
            specific = specific + sparse.csr_array(_only(given, new).minimum(added))
        return Scores(
            score,
            specific,
            None if answers is None else tuple(self._put_back(each, panel) for each in answers),
        )

    def count_computed(self, n_labels: int) -> int:
        """Return the number of labels that the method was fitted to."""
        return len(self.labels)

    def _put_back(self, scores: Block, panel: Panel) -> Sparse:
        return spread_columns(scores, self.labels, len(panel.taxonomy))


def _limit_by_parents(share: Sparse, score: Sparse, labels: IntArray, taxonomy: Taxonomy) -> Sparse:
    """Return the shares of some labels, none above the score of a parent, (N, K)."""
    limited = np.zeros((share.shape[0], len(labels)))
    position = {int(label): column for column, label in enumerate(labels)}
    for label in sorted(position, key=lambda label: int(taxonomy.depth[label])):
        value = dense(share[:, [label]]).ravel()
        row = np.flatnonzero(value)
        for parent in taxonomy.parents_of(label).tolist():
            column = position.get(parent)
            of_parent = (
                values_at(score, row, np.full(len(row), parent))
                if column is None
                else limited[row, column]
            )
            value[row] = np.minimum(value[row], of_parent)
        limited[:, position[label]] = value
    return spread_columns(limited, labels, len(taxonomy))


def _only(matrix: Sparse, columns: IntArray) -> Sparse:
    """Return the matrix with all columns but some set to 0."""
    return spread_columns(select_columns(matrix, columns), columns, matrix.shape[1])
