"""Items: one row per instance, as in ``items.csv``."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import row_indices

SEPARATOR = "; "
"""What separates the labels of an instance, and their paths."""


@dataclass(frozen=True, eq=False)
class Items:
    """The labels of instances, how sure they are, and how much a review is worth, as columns.

    Attributes
    ----------
    instance : object array of str, (N,)
        The ids of the instances.
    labels, path : object arrays of str, (N,)
        The ids of the most specific labels of the label set, and their paths of names, joined by
        `SEPARATOR`, the highest score first; empty for an instance without labels.
    probability : float array, (N,)
        The score of the least certain of these labels; nan for an instance without labels.
    review_priority : float array, (N,)
        The expected gain of a review, as in `Disagreement`; 0 for gold labels.
    sources : int array, (N,)
        The number of sources that answered.
    agreement : float array, (N,)
        The share of the answers whose labels are all in the label set; an answer "none of these"
        agrees with an empty set. nan for an instance without answers.
    """

    instance: np.ndarray
    labels: np.ndarray
    path: np.ndarray
    probability: FloatArray
    review_priority: FloatArray
    sources: IntArray
    agreement: FloatArray

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name, in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __len__(self) -> int:
        return len(self.instance)

    def __repr__(self) -> str:
        return f"Items({len(self)} instances)"


def make_items(
    instances: Index,
    taxonomy: Taxonomy,
    deepest: Sparse,
    *,
    review_priority: FloatArray,
    sources: IntArray,
    agreement: FloatArray,
) -> Items:
    """Return the items of some instances.

    Parameters
    ----------
    instances, taxonomy
        The two axes: N instances, K labels.
    deepest : csr_array, (N, K)
        The score of every most specific label of an instance; a stored 0 counts.
    review_priority, sources, agreement
        As in `Items`.
    """
    row, label = row_indices(deepest), deepest.indices.astype(np.int64)
    order = np.lexsort((label, -deepest.data, row))
    label, ends = label[order], deepest.indptr
    has_labels = np.flatnonzero(np.diff(ends))
    probability = np.full(len(instances), np.nan)
    # Scores fall within a row, so that the last one is the lowest.
    probability[has_labels] = deepest.data[order][ends[has_labels + 1] - 1]
    return Items(
        instance=np.array(instances.ids, dtype=object),
        labels=join_texts(_ids_of(taxonomy.labels, label), ends),
        path=join_texts(taxonomy.paths_of(label), ends),
        probability=probability,
        review_priority=review_priority,
        sources=sources,
        agreement=agreement,
    )


def _ids_of(index: Index, positions: IntArray) -> np.ndarray:
    """Return some ids, in time that does not depend on how many there are."""
    return np.array([index[position] for position in positions.tolist()], dtype=object)


def join_texts(texts: np.ndarray, ends: IntArray, separator: str = SEPARATOR) -> np.ndarray:
    """Join the texts of every row, (n,), of which row i has ``texts[ends[i] : ends[i + 1]]``.

    Examples
    --------
    >>> join_texts(np.array(["bee", "oak", "fir"], dtype=object), np.array([0, 1, 1, 3])).tolist()
    ['bee', '', 'oak; fir']
    """
    sizes = np.diff(ends)
    joined = np.full(len(sizes), "", dtype=object)
    # The first texts of all rows, then the second ones: there are many rows and few texts in each.
    for number in range(sizes.max(initial=0)):
        rows = np.flatnonzero(sizes > number)
        following = texts[ends[rows] + number]
        joined[rows] = joined[rows] + separator + following if number else following
    return joined


def join_items(blocks: Sequence[Items]) -> Items:
    """Return the items of several blocks one after another."""
    columns = zip(*(block.columns.values() for block in blocks), strict=True)
    return Items(*map(np.concatenate, columns))


ITEM_COLUMNS = tuple(field.name for field in fields(Items))
"""The columns of ``items.csv``."""
