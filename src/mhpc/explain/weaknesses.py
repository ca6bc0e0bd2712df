"""Where in the hierarchy sources err."""

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.core.sources import Weakness
from mhpc.core.taxonomy import Taxonomy
from mhpc.explain.intervals import wilson

MOST = 5
"""Subtrees that are told of a source."""


def weaknesses(said: Sparse, wrong: Sparse, taxonomy: Taxonomy) -> tuple[tuple[Weakness, ...], ...]:
    """Return, for every source, the subtrees in which it errs more than elsewhere.

    They come by how many more of its labels are wrong there than its share of wrong labels would
    let expect, as far as that is sure: said x (lower end of the interval of wrong / said - share).
    None lies within another. So neither a subtree counts that merely holds many labels, as the
    whole hierarchy, nor one mistake out of one.

    Parameters
    ----------
    said, wrong : csr_array, (M, K)
        Most specific labels that each source said, and those that are not in the result.
    """
    within = [(each @ taxonomy.closure).tocsr() for each in (said, wrong)]
    totals = [np.asarray(each.sum(axis=1)).ravel() for each in (said, wrong)]
    found: list[tuple[Weakness, ...]] = []
    for m, (all_said, all_wrong) in enumerate(zip(*totals, strict=True)):
        if not all_wrong:
            found.append(())
            continue
        label, errors = _row(within[1], m)
        spoken, count = _row(within[0], m)
        # Who was wrong at a label said it, so that all of these are there.
        count = count[np.searchsorted(spoken, label)]
        found.append(_worst(label, count, errors, all_wrong / all_said, taxonomy))
    return tuple(found)


def _worst(
    label: IntArray, said: FloatArray, wrong: FloatArray, rate: float, taxonomy: Taxonomy
) -> tuple[Weakness, ...]:
    excess = said * (wilson(wrong, said)[0] - rate)
    taken: list[int] = []
    # Of a chain with the same errors the deepest says most.
    for at in np.lexsort((label, -taxonomy.depth[label], -excess)):
        if len(taken) == MOST or excess[at] <= 0:
            break
        if not any(_related(label[at], label[other], taxonomy) for other in taken):
            taken.append(int(at))
    return tuple(
        Weakness(taxonomy.labels[label[at]], int(said[at]), int(wrong[at])) for at in taken
    )


def _related(one: int, other: int, taxonomy: Taxonomy) -> bool:
    return bool(one in taxonomy.ancestors_of(other) or other in taxonomy.ancestors_of(one))


def _row(matrix: Sparse, row: int) -> tuple[IntArray, FloatArray]:
    """Return the labels of a row, in order, and their values."""
    cells = slice(matrix.indptr[row], matrix.indptr[row + 1])
    label = matrix.indices[cells].astype(np.int64)
    order = np.argsort(label)
    return label[order], matrix.data[cells][order]
