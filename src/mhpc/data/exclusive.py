"""Labels that exclude each other: groups of a taxonomy, and the label sets that break them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import Sparse
from mhpc.numerics.sparse import row_indices

MAX_LISTED = 100
"""How many instances with labels that exclude each other are kept by their ids."""

NO_GROUP = frozenset({"", "0", "no", "false"})
"""The values of a column `exclusive`, in lower case, that put a label into no group."""


def group_exclusive(
    label: Sequence[int], parent: Sequence[int], value: Sequence[str | None]
) -> tuple[tuple[int, ...], ...]:
    """Return the groups of siblings that exclude each other, as positions in increasing order.

    Parameters
    ----------
    label, parent : sequences of int, (R,)
        The label and the parent of every row of a table; the parent of a root is negative.
    value : sequence of str or None, (R,)
        Siblings with the same value are one group. Groups of one label are left out.

    Examples
    --------
    >>> group_exclusive([1, 2, 3, 4], [0, 0, 0, 3], ["x", "x", None, "x"])
    ((1, 2),)
    """
    groups: dict[tuple[int, str], set[int]] = {}
    for each, above, name in zip(label, parent, value, strict=True):
        if name is not None and name.strip().lower() not in NO_GROUP:
            groups.setdefault((max(above, -1), name.strip()), set()).add(each)
    distinct = dict.fromkeys(tuple(sorted(group)) for group in groups.values())
    return tuple(group for group in distinct if len(group) > 1)


@dataclass(frozen=True)
class ExclusiveConflicts:
    """Instances whose label sets have labels that exclude each other; those of blocks can be added.

    Attributes
    ----------
    instances : int
        Their number.
    first : tuple of str
        The ids of the first ones, at most `MAX_LISTED`.
    pairs : mapping of (int, int) to int
        For two labels of a group, the lower position first, the number of instances with both.
    """

    instances: int = 0
    first: tuple[str, ...] = ()
    pairs: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def __add__(self, other: "ExclusiveConflicts") -> "ExclusiveConflicts":
        return ExclusiveConflicts(
            self.instances + other.instances,
            (*self.first, *other.first)[:MAX_LISTED],
            Counter(self.pairs) + Counter(other.pairs),
        )


def find_exclusive_conflicts(
    label_sets: Sparse, taxonomy: Taxonomy, instances: Index
) -> ExclusiveConflicts:
    """Find the instances whose label sets have two labels of a group.

    Label sets have the ancestors of their labels, so that descendants of labels that exclude each
    other are found as well.

    Parameters
    ----------
    label_sets : csr_array, (N, K)
        An entry for every label of the set of an instance.
    taxonomy : Taxonomy
        The labels.
    instances : Index
        The N instances.
    """
    groups = taxonomy.exclusive
    if not groups:
        return ExclusiveConflicts()
    member = np.concatenate([np.asarray(group) for group in groups])
    group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    is_member = sparse.csr_array(
        (np.ones(len(member)), (member, group_of)), shape=(len(taxonomy), len(groups))
    )
    ones = sparse.csr_array(
        (np.ones(label_sets.nnz), label_sets.indices, label_sets.indptr), shape=label_sets.shape
    )
    counts = (ones @ is_member).tocsr()
    rows = np.unique(row_indices(counts)[counts.data >= 2])
    some = ones[rows]
    together = sparse.triu(some.T @ some, k=1).multiply(is_member @ is_member.T > 0).tocoo()
    pairs = {
        (int(one), int(other)): int(count)
        for one, other, count in zip(together.row, together.col, together.data, strict=True)
    }
    first = tuple(instances[row] for row in rows[:MAX_LISTED].tolist())
    return ExclusiveConflicts(len(rows), first, pairs)
